import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { systemClock } from '../kernel/clock.ts'
import { type Uuid, uuidv7 } from '../kernel/ids.ts'
import type { KeyRing } from './key-ring.ts'

/** Where something sealed in a block lies: the byte of the opened block at which it begins. */
export interface Place {
  blockId: Uuid
  offset: number
}

/** Bytes of one tenant that were written together, in one envelope. */
export interface Block {
  tenantId: Uuid
  id: Uuid
  sealed: Buffer
}

export interface Sealed {
  blocks: Block[]
  /** One for each item, in order; null for what has no bytes, and for what could not be sealed. */
  places: (Place | null)[]
  /** Items whose tenant's key could not be had, by index. */
  lost: Map<number, unknown>
}

export interface Item {
  tenantId: Uuid
  bytes: Buffer | null
  /** Items of different groups never share a block. */
  group?: string | number
}

const lengthBytes = 4

/**
 * Seals many small things in few envelopes, since an envelope costs about 10 us of CPU however little is in it. A block ends
 * with the item that brings it to `blockBytes`: reading one item opens its whole block.
 */
export async function sealTogether(keyRing: KeyRing, items: readonly Item[], blockBytes: number): Promise<Sealed> {
  const sealed: Sealed = { blocks: [], places: items.map(() => null), lost: new Map() }
  const filling = new Map<string, Filling>()
  const full: Filling[] = []
  for (const [index, { tenantId, bytes, group = '' }] of items.entries()) {
    if (bytes === null) continue
    const key = `${tenantId}${group}`
    let block = filling.get(key)
    if (block === undefined) {
      block = { tenantId, id: uuidv7(systemClock.nowMs()), parts: [], length: 0, indexes: [] }
      filling.set(key, block)
    }
    sealed.places[index] = { blockId: block.id, offset: block.length }
    append(block, bytes, index)
    if (block.length < blockBytes) continue
    full.push(block)
    filling.delete(key)
  }
  for (const block of [...full, ...filling.values()]) await close(keyRing, block, sealed)
  return sealed
}

/** A block that is still open. */
interface Filling {
  tenantId: Uuid
  id: Uuid
  parts: Buffer[]
  length: number
  /** The items in it. */
  indexes: number[]
}

function append(block: Filling, bytes: Buffer, index: number): void {
  const length = Buffer.allocUnsafe(lengthBytes)
  length.writeUInt32BE(bytes.length)
  block.parts.push(length, bytes)
  block.length += lengthBytes + bytes.length
  block.indexes.push(index)
}

async function close(keyRing: KeyRing, { tenantId, id, parts, length, indexes }: Filling, to: Sealed): Promise<void> {
  try {
    to.blocks.push({ tenantId, id, sealed: await keyRing.seal(tenantId, id, pack(parts, length)) })
  } catch (error) {
    for (const index of indexes) {
      to.places[index] = null
      to.lost.set(index, error)
    }
  }
}

/** Opens a block that `sealTogether` made. Throws when it was tampered with or its key is gone. */
export async function openBlock(keyRing: KeyRing, { tenantId, id, sealed }: Block): Promise<Buffer> {
  return unpack(await keyRing.open(tenantId, id, sealed))
}

/** The same without waiting: null when the tenant's keys are not in memory yet. */
export function openBlockNow(keyRing: KeyRing, { tenantId, id, sealed }: Block): Buffer | null {
  const packed = keyRing.openSync(tenantId, id, sealed)
  return packed && unpack(packed)
}

/** One item of an opened block. It shares the block's memory. */
export function itemAt(opened: Buffer, offset: number): Buffer {
  const start = offset + lengthBytes
  return opened.subarray(start, start + opened.readUInt32BE(offset))
}

const stored = 0
const deflated = 1
// Requests of one flush are much alike, so the quickest level takes most of what there is to take. Little is not worth
// the 10 us of a start, and much would hold up everybody else in the process.
const deflateBytesMin = 512
const deflateBytesMax = 128 * 1024
const quickly = { level: 1, memLevel: 5, windowBits: 13 }

/** A byte that says how the rest is kept, and the rest. */
function pack(parts: readonly Buffer[], length: number): Buffer {
  const plain = Buffer.concat([Buffer.of(stored), ...parts], length + 1)
  if (length < deflateBytesMin || length > deflateBytesMax) return plain
  const small = deflateRawSync(plain.subarray(1), quickly)
  return small.length < length * 0.9 ? Buffer.concat([Buffer.of(deflated), small]) : plain
}

const unpack = (packed: Buffer): Buffer =>
  packed[0] === deflated ? inflateRawSync(packed.subarray(1), { windowBits: quickly.windowBits }) : packed.subarray(1)
