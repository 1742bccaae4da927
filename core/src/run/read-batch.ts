import { type Pool, type PoolClient, runNamed } from '../db/client.ts'
import { toWireId, type Uuid } from '../kernel/ids.ts'
import { itemAt, openBlock } from '../secret/block.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { decodeRequest } from './request-codec.ts'

/** Runs that wait for the one that performs them lie in `due` under -(1000 + pool). */
export const batchedPools = 'pool <= -1000'

/** A run of a batch, as its target is told of it. */
interface BatchItem {
  runId: string
  body: unknown
}

type ItemRow = [id: Uuid, blockId: Uuid, offset: number, sealed: Buffer]

/**
 * What a batch sends: an array of its runs in the order of their creation, each with its id and its body. With `waiting`
 * only those that have not ended by themselves.
 */
export async function readBatch(
  client: Pool | PoolClient,
  keyRing: KeyRing,
  { tenantId, id, waiting }: { tenantId: Uuid; id: Uuid; waiting: boolean },
): Promise<BatchItem[]> {
  const rows = await runNamed<ItemRow>(
    client,
    'read_batch',
    `select x.run_id, i.payload_block, i.payload_offset, b.sealed from run_details x
     join inputs i on i.tenant_id = x.tenant_id and i.project_id = x.project_id and i.id = x.run_id
     cross join lateral (select b.sealed from input_blocks b where b.keep_week >= i.keep_week and b.tenant_id = i.tenant_id
       and b.id = i.payload_block limit 1) b
     where x.tenant_id = $1 and x.batch_id = $2 and (not $3 or exists (
       select from due d where d.tenant_id = x.tenant_id and d.id = x.run_id and d.${batchedPools} offset 0))
     order by x.run_id`,
    [tenantId, id, waiting],
  )
  const opened = new Map<Uuid, Buffer>()
  const items: BatchItem[] = []
  for (const [runId, blockId, offset, sealed] of rows) {
    const block = opened.get(blockId) ?? (await openBlock(keyRing, { tenantId, id: blockId, sealed }))
    opened.set(blockId, block)
    items.push({ runId: toWireId('run', runId), body: bodyValue(decodeRequest(itemAt(block, offset)).body) })
  }
  return items
}

/** A body as a value of JSON: what is none stays text. */
function bodyValue(body: Buffer | null): unknown {
  if (body === null) return null
  const text = body.toString()
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}
