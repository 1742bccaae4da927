import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, withRead } from '../db/context.ts'
import type { Uuid } from '../kernel/ids.ts'
import { type RunStatus, stateCodes, statusOf } from './run.ts'

/** How runs ended in a slice of time: from inclusive, to exclusive. */
export interface HistogramBucket {
  from: Date
  to: Date
  counts: Partial<Record<RunStatus, number>>
}

/**
 * How the project's runs ended, in equal slices of [from, to), whole minutes at the finest. Counted by the relay, so
 * it may trail the truth by a second.
 */
export const runHistogram = (
  ctx: Ctx,
  range: { from: Date; to: Date; buckets: number },
): Promise<HistogramBucket[]> => {
  requireScope(ctx, 'runs:read')
  const { from, to, buckets } = range
  const width = (to.getTime() - from.getTime()) / buckets
  const histogram = Array.from(
    { length: buckets },
    (_, index): HistogramBucket => ({
      from: new Date(from.getTime() + index * width),
      to: new Date(from.getTime() + (index + 1) * width),
      counts: {},
    }),
  )
  return withRead(ctx, async (tx) => {
    const rows = await runNamed<[number, number, number]>(
      tx.client,
      'run_histogram',
      `select least(floor((extract(epoch from minute) * 1000 - $5) / $6)::int, $7::int - 1), state, sum(count)::int from run_minutes
       where tenant_id = $1 and project_id = $2 and minute >= $3 and minute < $4 group by 1, 2`,
      [tx.tenantId, tx.projectId, from, to, from.getTime(), width, buckets],
    )
    for (const [index, state, count] of rows) {
      const bucket = histogram[index]
      if (bucket !== undefined) bucket.counts[statusOf(state)] = count
    }
    return histogram
  })
}

/** How many runs of the project are open now, by status. */
export const openCounts = (
  ctx: Ctx,
): Promise<{ scheduled: number; ready: number; queued: number; running: number }> => {
  requireScope(ctx, 'runs:read')
  return withRead(ctx, async (tx) => {
    const rows = await runNamed<[number, number, number, number]>(
      tx.client,
      'open_counts',
      `select (select count(*) from (select 1 from due where tenant_id = $1 and project_id = $2 limit 100000) x),
        (select count(*) from (select 1 from ready where tenant_id = $1 and project_id = $2 limit 100000) x),
        (select count(*) from held where tenant_id = $1 and project_id = $2 and state = 2),
        (select count(*) from held where tenant_id = $1 and project_id = $2 and state = 3)`,
      [tx.tenantId, tx.projectId],
    )
    const [scheduled, ready, queued, running] = rows[0] ?? [0, 0, 0, 0]
    return { scheduled, ready, queued, running }
  })
}

/** One bar of a job's strip. */
export interface RecentRun {
  id: Uuid
  status: RunStatus
  dueAt: Date
  finishedAt: Date
  durationMs: number | null
}

/** The last `count` ended runs of each job, newest first. */
export const recentRuns = (ctx: Ctx, jobIds: Uuid[], count: number): Promise<Map<Uuid, RecentRun[]>> => {
  requireScope(ctx, 'runs:read')
  return withRead(ctx, async (tx) => {
    const rows = await runNamed<[Uuid, Uuid, number, Date, Date, number | null]>(
      tx.client,
      'recent_runs',
      `select j.id, r.id, r.state, r.due_at, r.ended_at, r.duration_ms from unnest($2::uuid[]) j(id) cross join lateral (
         select r.id, r.state, r.due_at, r.ended_at, r.duration_ms from runs r
         where r.tenant_id = $1 and r.job_id = j.id order by r.id desc limit $3) r`,
      [tx.tenantId, jobIds, count],
    )
    const recent = new Map<Uuid, RecentRun[]>(jobIds.map((id) => [id, []]))
    for (const [jobId, id, state, dueAt, finishedAt, durationMs] of rows) {
      recent.get(jobId)?.push({ id, status: statusOf(state), dueAt, finishedAt, durationMs })
    }
    return recent
  })
}

/** Ended runs of each job since an instant (to the hour): how many succeeded, how many failed. */
export const successRates = (
  ctx: Ctx,
  jobIds: Uuid[],
  since: Date,
): Promise<Map<Uuid, { succeeded: number; failed: number }>> => {
  requireScope(ctx, 'runs:read')
  return withRead(ctx, async (tx) => {
    const rows = await runNamed<[Uuid, number, number]>(
      tx.client,
      'success_rates',
      `select job_id, coalesce(sum(count) filter (where state = ${stateCodes.succeeded}), 0)::int,
         coalesce(sum(count) filter (where state = ${stateCodes.failed}), 0)::int
       from job_hours where tenant_id = $1 and job_id = any($2::uuid[]) and hour >= $3 group by job_id`,
      [tx.tenantId, jobIds, since],
    )
    return new Map(rows.map(([jobId, succeeded, failed]) => [jobId, { succeeded, failed }]))
  })
}
