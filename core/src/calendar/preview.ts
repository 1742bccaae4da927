import { requireScope } from '../access/scope.ts'
import { type Ctx, withRead } from '../db/context.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { FullSchedule } from '../schedule/full-schedule.ts'
import { previewSchedule, type SchedulePreview } from '../schedule/preview.ts'
import { coversOf } from './resolve.ts'

/**
 * The next instants of a draft in the caller's project, with its calendars and blackouts, and the draft in words. With
 * the id of a job, its jitter, window and `H` are those of that job. Throws `validation-failed` for calendars that
 * there are not.
 */
export function previewDraft(
  ctx: Ctx,
  draft: { schedule: FullSchedule; afterMs: number; count: number; jobId?: Uuid | undefined },
): Promise<SchedulePreview> {
  requireScope(ctx, 'jobs:read')
  const { schedule, afterMs, count, jobId } = draft
  return withRead(ctx, async (tx) => {
    const covers = await coversOf(tx, schedule, { sinceMs: afterMs })
    const seed = jobId === undefined ? {} : { seed: jobId }
    return previewSchedule(schedule, Temporal.Instant.fromEpochMilliseconds(afterMs), count, { ...seed, ...covers })
  })
}
