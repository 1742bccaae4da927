import { anchorSchedule } from './anchor.ts'
import { occurrenceNotes } from './clock-changes.ts'
import { type CompiledSchedule, compileSchedule } from './compile.ts'
import type { Schedule } from './schedule.ts'
import { type Hit, lastMs } from './wall-rule.ts'
import { formatOffset, formatWall } from './zone.ts'

export { type CompiledSchedule, compileSchedule } from './compile.ts'

export interface Occurrence {
  readonly nominalAt: Temporal.Instant
  /** When it runs. The same instant until a schedule can have jitter or a calendar that moves it. */
  readonly effectiveAt: Temporal.Instant
  /** The wall clock at `nominalAt`, such as `2026-03-29T02:00:00`. */
  readonly local: string
  readonly offset: string
  /** What a clock change did to it. */
  readonly notes: readonly string[]
}

/** The next `count` occurrences strictly after an instant; fewer when the schedule ends. */
export function nextOccurrences(
  schedule: CompiledSchedule | Schedule,
  after: Temporal.Instant,
  count: number,
): Occurrence[] {
  return [...occurrencesBetween(schedule, after, Temporal.Instant.fromEpochMilliseconds(lastMs), count)]
}

/** The occurrences in (after, until], in order, at most `limit`. Consecutive windows neither miss nor repeat one. */
export function* occurrencesBetween(
  schedule: CompiledSchedule | Schedule,
  after: Temporal.Instant,
  until: Temporal.Instant,
  limit: number,
): Generator<Occurrence, void, undefined> {
  const compiled = 'next' in schedule ? schedule : compileSchedule(anchorSchedule(schedule, after))
  const untilMs = until.epochMilliseconds
  let previousMs = after.epochMilliseconds
  for (let count = 0; count < limit; count++) {
    const hit = compiled.next(previousMs)
    if (hit === undefined || hit.at > untilMs) return
    yield toOccurrence(compiled, hit)
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
  return {
    nominalAt,
    effectiveAt: nominalAt,
    local: formatWall(hit.at + offset),
    offset: formatOffset(offset),
    notes: occurrenceNotes(hit, compiled.zone, compiled.clock),
  }
}
