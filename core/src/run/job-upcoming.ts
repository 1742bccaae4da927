import { requireScope } from '../access/scope.ts'
import { coversOf } from '../calendar/resolve.ts'
import { type Ctx, type Tx, withRead } from '../db/context.ts'
import { databaseNowMs, readJob } from '../job/internal.ts'
import type { Uuid } from '../kernel/ids.ts'
import { type CompiledSchedule, compileSchedule } from '../schedule/occurrences.ts'
import { nativeZones } from '../schedule/zone.ts'

/** An instant of a job's schedule that nothing has been decided about. */
export interface JobInstant {
  nominalAt: Date
  /** When it will run; the nominal instant when it will not. */
  effectiveAt: Date
  /** What will keep it from running, as things stand. */
  skipped: 'calendar' | 'blackout' | null
}

/** What a job's schedule still has. */
export interface Ahead {
  plan: CompiledSchedule
  nowMs: number
  /** The first instant that is not decided. */
  nextMs: number
  /** Runs that are left to it; null: no end. */
  runsLeft: number | null
}

/** More instants of one schedule are not looked at for one question. */
export const instantsMax = 100_000

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
    const ahead = await readAhead(tx, jobId)
    if (ahead === undefined) return []
    const found: JobInstant[] = []
    for (const instant of instantsOf(ahead, { fromMs: from?.getTime() ?? 0, untilMs: until.getTime() })) {
      if (instant !== null) found.push(instant)
      if (found.length === limit) break
    }
    return found
  })
}

/** Undefined: it has no schedule, or that is over. Throws `not-found`. */
export async function readAhead(tx: Tx, jobId: Uuid): Promise<Ahead | undefined> {
  const { spec, nextAt, runsLeft } = await readJob(tx, jobId)
  if (spec === null || nextAt === null) return undefined
  const nowMs = await databaseNowMs(tx)
  const covers = await coversOf(tx, spec, { sinceMs: nowMs })
  const plan = compileSchedule(spec, nativeZones, { seed: jobId, ...covers })
  return { plan, nowMs, nextMs: nextAt.getTime(), runsLeft }
}

/** The instants after now from `fromMs` up to `untilMs`; null for each that comes before and had to be counted. */
export function* instantsOf(
  { plan, nowMs, nextMs, runsLeft }: Ahead,
  { fromMs, untilMs }: { fromMs: number; untilMs: number },
): Generator<JobInstant | null, void, undefined> {
  const firstMs = Math.max(nowMs + 1, fromMs)
  // Runs that are left can only be counted from the first one that is not decided.
  let hit = plan.next((runsLeft === null ? Math.max(firstMs, nextMs) : nextMs) - 1)
  let left = runsLeft ?? Infinity
  for (let looked = 0; hit !== undefined && left > 0 && looked < instantsMax; looked++) {
    if (hit.at > untilMs) return
    const { effectiveMs, skipped = null } = plan.decide(hit)
    if (skipped === null) left--
    yield hit.at < firstMs ? null : { nominalAt: new Date(hit.at), effectiveAt: new Date(effectiveMs), skipped }
    hit = plan.next(hit.at)
  }
}
