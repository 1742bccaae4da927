import { type Covers, resolveCovers } from '../calendar/resolve.ts'
import { runNamed } from '../db/client.ts'
import type { Tx } from '../db/context.ts'
import { databaseNowMs } from '../job/internal.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { JobTiming } from '../schedule/expand.ts'
import type { FullSchedule } from '../schedule/full-schedule.ts'

/** A job that will start by its schedule. */
export interface PlannedJob extends JobTiming {
  readonly id: Uuid
  readonly name: string
  readonly version: number
  readonly queue: string
  readonly pool: number
}

/** What the project's schedules are. */
export interface Plan extends Pick<Covers, 'calendars' | 'blackouts'> {
  readonly jobs: readonly PlannedJob[]
  readonly fromMs: number
  /** The start of the minute that is going on, where pictures of the future begin. */
  readonly bucketsFromMs: number
  /** The same while nothing of it changes. */
  readonly stamp: string
}

type Row = [
  ...job: [id: Uuid, name: string, version: number, spec: FullSchedule, queue: string, pool: number],
  updatedMs: number,
  nextAtMs: number | null,
  runsLeft: number | null,
  ...ledger: [written: number[] | null, decided: number[] | null, moved: number[] | null, print: number | null],
]

const ms = (instant: string): string => `round(extract(epoch from ${instant})::float8 * 1000)`

/**
 * The jobs of a project (the caller's) that will start by their schedules, with what decides about their instants from
 * now on. What is written ahead is read, the rest is computed from the schedules.
 */
export async function readPlan(tx: Tx, projectId = tx.projectId): Promise<Plan> {
  const { tenantId } = tx
  const nowMs = await databaseNowMs(tx)
  const rows = await runNamed<Row>(
    tx.client,
    'planned_jobs',
    `with written as (
       select d.job_id, array_agg(${ms('d.due_at')}) filter (where o.moved is not true) as starts,
         array_agg(${ms('d.due_at')}) filter (where o.moved) as moved
       from due d left join occurrences o on o.tenant_id = $1 and o.job_id = d.job_id and o.nominal_at = d.nominal_at
       where d.tenant_id = $1 and d.project_id = $2 and d.job_id is not null and d.nominal_at is not null and d.attempt = 0
         and d.due_at >= now()
       group by d.job_id)
     select s.job_id, j.name, s.job_version, s.spec, q.name, s.pool, ${ms('s.updated_at')}, ${ms('s.next_at')}, s.runs_left,
       w.starts, l.decided, w.moved || l.moved, l.print
     from schedules s join jobs j on j.tenant_id = s.tenant_id and j.id = s.job_id
     join queues q on q.tenant_id = s.tenant_id and q.id = s.queue_id
     left join written w on w.job_id = s.job_id
     left join lateral (
       select array_agg(${ms('o.nominal_at')}) as decided,
         array_agg(${ms('o.effective_at')}) filter (where o.outcome = 'pending' and o.run_id is null) as moved,
         sum(extract(epoch from coalesce(o.effective_at, o.nominal_at))::float8) as print
       from occurrences o where o.tenant_id = $1 and o.job_id = s.job_id and o.nominal_at >= s.next_at
         and (o.outcome <> 'pending' or o.run_id is not null or o.moved)) l on s.revisits
     where s.tenant_id = $1 and s.project_id = $2 and not s.paused and not s.shadow and (s.next_at is not null or w.job_id is not null)`,
    [tenantId, projectId],
  )
  const bucketsFromMs = Math.floor(nowMs / 60_000) * 60_000
  const named = (field: 'onlyOn' | 'notOn') => [...new Set(rows.flatMap(([, , , spec]) => spec[field] ?? []))]
  const schedule = { onlyOn: named('onlyOn'), notOn: named('notOn') }
  const [covers] = await resolveCovers(tx.client, [{ tenantId, projectId, schedule, sinceMs: nowMs }])
  const changedMs = rows.reduce((latest, row) => Math.max(latest, row[6]), 0)
  const editsPrint = rows.reduce((sum, row) => sum + (row[10]?.length ?? 0) + (row[12] ?? 0), 0)
  return {
    jobs: rows.map((row) => toPlannedJob(row, nowMs)),
    calendars: covers?.calendars ?? {},
    blackouts: covers?.blackouts ?? [],
    fromMs: nowMs,
    bucketsFromMs,
    stamp: [tenantId, projectId, rows.length, changedMs, editsPrint, covers?.key, bucketsFromMs].join(),
  }
}

function toPlannedJob(row: Row, nowMs: number): PlannedJob {
  const [id, name, version, schedule, queue, pool, , nextAtMs, left, written, decided, moved] = row
  const ledger = {
    beforeMs: nextAtMs ?? nowMs,
    nominalMs: decided ?? [],
    startsMs: written ?? [],
    movedMs: moved ?? [],
  }
  // One that is over has what is written still to come.
  const runsLeft = nextAtMs === null ? 0 : (left ?? undefined)
  return { id, name, version, queue, pool, schedule, seed: id, ledger, runsLeft }
}

/** Runs that were given an instant of their own, which no schedule knows of, in slices from `bucketsFromMs` on. */
export async function countOneOffs(
  tx: Tx,
  { bucketsFromMs, bucketMs, size }: { bucketsFromMs: number; bucketMs: number; size: number },
): Promise<number[]> {
  const rows = await runNamed<[number, number]>(
    tx.client,
    'one_off_runs',
    `select floor((extract(epoch from due_at)::float8 * 1000 - $3) / $4)::int, count(*)::int from (
       select due_at from due where tenant_id = $1 and project_id = $2 and nominal_at is null
         and due_at >= to_timestamp($3::float8 / 1000) and due_at < to_timestamp(($3::float8 + $4::float8 * $5) / 1000) limit 200000) d
     group by 1`,
    [tx.tenantId, tx.projectId, bucketsFromMs, bucketMs, size],
  )
  const counts = new Array<number>(size).fill(0)
  for (const [bucket, count] of rows) counts[Math.min(bucket, size - 1)] = count
  return counts
}

/** Occurrences looked at for one picture: a few seconds of computing, a few milliseconds at a time. */
export const lookedAtMax = 5_000_000
