import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, withRead } from '../db/context.ts'
import { databaseNowMs } from '../job/internal.ts'
import type { Uuid } from '../kernel/ids.ts'
import { runBetween } from '../kernel/steps.ts'
import type { FullSchedule } from '../schedule/full-schedule.ts'
import { nativeZones, type ZoneDatabase } from '../schedule/zone.ts'
import { type Comparison, compareSteps, comparisonKey, type ZoneReportLine } from './zone-report.ts'

/** What another version of the time zone data would do to the schedules of a project. */
export interface ProjectZoneReport {
  from: Date
  until: Date
  /** Those that were compared. */
  schedules: number
  /** Those that would move, or that the other data has no zone for. */
  moved: number
  /** Schedules with more instants than could be looked at. */
  uncompared: number
  /** At most a thousand, the soonest first. */
  lines: Omit<ZoneReportLine, 'tenantId' | 'projectId'>[]
}

const dayMs = 86_400_000
const linesMax = 1_000
/** A step is 500 instants: some seconds of computing, a few milliseconds at a time. */
const stepsMax = 10_000

/**
 * Which schedules of the caller's project have other instants in the coming `days` under `next` than under the data of this
 * process: to be read before it is applied. Paused ones and those in shadow count. By the project's own clock.
 */
export async function reportProjectZones(
  ctx: Ctx,
  { next, days }: { next: ZoneDatabase; days: number },
): Promise<ProjectZoneReport> {
  requireScope(ctx, 'jobs:read')
  const { rows, nowMs } = await withRead(ctx, async (tx) => ({
    nowMs: await databaseNowMs(tx),
    rows: await runNamed<[Uuid, string, FullSchedule]>(
      tx.client,
      'project_schedules',
      `select s.job_id, j.name, s.spec from schedules s join jobs j on j.tenant_id = $1 and j.id = s.job_id
       where s.tenant_id = $1 and s.project_id = $2`,
      [tx.tenantId, tx.projectId],
    ),
  }))
  const range = { from: new Date(nowMs), until: new Date(nowMs + days * dayMs) }
  if (next === nativeZones) return { ...range, schedules: rows.length, moved: 0, uncompared: 0, lines: [] }
  const found = await runBetween(reportSteps(rows, { next, days, fromMs: nowMs }))
  found.lines.sort((one, other) => (one.moved?.firstMs ?? 0) - (other.moved?.firstMs ?? 0))
  return {
    ...range,
    schedules: rows.length - found.uncompared,
    moved: found.lines.length,
    uncompared: found.uncompared,
    lines: found.lines.slice(0, linesMax),
  }
}

function* reportSteps(
  rows: readonly [Uuid, string, FullSchedule][],
  options: { next: ZoneDatabase; days: number; fromMs: number },
): Generator<undefined, Pick<ProjectZoneReport, 'uncompared' | 'lines'>, undefined> {
  const known = new Map<string, Comparison>()
  const lines: ProjectZoneReport['lines'] = []
  let [steps, uncompared] = [0, 0]
  for (const [jobId, jobName, spec] of rows) {
    const key = comparisonKey(spec, jobId)
    let found = known.get(key)
    if (found === undefined) {
      if (steps >= stepsMax) {
        uncompared++
        continue
      }
      const comparing = compareSteps(spec, { ...options, seed: jobId })
      for (let step = comparing.next(); ; step = comparing.next()) {
        if (step.done) {
          found = step.value
          break
        }
        steps++
        yield
      }
      known.set(key, found)
    }
    if (found.moved === null && found.problem === null) continue
    lines.push({ jobId, jobName, timezone: spec.timezone ?? 'UTC', ...found })
  }
  return { lines, uncompared }
}
