import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withRead } from '../db/context.ts'
import type { Uuid } from '../kernel/ids.ts'

/** A version of the time zone data, and what of the project it has to do with. */
export interface ZoneVersion {
  version: string
  /** Schedules whose next instant was computed with it. */
  schedules: number
  /** Jobs whose schedules ran under it at any time, and from when until when; null: they still do. */
  jobs: number
  from: Date
  until: Date | null
  /** Schedules whose next instant moved when it was applied. */
  moved: number
}

/** A schedule that was moved when a version was applied. */
export interface ZoneMove {
  jobId: Uuid
  jobName: string
  timezone: string | null
  version: string
  fromVersion: string
  at: Date
  /** Its next instant as it was, and as it became. */
  before: Date | null
  after: Date | null
}

export interface ZoneHistory {
  /** Those that the project's schedules ran under, the one that came last first. */
  versions: ZoneVersion[]
  /** What the last application that moved anything moved: at most a hundred, the soonest first. */
  lastMoves: ZoneMove[]
}

const movesMax = 100

/** Which versions of the time zone data the project's schedules ran under, and what the last one moved when it was applied. */
export function readZoneHistory(ctx: Ctx): Promise<ZoneHistory> {
  requireScope(ctx, 'jobs:read')
  return withRead(ctx, async (tx) => ({ versions: await readVersions(tx), lastMoves: await readLastMoves(tx) }))
}

async function readVersions(tx: Tx): Promise<ZoneVersion[]> {
  const rows = await runNamed<[string, number, number, Date, Date | null, number]>(
    tx.client,
    'zone_versions',
    `with spans as (
       select p.tz_version as version, p.job_id, p.from_at, p.spec,
         lead(p.from_at) over (partition by p.job_id order by p.from_at) as until_at
       from schedule_spans p join jobs j on j.tenant_id = $1 and j.id = p.job_id and j.project_id = $2 where p.tenant_id = $1),
     ran as (
       select version, count(distinct job_id)::int as jobs, min(from_at) as from_at, max(coalesce(until_at, 'infinity')) as until_at
       from spans where spec is not null group by version),
     now as (select tz_version as version, count(*)::int as schedules from schedules where tenant_id = $1 and project_id = $2 group by 1),
     moved as (select tz_version as version, count(*)::int as moved from zone_moves where tenant_id = $1 and project_id = $2 group by 1)
     select r.version, coalesce(n.schedules, 0), r.jobs, r.from_at, nullif(r.until_at, 'infinity'), coalesce(m.moved, 0)
     from ran r left join now n using (version) left join moved m using (version) order by r.until_at desc, r.version desc`,
    [tx.tenantId, tx.projectId],
  )
  return rows.map(([version, schedules, jobs, from, until, moved]) => ({
    version,
    schedules,
    jobs,
    from,
    until,
    moved,
  }))
}

async function readLastMoves(tx: Tx): Promise<ZoneMove[]> {
  const rows = await runNamed<[Uuid, string, string | null, string, string, Date, Date | null, Date | null]>(
    tx.client,
    'last_zone_moves',
    `select m.job_id, j.name, s.spec ->> 'timezone', m.tz_version, m.from_version, m.at, m.before_at, m.after_at
     from zone_moves m join jobs j on j.tenant_id = $1 and j.id = m.job_id and j.state <> 'deleted'
     left join schedules s on s.tenant_id = $1 and s.job_id = m.job_id
     where m.tenant_id = $1 and m.project_id = $2 and m.tz_version = (
       select l.tz_version from zone_moves l where l.tenant_id = $1 and l.project_id = $2 order by l.at desc limit 1)
     order by least(m.before_at, m.after_at), m.job_id limit ${movesMax}`,
    [tx.tenantId, tx.projectId],
  )
  return rows.map(([jobId, jobName, timezone, version, fromVersion, at, before, after]) => ({
    ...{ jobId, jobName, timezone, version, fromVersion, at, before, after },
  }))
}
