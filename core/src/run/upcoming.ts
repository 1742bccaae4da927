import { requireScope } from '../access/scope.ts'
import { resolveCovers } from '../calendar/resolve.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withRead } from '../db/context.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { FullSchedule } from '../schedule/full-schedule.ts'
import { compileSchedule } from '../schedule/occurrences.ts'
import { nativeZones } from '../schedule/zone.ts'

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
 * What the project's schedules will do from now on up to `until`, in order, at most `limit` instants. What is written
 * ahead already is read, the rest is computed from the schedules: they are known.
 */
export const upcoming = (ctx: Ctx, options: { until: Date; limit: number }): Promise<Upcoming[]> => {
  requireScope(ctx, 'jobs:read')
  return withRead(ctx, async (tx) => {
    const all = [...(await readWritten(tx, options)), ...(await computeRest(tx, options))]
    return all.sort((a, b) => a.effectiveAt.getTime() - b.effectiveAt.getTime()).slice(0, options.limit)
  })
}

async function readWritten(tx: Tx, { until, limit }: { until: Date; limit: number }): Promise<Upcoming[]> {
  const rows = await runNamed<[Uuid, string, Date, Date]>(
    tx.client,
    'upcoming_written',
    `select d.job_id, j.name, d.nominal_at, d.due_at from due d join jobs j on j.tenant_id = d.tenant_id and j.id = d.job_id
     where d.tenant_id = $1 and d.project_id = $2 and d.job_id is not null and d.nominal_at is not null and d.attempt = 0
       and d.due_at <= $3 order by d.due_at limit $4`,
    [tx.tenantId, tx.projectId, until, limit],
  )
  return rows.map(([jobId, jobName, nominalAt, effectiveAt]) => ({ jobId, jobName, nominalAt, effectiveAt }))
}

type ScheduleRow = [Uuid, string, FullSchedule, nextAtMs: number, runsLeft: number | null, decidedMs: number[]]

async function computeRest(tx: Tx, { until, limit }: { until: Date; limit: number }): Promise<Upcoming[]> {
  const rows = await runNamed<ScheduleRow>(
    tx.client,
    'upcoming_schedules',
    `select s.job_id, j.name, s.spec, round(extract(epoch from s.next_at)::float8 * 1000), s.runs_left,
       case when s.revisits then array(
         select round(extract(epoch from o.nominal_at)::float8 * 1000) from occurrences o
         where o.tenant_id = $1 and o.job_id = s.job_id and o.nominal_at >= s.next_at and (o.outcome <> 'pending' or o.run_id is not null)
         order by o.nominal_at limit ${instantsMax}) else '{}' end
     from schedules s join jobs j on j.tenant_id = s.tenant_id and j.id = s.job_id
     where s.tenant_id = $1 and s.project_id = $2 and not s.paused and not s.shadow and look_at(s.next_at, s.lead_ms) <= $3
     order by s.next_at limit ${schedulesMax}`,
    [tx.tenantId, tx.projectId, until],
  )
  const { tenantId, projectId } = tx
  const covers = await resolveCovers(
    tx.client,
    rows.map(([, , schedule, sinceMs]) => ({ tenantId, projectId, schedule, sinceMs })),
  )
  const untilMs = until.getTime()
  const found: Upcoming[] = []
  for (const [index, [jobId, jobName, spec, nextAtMs, runsLeft, decidedMs]] of rows.entries()) {
    const { calendars = {}, blackouts = [] } = covers[index] ?? {}
    const plan = compileSchedule(spec, nativeZones, { seed: jobId, calendars, blackouts })
    const decided = new Set(decidedMs)
    const instants = Math.min(instantsMax, runsLeft ?? Infinity, limit)
    let instant: number | undefined = nextAtMs
    for (let runs = 0, looks = 0; instant !== undefined && instant <= untilMs + plan.leadMs; looks++) {
      if (runs >= instants || looks >= instantsMax) break
      const { effectiveMs, skipped } = plan.decide({ at: instant, wall: instant })
      if (skipped === undefined && !decided.has(instant)) {
        runs++
        if (effectiveMs <= untilMs)
          found.push({ jobId, jobName, nominalAt: new Date(instant), effectiveAt: new Date(effectiveMs) })
      }
      instant = plan.next(instant)?.at
    }
  }
  return found
}
