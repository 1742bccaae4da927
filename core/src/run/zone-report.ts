import { type Pool, runNamed } from '../db/client.ts'
import type { Uuid } from '../kernel/ids.ts'
import { runThrough } from '../kernel/steps.ts'
import type { FullSchedule } from '../schedule/full-schedule.ts'
import { nativeZones, type ZoneDatabase } from '../schedule/zone.ts'
import { compareZonesSteps, type MovedSchedule } from '../schedule/zone-changes.ts'

/** A schedule whose future instants another version of the time zone data would move, or could not compute. */
export interface ZoneReportLine {
  tenantId: Uuid
  projectId: Uuid
  jobId: Uuid
  jobName: string
  timezone: string
  moved: MovedSchedule | null
  /** Why it could not be compared. */
  problem: string | null
}

export type Comparison = Pick<ZoneReportLine, 'moved' | 'problem'>

const pageSize = 1_000

type Row = [Uuid, Uuid, Uuid, string, FullSchedule]

/**
 * Every schedule of a shard whose instants in the `days` after `fromMs` are others under `next` than under the data of this
 * process. To be read before a new version is applied. Reads as the engine.
 */
export async function* reportZones(
  engine: Pool,
  { shard, next, fromMs, days }: { shard: number; next: ZoneDatabase; fromMs: number; days: number },
): AsyncGenerator<ZoneReportLine, void, undefined> {
  const known = new Map<string, Comparison>()
  for (let after: readonly [Uuid, Uuid] | undefined; ; ) {
    const rows: Row[] = await runNamed<Row>(
      engine,
      'zone_report',
      `select s.tenant_id, s.project_id, s.job_id, j.name, s.spec from schedules s join jobs j on j.tenant_id = s.tenant_id and j.id = s.job_id
       where s.shard_id = $1 and ($2::uuid is null or (s.tenant_id, s.job_id) > ($2, $3)) order by s.tenant_id, s.job_id limit ${pageSize}`,
      [shard, after?.[0] ?? null, after?.[1] ?? null],
    )
    for (const [tenantId, projectId, jobId, jobName, spec] of rows) {
      const key = comparisonKey(spec, jobId)
      const found = known.get(key) ?? runThrough(compareSteps(spec, { next, fromMs, days, seed: jobId }))
      known.set(key, found)
      const timezone = spec.timezone ?? 'UTC'
      if (found.moved !== null || found.problem !== null)
        yield { tenantId, projectId, jobId, jobName, timezone, ...found }
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < pageSize) return
    after = [last[0], last[2]]
  }
}

/** Only `H` makes the times of equal schedules differ from job to job. */
export const comparisonKey = (spec: FullSchedule, jobId: Uuid): string =>
  JSON.stringify(spec) + (spec.type === 'cron' && /H/i.test(spec.cron) ? jobId : '')

/** What became of one schedule, a few hundred instants a step. */
export function* compareSteps(
  spec: FullSchedule,
  options: { next: ZoneDatabase; fromMs: number; days: number; seed: string },
): Generator<undefined, Comparison, undefined> {
  try {
    return { moved: (yield* compareZonesSteps(spec, { now: nativeZones, ...options })) ?? null, problem: null }
  } catch (error) {
    if (error instanceof RangeError) return { moved: null, problem: error.message }
    throw error
  }
}
