import { arrayLiteral, type Pool, runNamed } from '../db/client.ts'
import {
  type Line,
  lineKey,
  linesAfter,
  type Owed,
  rememberOwed,
  shareLines,
  toLine,
  type WireLine,
} from '../flow/lines.ts'
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
  /** What the division before this one left owed: kept by whoever looks again and again. */
  owed?: Owed
  /** Told of each run that was cancelled for a newer one while an executor has it. */
  onStopped?: ((run: { id: Uuid; fence: number }) => void) | undefined
}

/**
 * Gives slots to runs that are due, by fair share: among tenants, then among a tenant's queues, by weight, then among the
 * lanes of a queue. Several dispatchers may call it at once; each step is one transaction, and one of them works at a
 * time. The runs come in order of their due instants.
 */
export async function admitRuns(pool: Pool, options: AdmitOptions): Promise<Admitted[]> {
  const admitted: Admitted[] = []
  for (let look = 0; look < looksMax; look++) {
    const { runs, waiting } = await admitPlain(pool, options, options.batch - admitted.length)
    admitted.push(...runs)
    if (waiting === undefined) break
    const { runs: taken } = await divideRoom(pool, options, waiting)
    admitted.push(...taken)
    if (taken.length >= waiting.room || waiting.lines.length < linesMax) break
  }
  return admitted.sort((one, other) => one[4] - other[4])
}

/** As many lines as admission tells of at once, and how often it is asked for others when there may be some. */
export const linesMax = 64
const looksMax = 8
/** How often what some did not want is divided again. */
const roundsMax = 6

/** Slots to be divided, and among whom. */
export interface Waiting {
  room: number
  /** The most that may be held. */
  cap: number
  lines: Line[]
}

/** A run; one to be stopped, without a due instant; or, last, what has to be divided. */
type AdmitRow =
  | [...Admitted, null]
  | [Uuid, Uuid, Uuid, number, null, null, null]
  | [null, null, null, null, null, null, { room: number; cap: number; lines: WireLine[] }]

/** Admits what needs no division. */
export async function admitPlain(pool: Pool, options: AdmitOptions, batch: number) {
  const text = 'select * from admit_runs($1::smallint, $2, $3, $4, $5, $6)'
  const { capacity, aheadMs, queuedSeconds, roomMin = 1 } = options
  const values = [options.pool, batch, capacity, aheadMs, queuedSeconds, roomMin]
  const runs: Admitted[] = []
  let waiting: Waiting | undefined
  for (const row of await runNamed<AdmitRow>(pool, 'admit_runs', text, values)) {
    if (row[6] !== null) waiting = { ...row[6], lines: row[6].lines.map(toLine) }
    else if (row[5] === null) options.onStopped?.({ id: row[2], fence: row[3] })
    else runs.push([row[0], row[1], row[2], row[3], row[4], row[5]])
  }
  return { runs, waiting }
}

/** Nobody counts how many wait in a line: taking them tells, and what it left over is divided again. Tells how lines stand then. */
export async function divideRoom(
  pool: Pool,
  options: AdmitOptions,
  { room, cap, lines: before }: Waiting,
): Promise<{ runs: Admitted[]; lines: Line[] }> {
  const { owed = new Map() } = options
  const admitted: Admitted[] = []
  let lines = before
  // Where others wait than were told of, what these do not want is not for these alone.
  const rounds = before.length < linesMax ? roundsMax : 1
  for (let round = 0; round < rounds && admitted.length < room; round++) {
    const shares = shareLines(lines, room - admitted.length, owed)
    const { runs, counts } = await takeLines(pool, { ...options, capacity: cap }, lines, shares)
    admitted.push(...runs)
    lines = linesAfter(lines, shares, counts)
    if (lines.every(({ wants }) => wants < 1)) break
  }
  if (admitted.length > 0) rememberOwed(before, lines, owed)
  return { runs: admitted, lines }
}

/** The lines that have a share, and how many runs each may hold with it, as the database takes them: columns of one row a line. */
export function shareColumns(lines: readonly Line[], shares: readonly number[]): string[] {
  const asked = lines.flatMap((line, index) =>
    (shares[index] ?? 0) > 0 ? [{ ...line, share: shares[index] ?? 0 }] : [],
  )
  return [
    arrayLiteral(asked.map(({ tenantId }) => tenantId)),
    arrayLiteral(asked.map(({ queueId }) => queueId)),
    arrayLiteral(asked.map(({ laneId }) => laneId)),
    arrayLiteral(asked.map(({ used, share }) => used + share)),
  ]
}

/** Gives each line its share, or as much of it as waits there; tells how much that was. */
async function takeLines(pool: Pool, options: AdmitOptions, lines: Line[], shares: number[]) {
  const text = 'select * from admit_lines($1::smallint, $2, $3, $4, $5::uuid[], $6::uuid[], $7::uuid[], $8::int[])'
  const rows = await runNamed<[...Admitted, Uuid | null]>(pool, 'admit_lines', text, [
    options.pool,
    options.batch,
    options.capacity,
    options.queuedSeconds,
    ...shareColumns(lines, shares),
  ])
  const taken = new Map<string, number>()
  for (const [, queueId, , , , , laneId] of rows) {
    const key = lineKey({ queueId, laneId })
    taken.set(key, (taken.get(key) ?? 0) + 1)
  }
  return {
    runs: rows.map((row): Admitted => [row[0], row[1], row[2], row[3], row[4], row[5]]),
    counts: lines.map((line) => taken.get(lineKey(line)) ?? 0),
  }
}

/** What a dispatcher needs to know to sleep well. */
export interface Outlook {
  /** The database's clock, epoch milliseconds. */
  nowMs: number
  /** The due instant of the next run that is not ready yet, or null. */
  nextDueMs: number | null
  /** Whether runs wait for a slot, or for an earlier run of their job. */
  waiting: boolean
  /** Whether some of them did so at the last look already. */
  stillWaiting: boolean
  /** When a limit's rate next lets through one of those that wait for it, or null. */
  nextTokenMs: number | null
}

/**
 * Looks ahead: one index probe into `due`, one into `ready`, whatever lies in the far future; and where runs mind limits of
 * their own, at their rates. `lastMs` is the clock of the look before.
 */
export async function lookAhead(pool: Pool, poolId: number, lastMs = 0): Promise<Outlook> {
  const rows = await runNamed<[number, number | null, boolean, boolean, number | null]>(
    pool,
    'look_ahead',
    `select extract(epoch from clock_timestamp())::float8 * 1000,
      (select round(extract(epoch from due_at)::float8 * 1000) from due where pool = $1 order by due_at limit 1),
      w.plain or w.laned or exists (select from due where pool = -$1::smallint and pool < 0),
      w.plain and exists (select from ready where pool = $1 and due_at < to_timestamp($2::float8 / 1000))
        or w.laned and exists (select from ready where pool = $1::smallint + 1000 and due_at < to_timestamp($2::float8 / 1000)),
      case when w.laned or w.plain and exists (select from limits where gated)
        then ceil(extract(epoch from next_token($1))::float8 * 1000) end
     from (select exists (select from ready where pool = $1) as plain, exists (select from ready where pool = $1::smallint + 1000) as laned
       offset 0) w`,
    [poolId, lastMs],
  )
  const [nowMs, nextDueMs, waiting, stillWaiting, nextTokenMs] = rows[0] ?? [0, null, false, false, null]
  return { nowMs, nextDueMs, waiting, stillWaiting, nextTokenMs }
}

/** What the live executors of a pool can take together. */
export interface Capacity {
  executors: number
  /** Runs that may be in the air at once. */
  slots: number
  /** How many of them executors keep free for critical runs, where queues have classes. */
  spare: number
  /** Runs finished a second, of late. */
  finishedPerSecond: number
  /** Whether any queue is critical or bulk: then slots are divided among classes first. */
  usesClasses: boolean
}

/** An executor that has not announced itself for 6 s is not counted. */
export async function readCapacity(pool: Pool, poolId: number): Promise<Capacity> {
  const rows = await runNamed<[number, number, number, number, boolean]>(
    pool,
    'read_capacity',
    `select count(*)::int, coalesce(sum(capacity), 0)::int, coalesce(sum(spare), 0)::int,
       coalesce(sum(finished_per_second), 0)::float8, exists (select from limits where class <> 1)
     from executors where pool = $1 and seen_at > clock_timestamp() - interval '6 seconds'`,
    [poolId],
  )
  const [executors, slots, spare, finishedPerSecond, usesClasses] = rows[0] ?? [0, 0, 0, 0, false]
  return { executors, slots, spare, finishedPerSecond, usesClasses }
}

/** Announces an executor: what it can take and how fast it was, to the thousandth. */
export async function announceExecutor(
  pool: Pool,
  executor: { id: Uuid; pool: number; capacity: number; spare?: number; running: number; finishedPerSecond: number },
): Promise<void> {
  // The mean of one that has been idle for long fades to what the column cannot hold.
  const finishedPerSecond = Math.round(executor.finishedPerSecond * 1_000) / 1_000
  await runNamed(
    pool,
    'announce_executor',
    `insert into executors (id, pool, capacity, spare, running, finished_per_second, seen_at)
     values ($1, $2, $3, $4, $5, $6, clock_timestamp())
     on conflict (id) do update set capacity = excluded.capacity, spare = excluded.spare, running = excluded.running,
       finished_per_second = excluded.finished_per_second, seen_at = excluded.seen_at`,
    [executor.id, executor.pool, executor.capacity, executor.spare ?? 0, executor.running, finishedPerSecond],
  )
}

/** Takes an executor off the list: it is going down in an orderly way. */
export async function retireExecutor(pool: Pool, id: Uuid): Promise<void> {
  await runNamed(pool, 'retire_executor', 'delete from executors where id = $1', [id])
}
