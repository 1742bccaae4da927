import { arrayLiteral, isAway, type Pool, runNamed, textArrayLiteral } from '../db/client.ts'
import { withRead } from '../db/context.ts'
import type { StoredEvent } from '../event/event.ts'
import { systemCtx } from '../job/keep.ts'
import { fromWireId, type Uuid } from '../kernel/ids.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { readResponse } from './get.ts'
import { batchedPools } from './read-batch.ts'
import { runSources } from './run.ts'
import { clockSlack } from './select.ts'

// Each run of the batch ends as the batch did, but for those that the target named as failed. Whoever takes the row out
// of `due` tells how the run ended: one that was cancelled meanwhile is not there any more.
const settleStatement = `
  with u as materialized (
    select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::float8[], $5::text[]) u(t, p, i, at, failed)),
  c as materialized (
    select r.*, string_to_array(u.failed, ' ')::uuid[] as failed from u cross join lateral (
      select r.* from runs r where r.tenant_id = u.t and r.project_id = u.p and r.id = u.i
        and r.ended_at between to_timestamp(u.at / 1000) - ${clockSlack} and to_timestamp(u.at / 1000) + ${clockSlack} offset 0) r),
  d as (
    delete from due d using run_details x, c
    where x.tenant_id = c.tenant_id and x.batch_id = c.id and d.tenant_id = x.tenant_id and d.id = x.run_id and d.${batchedPools}
    returning d.*, c.id as batch),
  e as materialized (
    select d.tenant_id, d.project_id, d.id, d.queue_id, d.job_id, c.pool, c.attempt, c.fence, c.due_at, c.started_at, c.duration_ms, c.http_status,
      c.executor_id, c.response_block, c.response_offset, c.response_object, d.id = any(c.failed) as is_failed, c.state, c.error
    from d join c on c.tenant_id = d.tenant_id and c.id = d.batch),
  r as (
    insert into runs (tenant_id, project_id, id, queue_id, pool, state, attempt, fence, due_at, started_at, ended_at, duration_ms,
      http_status, error, job_id, executor_id, response_block, response_offset, response_object)
    select tenant_id, project_id, id, queue_id, pool, case when is_failed then 5 else state end, attempt, fence, due_at, started_at,
      clock_timestamp(), duration_ms, http_status, case when is_failed then 'unexpected-response' else error end, job_id, executor_id,
      response_block, response_offset, response_object from e
    returning tenant_id, project_id, id, job_id, state, error),
  t as (
    insert into events (tenant_id, project_id, type, subject, job_id, data)
    select tenant_id, project_id, case state when 4 then 'run.succeeded' when 6 then 'run.cancelled' when 7 then 'run.expired' else 'run.failed' end,
      id, job_id, case when error is null then null else jsonb_build_object('error', error) end from r)
  select count(*)::int from r`

const endings: ReadonlySet<string> = new Set(['run.succeeded', 'run.failed', 'run.expired', 'run.cancelled'])

/**
 * Ends the runs of the batches that have ended, by these events. Telling an event again changes nothing. Returns how
 * many ended.
 */
export async function settleBatches(pool: Pool, keyRing: KeyRing, events: readonly StoredEvent[]): Promise<number> {
  const ended = events.filter(({ type, jobId }) => endings.has(type) && jobId === null)
  if (ended.length === 0) return 0
  const batches = await findBatches(pool, ended)
  if (batches.length === 0) return 0
  const failed: string[] = []
  for (const batch of batches) failed.push(await failedOf(pool, keyRing, batch))
  const rows = await runNamed<[number]>(pool, 'settle_batches', settleStatement, [
    ...ofEvents(batches),
    arrayLiteral(batches.map(({ at }) => at.getTime())),
    textArrayLiteral(failed),
  ])
  return rows[0]?.[0] ?? 0
}

const ofEvents = (events: readonly StoredEvent[]): [string, string, string] => [
  arrayLiteral(events.map(({ tenantId }) => tenantId)),
  arrayLiteral(events.map(({ projectId }) => projectId)),
  arrayLiteral(events.map(({ subject }) => subject)),
]

async function findBatches(pool: Pool, ended: readonly StoredEvent[]): Promise<StoredEvent[]> {
  const rows = await runNamed<[Uuid]>(
    pool,
    'find_batches',
    `select u.i from unnest($1::uuid[], $2::uuid[], $3::uuid[]) u(t, p, i)
     where exists (select from due where ${batchedPools}) and exists (
       select from inputs n where n.tenant_id = u.t and n.project_id = u.p and n.id = u.i
         and n.source = ${runSources.indexOf('batch')} offset 0)`,
    ofEvents(ended),
  )
  const ids = new Set(rows.map(([id]) => id))
  return ended.filter(({ subject }) => subject !== null && ids.has(subject))
}

/** The ids that the target named: `{ "failed": ["run_...", ...] }`. What can't be read names nobody. */
async function failedOf(
  pool: Pool,
  keyRing: KeyRing,
  { tenantId, projectId, subject, type }: StoredEvent,
): Promise<string> {
  if (type !== 'run.succeeded' || projectId === null || subject === null) return ''
  try {
    await keyRing.load(tenantId)
    const ctx = systemCtx(pool, keyRing, [tenantId, projectId])
    const kept = await withRead(ctx, (tx) => readResponse(tx, subject, undefined))
    const { failed } = JSON.parse(kept?.response?.body.toString() ?? '{}') as { failed?: unknown }
    if (!Array.isArray(failed)) return ''
    return failed.flatMap((id) => (typeof id === 'string' ? (fromWireId('run', id) ?? []) : [])).join(' ')
  } catch (error) {
    if (isAway(error)) throw error
    return ''
  }
}
