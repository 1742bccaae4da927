import { type Covers, resolveCovers } from '../calendar/resolve.ts'
import { runNamed } from '../db/client.ts'
import type { Tx } from '../db/context.ts'
import { databaseNowMs } from '../job/internal.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { JobTiming } from '../schedule/expand.ts'
import type { FullSchedule } from '../schedule/full-schedule.ts'

/** A job with a schedule that goes on. */
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

type Row = [id: Uuid, name: string, version: number, spec: FullSchedule, queue: string, pool: number, updatedMs: number]

/** The jobs of the project whose schedules go on, with what decides about their instants from now on. */
export async function readPlan(tx: Tx): Promise<Plan> {
  const { tenantId, projectId } = tx
  const nowMs = await databaseNowMs(tx)
  const rows = await runNamed<Row>(
    tx.client,
    'planned_jobs',
    `select s.job_id, j.name, s.job_version, s.spec, q.name, s.pool, extract(epoch from s.updated_at)::float8 * 1000
     from schedules s join jobs j on j.tenant_id = s.tenant_id and j.id = s.job_id
     join queues q on q.tenant_id = s.tenant_id and q.id = s.queue_id
     where s.tenant_id = $1 and s.project_id = $2 and not s.paused and s.next_at is not null`,
    [tenantId, projectId],
  )
  const bucketsFromMs = Math.floor(nowMs / 60_000) * 60_000
  const named = (field: 'onlyOn' | 'notOn') => [...new Set(rows.flatMap(([, , , spec]) => spec[field] ?? []))]
  const schedule = { onlyOn: named('onlyOn'), notOn: named('notOn') }
  const [covers] = await resolveCovers(tx.client, [{ tenantId, projectId, schedule, sinceMs: nowMs }])
  const changedMs = rows.reduce((latest, row) => Math.max(latest, row[6]), 0)
  return {
    jobs: rows.map(([id, name, version, spec, queue, pool]) => ({
      ...{ id, name, version, queue, pool },
      schedule: spec,
      seed: id,
    })),
    calendars: covers?.calendars ?? {},
    blackouts: covers?.blackouts ?? [],
    fromMs: nowMs,
    bucketsFromMs,
    stamp: [tenantId, projectId, rows.length, changedMs, covers?.key, bucketsFromMs].join(),
  }
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
