import { type Pool, runNamed } from '../db/client.ts'
import type { Uuid } from '../kernel/ids.ts'

/**
 * A run that was given a slot: what a parcel carries. Ids, fence and due instant only, so that no tenant data ever
 * lies in Redis: [tenantId, queueId, runId, fence, dueAtMs, keepWeek].
 */
export type Admitted = [Uuid, Uuid, Uuid, number, number, string]

export interface AdmitOptions {
  pool: number
  /** The most runs to admit in one go. */
  batch: number
  /** The most runs that may be held by the pool. */
  capacity: number
  /** How long before its due instant a run may be admitted. */
  aheadMs: number
  /** After this time a queued run counts as lost on its way. */
  queuedSeconds: number
  /** With fewer slots free nothing is admitted: more will be in a moment. */
  roomMin?: number
  /** Told of each run that was cancelled for a newer one while an executor has it. */
  onStopped?: ((run: { id: Uuid; fence: number }) => void) | undefined
}

/**
 * Gives slots to runs that are due, in one transaction; several dispatchers may call it at once, one of them works.
 * The runs come in order of their due instants.
 */
export async function admitRuns(pool: Pool, options: AdmitOptions): Promise<Admitted[]> {
  const text = 'select * from admit_runs($1::smallint, $2, $3, $4, $5, $6)'
  const rows = await runNamed<Admitted | [Uuid, Uuid, Uuid, number, null, null]>(pool, 'admit_runs', text, [
    options.pool,
    options.batch,
    options.capacity,
    options.aheadMs,
    options.queuedSeconds,
    options.roomMin ?? 1,
  ])
  const isAdmitted = (row: (typeof rows)[number]): row is Admitted => row[5] !== null
  const first = rows.findIndex(isAdmitted)
  // What was stopped comes first, and mostly nothing was.
  const stopped = first === -1 ? rows : rows.slice(0, first)
  for (const [, , id, fence] of stopped) options.onStopped?.({ id, fence })
  return first === -1 ? [] : rows.slice(first).filter(isAdmitted)
}

/** What a dispatcher needs to know to sleep well. */
export interface Outlook {
  /** The database's clock, epoch milliseconds. */
  nowMs: number
  /** The due instant of the next run that is not ready yet, or null. */
  nextDueMs: number | null
  /** Whether runs wait for a slot, or for an earlier run of their job. */
  waiting: boolean
}

/** Looks ahead: one index probe into `due`, one into `ready`, whatever lies in the far future. */
export async function lookAhead(pool: Pool, poolId: number): Promise<Outlook> {
  const rows = await runNamed<[number, number | null, boolean]>(
    pool,
    'look_ahead',
    `select extract(epoch from clock_timestamp())::float8 * 1000,
      (select round(extract(epoch from due_at)::float8 * 1000) from due where pool = $1 order by due_at limit 1),
      exists (select from ready where pool = $1) or exists (select from ready where pool = $1::smallint + 1000)
        or exists (select from due where pool = -$1::smallint and pool < 0)`,
    [poolId],
  )
  const [nowMs, nextDueMs, waiting] = rows[0] ?? [0, null, false]
  return { nowMs, nextDueMs, waiting }
}

/** What the live executors of a pool can take together. */
export interface Capacity {
  executors: number
  /** Runs that may be in the air at once. */
  slots: number
  /** Runs finished a second, of late. */
  finishedPerSecond: number
}

/** An executor that has not announced itself for 6 s is not counted. */
export async function readCapacity(pool: Pool, poolId: number): Promise<Capacity> {
  const rows = await runNamed<[number, number, number]>(
    pool,
    'read_capacity',
    `select count(*)::int, coalesce(sum(capacity), 0)::int, coalesce(sum(finished_per_second), 0)::float8
     from executors where pool = $1 and seen_at > clock_timestamp() - interval '6 seconds'`,
    [poolId],
  )
  const [executors, slots, finishedPerSecond] = rows[0] ?? [0, 0, 0]
  return { executors, slots, finishedPerSecond }
}

/** Announces an executor: what it can take and how fast it was, to the thousandth. */
export async function announceExecutor(
  pool: Pool,
  executor: { id: Uuid; pool: number; capacity: number; running: number; finishedPerSecond: number },
): Promise<void> {
  // The mean of one that has been idle for long fades to what the column cannot hold.
  const finishedPerSecond = Math.round(executor.finishedPerSecond * 1_000) / 1_000
  await runNamed(
    pool,
    'announce_executor',
    `insert into executors (id, pool, capacity, running, finished_per_second, seen_at)
     values ($1, $2, $3, $4, $5, clock_timestamp())
     on conflict (id) do update set capacity = excluded.capacity, running = excluded.running,
       finished_per_second = excluded.finished_per_second, seen_at = excluded.seen_at`,
    [executor.id, executor.pool, executor.capacity, executor.running, finishedPerSecond],
  )
}

/** Takes an executor off the list: it is going down in an orderly way. */
export async function retireExecutor(pool: Pool, id: Uuid): Promise<void> {
  await runNamed(pool, 'retire_executor', 'delete from executors where id = $1', [id])
}
