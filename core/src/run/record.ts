import { findVirtual, virtualPool } from '../clock/virtual.ts'
import { arrayLiteral, byteaArray, type Pool, runNamed } from '../db/client.ts'
import type { Uuid } from '../kernel/ids.ts'
import { type Block, type Place, sealTogether } from '../secret/block.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { askAgain, type Lease, leaseColumns } from './claim.ts'
import { stateCodes } from './run.ts'

/** How one attempt went, as it is written down. */
export interface AttemptRecord {
  lease: Lease
  executorId: Uuid
  /** Epoch milliseconds by the database's clock, as well as the executor knows it; null: it never began. */
  startedAtMs: number | null
  durationMs: number
  httpStatus: number | null
  /** Machine code, null on success. */
  error: string | null
  /** The response as `encodeResponse` gave it: it is sealed here. */
  response: Buffer | null
  responseObject: string | null
}

export interface EndRecord extends AttemptRecord {
  status: 'succeeded' | 'failed' | 'expired'
}

export interface RetryRecord extends AttemptRecord {
  projectId: Uuid
  error: string
  /** Milliseconds from now to the next try. */
  delayMs: number
}

// The guarded delete is what makes an end single: whoever removes the row from `held` may tell how the run ended.
const guardedDelete = `
  u as materialized (
    select * from unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::int[], $6::float8[], $7::int[], $8::int2[], $9::text[], $10::uuid[],
      $11::int[], $12::text[], $13::int2[], $14::float8[]) x(t, q, i, f, started, ms, http, err, block, at, obj, st, delay)),
  b as (
    insert into response_blocks (tenant_id, id, sealed)
    select t, i, s from unnest($15::uuid[], $16::uuid[], $17::bytea[]) x(t, i, s)),
  d as (
    delete from held h using (
      select u.*, k.place from u cross join lateral (
        select h.ctid as place from held h
        where h.pool = $1 and h.tenant_id = u.t and h.queue_id = u.q and h.id = u.i and h.fence = u.f and h.state + 0 = 3
        offset 0) k) x
    where h.ctid = x.place and h.state + 0 = 3 and h.fence = x.f
    returning h.*, x.started, x.ms, x.http, x.err, x.block, x.at, x.obj, x.st, x.delay)`

const endStatement = `
  with ${guardedDelete},
  r as (
    insert into runs (tenant_id, project_id, id, queue_id, pool, state, attempt, fence, due_at, started_at, ended_at, duration_ms,
      http_status, error, job_id, nominal_at, executor_id, response_block, response_offset, response_object)
    select tenant_id, project_id, id, queue_id, pool, st, attempt, fence, due_at, to_timestamp(started / 1000), clock_timestamp(), ms,
      http, err, job_id, nominal_at, executor_id, block, at, obj from d
    returning tenant_id, project_id, id, job_id, state, error),
  e as (
    insert into events (tenant_id, project_id, type, subject, job_id, data)
    select tenant_id, project_id, case state when 4 then 'run.succeeded' when 7 then 'run.expired' else 'run.failed' end, id, job_id,
      case when error is null then null else jsonb_build_object('error', error) end from r)
  select id from r`

const retryStatement = (pool: string, now: string): string => `
  with ${guardedDelete},
  t as materialized (
    select d.*, date_trunc('milliseconds', ${now}) + delay * interval '1 millisecond' as retry_at from d),
  moved as (
    insert into due (pool, due_at, id, tenant_id, project_id, queue_id, priority, attempt, attempts_max, fence, keep_week, job_id, nominal_at, lane)
    select ${pool}, retry_at, id, tenant_id, project_id, queue_id, priority, attempt, attempts_max, fence, keep_week, job_id, nominal_at, lane from t),
  a as (
    insert into attempts (tenant_id, run_id, attempt, fence, due_at, started_at, ended_at, duration_ms, http_status, error, retry_at,
      executor_id, response_block, response_offset, response_object)
    select tenant_id, id, attempt, fence, due_at, to_timestamp(started / 1000), clock_timestamp(), ms, http, err,
      retry_at, executor_id, block, at, obj from t),
  e as (
    insert into events (tenant_id, project_id, type, subject, job_id, data)
    select tenant_id, project_id, 'run.retrying', id, job_id, jsonb_build_object('error', err, 'attempt', attempt) from t)
  select id from t`

/** To read one response is to open its whole block. */
const blockBytes = 65_536

/** A record with what the statement needs to know beside it. */
type Row = AttemptRecord & { state: number; delayMs: number; place: Place | null }

function parameters(poolId: number, rows: readonly Row[], blocks: readonly Block[]): unknown[] {
  const column = (pick: (row: Row) => string | number | null): string => arrayLiteral(rows.map(pick))
  return [
    poolId,
    ...leaseColumns(rows.map((row) => row.lease)),
    column((row) => row.startedAtMs),
    column((row) => row.durationMs),
    column((row) => row.httpStatus),
    column((row) => row.error),
    column((row) => row.place?.blockId ?? null),
    column((row) => row.place?.offset ?? null),
    column((row) => row.responseObject),
    column((row) => row.state),
    column((row) => row.delayMs),
    arrayLiteral(blocks.map((block) => block.tenantId)),
    arrayLiteral(blocks.map((block) => block.id)),
    byteaArray(blocks.map((block) => block.sealed)),
  ]
}

/** What recording takes. */
export interface RecordMeans {
  engine: Pool
  keyRing: KeyRing
  poolId: number
  /** Hears of responses that are not kept, since their tenant's key is gone. */
  onLostResponse?(error: unknown, tenantId: Uuid): void
}

/**
 * Ends runs: running -> succeeded | failed | expired, history and event in one statement. Returns the ids that were ended by
 * this call; a missing one was stale (cancelled, rescued, or ended before) and nothing of it was written.
 */
export const recordEnds = (means: RecordMeans, ends: readonly EndRecord[]): Promise<Set<Uuid>> =>
  record(
    means,
    { name: 'record_ends', text: endStatement },
    ends.map((end) => ({ ...end, state: stateCodes[end.status], delayMs: 0 })),
  )

const realRetry = { name: 'record_retries', text: retryStatement('pool', 'clock_timestamp()') }

// A try that is due by a test clock waits where that clock lets it go.
const virtualRetry = {
  name: 'record_virtual_retries',
  text: retryStatement(
    `${virtualPool}`,
    `coalesce((select c.now_at from test_clocks c where c.tenant_id = d.tenant_id and c.project_id = d.project_id), clock_timestamp())`,
  ),
}

/** Sends runs back for another try: running -> scheduled, the attempt kept. Returns the ids that were still ours. */
export async function recordRetries(means: RecordMeans, retries: readonly RetryRecord[]): Promise<Set<Uuid>> {
  const virtual = await findVirtual(
    means.engine,
    retries.map(({ lease, projectId }) => ({ tenantId: lease.tenantId, projectId })),
  )
  const recorded = new Set<Uuid>()
  for (const statement of [realRetry, virtualRetry]) {
    const own = retries.filter(({ projectId }) => virtual.has(projectId) === (statement === virtualRetry))
    if (own.length === 0) continue
    const rows = own.map((retry) => ({ ...retry, state: 0 }))
    for (const id of await record(means, statement, rows)) recorded.add(id)
  }
  return recorded
}

async function record(
  { engine, keyRing, poolId, onLostResponse = () => undefined }: RecordMeans,
  { name, text }: { name: string; text: string },
  records: readonly Omit<Row, 'place'>[],
): Promise<Set<Uuid>> {
  const sealed = await sealTogether(
    keyRing,
    records.map(({ lease, response }) => ({ tenantId: lease.tenantId, bytes: response })),
    blockBytes,
  )
  for (const [index, error] of sealed.lost) onLostResponse(error, records[index]?.lease.tenantId ?? '')
  const rows = records.map((each, index): Row => ({ ...each, place: sealed.places[index] ?? null }))
  // Written with the first asking, whoever of their runs was not found then.
  let { blocks } = sealed
  return askAgain(
    rows,
    ({ lease }) => lease.id,
    async (asked) => {
      const answered = await runNamed<[Uuid]>(engine, name, text, parameters(poolId, asked, blocks))
      blocks = []
      return answered.map((row) => row[0])
    },
  )
}
