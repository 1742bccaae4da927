import { anchorSchedule } from './anchor.ts'
import { occurrenceNotes } from './clock-changes.ts'
import { type CompiledSchedule, compileSchedule } from './compile.ts'
import type { FullSchedule } from './extras.ts'
import { type Hit, lastMs } from './wall-rule.ts'
import { formatOffset, formatWall } from './zone.ts'

export { type CompiledSchedule, compileSchedule } from './compile.ts'

export interface Occurrence {
  readonly nominalAt: Temporal.Instant
  /** When it runs: another instant when a calendar or blackout moves it, or with jitter or a window. */
  readonly effectiveAt: Temporal.Instant
  /** Why it does not run. */
  readonly skipped?: 'calendar' | 'blackout'
  /** The wall clock at `nominalAt`, such as `2026-03-29T02:00:00`. */
  readonly local: string
  readonly offset: string
  /** What a clock change, calendar, jitter or blackout did to it. */
  readonly notes: readonly string[]
}

/** The next `count` occurrences strictly after an instant, those that are skipped too; fewer when the schedule ends. */
export function nextOccurrences(
  schedule: CompiledSchedule | FullSchedule,
  after: Temporal.Instant,
  count: number,
): Occurrence[] {
  return [...occurrencesBetween(schedule, after, Temporal.Instant.fromEpochMilliseconds(lastMs), count)]
}

/** The occurrences in (after, until], in order, at most `limit`. Consecutive windows neither miss nor repeat one. */
export function* occurrencesBetween(
  schedule: CompiledSchedule | FullSchedule,
  after: Temporal.Instant,
  until: Temporal.Instant,
  limit: number,
): Generator<Occurrence, void, undefined> {
  const compiled = 'next' in schedule ? schedule : compileSchedule(anchorSchedule(schedule, after))
  const untilMs = until.epochMilliseconds
  let previousMs = after.epochMilliseconds
  let runs = 0
  for (let count = 0; count < limit && runs < compiled.runsLeft; count++) {
    const hit = compiled.next(previousMs)
    if (hit === undefined || hit.at > untilMs) return
    const occurrence = toOccurrence(compiled, hit)
    if (occurrence.skipped === undefined) runs++
    yield occurrence
    previousMs = hit.at
  }
}

/** The next instant strictly after another, in epoch milliseconds; `null` when the schedule has ended. */
export function nextInstantMs(schedule: CompiledSchedule, afterMs: number): number | null {
  return schedule.next(afterMs)?.at ?? null
}

function toOccurrence(compiled: CompiledSchedule, hit: Hit): Occurrence {
  const nominalAt = Temporal.Instant.fromEpochMilliseconds(hit.at)
  const { offset } = compiled.zone.spanAt(hit.at)
  const { effectiveMs, skipped, notes } = compiled.decide(hit)
  return {
    nominalAt,
    effectiveAt: Temporal.Instant.fromEpochMilliseconds(effectiveMs),
    ...(skipped ? { skipped } : {}),
    local: formatWall(hit.at + offset),
    offset: formatOffset(offset),
    notes: [...occurrenceNotes(hit, compiled.zone, compiled.clock), ...notes],
  }
}
