import { isDeepStrictEqual } from 'node:util'
import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withRead } from '../db/context.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { FullSchedule } from '../schedule/full-schedule.ts'
import { previewSchedule, type SchedulePreview } from '../schedule/preview.ts'
import { coversOf } from './resolve.ts'

/**
 * The next instants of a draft in the caller's project, with its calendars and blackouts, and the draft in words. With
 * the id of a job, its jitter, window and `H` are those of that job, and what the job has already counts from where it
 * does there. Throws `validation-failed` for calendars that
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
    const counted = jobId === undefined ? schedule : await asKept(tx, jobId, schedule)
    return previewSchedule(counted, Temporal.Instant.fromEpochMilliseconds(afterMs), count, { ...seed, ...covers })
  })
}

/** The schedule of a job with where it counts from, when it is what the draft says. */
async function asKept(tx: Tx, jobId: Uuid, draft: FullSchedule): Promise<FullSchedule> {
  const [row] = await runNamed<[FullSchedule | null]>(
    tx.client,
    'kept_schedule',
    'select spec from schedules where tenant_id = $1 and project_id = $2 and job_id = $3',
    [tx.tenantId, tx.projectId, jobId],
  )
  const kept = row?.[0] ?? null
  if (kept === null) return draft
  const isMore = Object.keys(kept).some((key) => !(key in draft) && key !== 'anchor' && key !== 'dtstart')
  return !isMore && isDeepStrictEqual({ ...kept, ...draft }, kept) ? kept : draft
}
