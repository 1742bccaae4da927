import { requireScope } from '../access/scope.ts'
import { coversOf } from '../calendar/resolve.ts'
import { type Ctx, type Tx, withTx } from '../db/context.ts'
import type { Uuid } from '../kernel/ids.ts'
import { type Durations, measuredDurations } from '../run/durations.ts'
import { diffSchedules, type ScheduleDiff } from '../schedule/diff.ts'
import type { FullSchedule } from '../schedule/full-schedule.ts'
import { databaseNowMs, readJob } from './internal.ts'
import type { Job, JobChanges } from './job.ts'
import { updateJob } from './update.ts'

/** What a change of a job would do. */
export interface Simulation {
  /** As it would be. */
  job: Job
  from: Date
  diff: ScheduleDiff
  /** What overlaps are counted by: the runs of the job so far; null when it has none. */
  durations: Durations | null
}

const days = 30

/**
 * Changes a job and undoes it, so that everything is refused that the change itself would be; tells which instants of
 * the next 30 days appear and disappear, and how many start while, by the job's measured duration, the run before
 * still goes on. Throws as `updateJob`.
 */
export async function simulateUpdate(
  ctx: Ctx,
  id: Uuid,
  changes: JobChanges & { expectedVersion?: number | undefined },
): Promise<Simulation> {
  requireScope(ctx, 'jobs:write')
  await ctx.keyRing.load(ctx.tenantId)
  const seen = await withTx(ctx, async (tx) => {
    await tx.client.query('savepoint simulation')
    const nowMs = await databaseNowMs(tx)
    const before = await readJob(tx, id)
    const job = await updateJob(tx, id, changes)
    const after = await readJob(tx, id)
    await tx.client.query('rollback to savepoint simulation')
    const specs = [before.spec, after.spec] as const
    const durations = (await measuredDurations(tx, [id])).get(id) ?? null
    return { nowMs, job, specs, durations, covers: await coversOfBoth(tx, specs, nowMs) }
  })
  const { nowMs, job, specs, durations, covers } = seen
  const from = Temporal.Instant.fromEpochMilliseconds(nowMs)
  const options = { seed: id, ...covers, durationMs: durations?.p95Ms ?? 0 }
  return { job, from: new Date(nowMs), diff: diffSchedules(...specs, from, days, options), durations }
}

async function coversOfBoth(tx: Tx, schedules: readonly (FullSchedule | null)[], sinceMs: number) {
  const named = (field: 'onlyOn' | 'notOn'): string[] => schedules.flatMap((schedule) => schedule?.[field] ?? [])
  return coversOf(tx, { onlyOn: named('onlyOn'), notOn: named('notOn') }, { sinceMs })
}
