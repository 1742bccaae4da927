import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, withRead } from '../db/context.ts'
import type { Uuid } from '../kernel/ids.ts'
import { compileSchedule } from '../schedule/occurrences.ts'
import type { Schedule } from '../schedule/schedule.ts'
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

/** An instant at which a job will run. */
export interface Upcoming {
  jobId: Uuid
  jobName: string
  nominalAt: Date
  effectiveAt: Date
}

/** Schedules looked at, and instants of one schedule: what bounds a picture of the future. */
const schedulesMax = 500
const instantsMax = 2_000

/**
 * What the project's schedules will do from now on up to `until`, in order, at most `limit` instants. Computed from the
 * schedules, not read: they are known.
 */
export const upcoming = (ctx: Ctx, options: { until: Date; limit: number }): Promise<Upcoming[]> => {
  requireScope(ctx, 'jobs:read')
  return withRead(ctx, async (tx) => {
    const rows = await runNamed<[Uuid, string, Schedule, Date]>(
      tx.client,
      'upcoming',
      `select s.job_id, j.name, s.spec, coalesce(
         (select min(o.nominal_at) from occurrences o where o.tenant_id = s.tenant_id and o.job_id = s.job_id and o.outcome = 'pending'
           and o.nominal_at >= now() - interval '1 hour'), s.next_at)
       from schedules s join jobs j on j.tenant_id = s.tenant_id and j.id = s.job_id
       where s.tenant_id = $1 and s.project_id = $2 and not s.paused and not s.shadow and s.next_at is not null and s.next_at <= $3
       order by s.next_at limit $4`,
      [tx.tenantId, tx.projectId, options.until, schedulesMax],
    )
    const untilMs = options.until.getTime()
    const all: Upcoming[] = []
    for (const [jobId, jobName, spec, nextAt] of rows) {
      const schedule = compileSchedule(spec)
      let instant: number | undefined = nextAt.getTime()
      for (
        let count = 0;
        instant !== undefined && instant <= untilMs && count < Math.min(instantsMax, options.limit);
        count++
      ) {
        const at = new Date(instant)
        all.push({ jobId, jobName, nominalAt: at, effectiveAt: at })
        instant = schedule.next(instant)?.at
      }
    }
    return all.sort((a, b) => a.nominalAt.getTime() - b.nominalAt.getTime()).slice(0, options.limit)
  })
}
