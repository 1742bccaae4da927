import { requireScope } from '../access/scope.ts'
import { coversOf } from '../calendar/resolve.ts'
import { type Ctx, withRead } from '../db/context.ts'
import { databaseNowMs, readJob } from '../job/internal.ts'
import type { Uuid } from '../kernel/ids.ts'
import { compileSchedule } from '../schedule/occurrences.ts'
import { nativeZones } from '../schedule/zone.ts'

/** An instant of a job's schedule that nothing has been decided about. */
export interface JobInstant {
  nominalAt: Date
  /** When it will run; the nominal instant when it will not. */
  effectiveAt: Date
  /** What will keep it from running, as things stand. */
  skipped: 'calendar' | 'blackout' | null
}

/**
 * The instants of a job's schedule after now and `from`, up to `until`, in order, at most `limit`; also while it is
 * paused, and without what a person did to single ones: that is in the ledger. Throws `not-found`.
 */
export const jobUpcoming = (
  ctx: Ctx,
  jobId: Uuid,
  { from, until, limit }: { from?: Date | undefined; until: Date; limit: number },
): Promise<JobInstant[]> => {
  requireScope(ctx, 'jobs:read')
  return withRead(ctx, async (tx) => {
    const { spec, nextAt, runsLeft } = await readJob(tx, jobId)
    if (spec === null || nextAt === null) return []
    const nowMs = await databaseNowMs(tx)
    const firstMs = Math.max(nowMs + 1, from?.getTime() ?? 0)
    const covers = await coversOf(tx, spec, { sinceMs: nowMs })
    const plan = compileSchedule(spec, nativeZones, { seed: jobId, ...covers })
    const found: JobInstant[] = []
    // Runs that are left can only be counted from the first one that is not decided.
    const beginMs = runsLeft === null ? Math.max(firstMs, nextAt.getTime()) : nextAt.getTime()
    let hit = plan.next(beginMs - 1)
    for (
      let left = runsLeft ?? Infinity;
      hit !== undefined && left > 0 && found.length < limit;
      hit = plan.next(hit.at)
    ) {
      if (hit.at > until.getTime()) break
      const { effectiveMs, skipped = null } = plan.decide(hit)
      if (skipped === null) left--
      if (hit.at >= firstMs) found.push({ nominalAt: new Date(hit.at), effectiveAt: new Date(effectiveMs), skipped })
    }
    return found
  })
}
