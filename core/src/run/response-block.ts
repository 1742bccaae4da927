import { systemClock } from '../kernel/clock.ts'
import { type Uuid, uuidv7 } from '../kernel/ids.ts'
import type { KeyRing } from '../secret/key-ring.ts'

/** Where a response lies: the byte of an opened block at which it begins. */
export interface ResponsePlace {
  blockId: Uuid
  offset: number
}

/** Responses of one tenant that were recorded together, in one envelope. */
export interface ResponseBlock {
  tenantId: Uuid
  id: Uuid
  sealed: Buffer
}

/** A block ends at the first response that reaches this: reading one response opens its whole block. */
const blockBytes = 65_536
const lengthBytes = 4

/**
 * Seals responses, tenant by tenant: an envelope costs about 10 us of CPU however little is in it. Returns the blocks, and
 * the place of each response in the order given; null for none, and for those whose tenant's key is gone.
 */
export async function sealResponses(
  keyRing: KeyRing,
  responses: readonly { tenantId: Uuid; encoded: Buffer | null }[],
  onLost: (error: unknown, tenantId: Uuid) => void,
): Promise<{ blocks: ResponseBlock[]; places: (ResponsePlace | null)[] }> {
  const places: (ResponsePlace | null)[] = responses.map(() => null)
  const blocks: ResponseBlock[] = []
  const seal = async (open: OpenBlock): Promise<void> => {
    try {
      const sealed = await keyRing.seal(open.tenantId, open.id, Buffer.concat(open.parts, open.bytes))
      blocks.push({ tenantId: open.tenantId, id: open.id, sealed })
    } catch (error) {
      for (const index of open.indexes) places[index] = null
      onLost(error, open.tenantId)
    }
  }
  const byTenant = new Map<Uuid, OpenBlock>()
  const full: OpenBlock[] = []
  for (const [index, { tenantId, encoded }] of responses.entries()) {
    if (encoded === null) continue
    let block = byTenant.get(tenantId)
    if (block === undefined) {
      block = { tenantId, id: uuidv7(systemClock.nowMs()), parts: [], bytes: 0, indexes: [] }
      byTenant.set(tenantId, block)
    }
    places[index] = { blockId: block.id, offset: block.bytes }
    append(block, encoded, index)
    if (block.bytes >= blockBytes) {
      full.push(block)
      byTenant.delete(tenantId)
    }
  }
  for (const block of [...full, ...byTenant.values()]) await seal(block)
  return { blocks, places }
}

interface OpenBlock {
  tenantId: Uuid
  id: Uuid
  parts: Buffer[]
  bytes: number
  /** The responses in it. */
  indexes: number[]
}

function append(block: OpenBlock, encoded: Buffer, index: number): void {
  const length = Buffer.allocUnsafe(lengthBytes)
  length.writeUInt32BE(encoded.length)
  block.parts.push(length, encoded)
  block.bytes += lengthBytes + encoded.length
  block.indexes.push(index)
}

/** One response of an opened block, encoded as it was. */
export function responseAt(opened: Buffer, offset: number): Buffer {
  const start = offset + lengthBytes
  return opened.subarray(start, start + opened.readUInt32BE(offset))
}
