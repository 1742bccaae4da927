import { anchorSchedule } from './anchor.ts'
import { dayMs } from './civil.ts'
import { compileSchedule } from './compile.ts'
import type { DecideOptions } from './decide.ts'
import type { FullSchedule } from './extras.ts'
import { type Occurrence, occurrencesBetween } from './occurrences.ts'
import { nativeZones } from './zone.ts'

/** What a change of a schedule does to the instants at which its job runs. */
export interface ScheduleDiff {
  /** Told with the schedule as it would be. */
  readonly added: readonly Occurrence[]
  /** Told with the schedule as it is. */
  readonly removed: readonly Occurrence[]
  /** Instants that stay. */
  readonly kept: number
  /** Starts of each side before the end of the one in front of them, by `durationMs`. */
  readonly overlaps: { readonly before: number; readonly after: number }
  /** How far both were compared: earlier than asked when there is too much to look at. */
  readonly until: Temporal.Instant
}

/** Occurrences of one side that are looked at. */
const lookedAtMax = 20_000

/**
 * Which instants appear and disappear in the `days` after `from`, when one schedule takes the place of another; `null`
 * has none. Compared are the instants at which something starts. What has no start of its own counts from `from`.
 */
export function diffSchedules(
  before: FullSchedule | null,
  after: FullSchedule | null,
  from: Temporal.Instant,
  days: number,
  { durationMs = 0, ...options }: DecideOptions & { readonly durationMs?: number } = {},
): ScheduleDiff {
  const untilMs = from.epochMilliseconds + days * dayMs
  const sides = [before, after].map((schedule) => runsOf(schedule, from, untilMs, options))
  const lastMs = Math.min(untilMs, ...sides.map(({ seenUntilMs }) => seenUntilMs))
  const [old = new Map(), fresh = new Map()] = sides.map(({ runs }) => runs)
  const only = (runs: ReadonlyMap<number, Occurrence>, others: ReadonlyMap<number, Occurrence>): Occurrence[] =>
    [...runs].flatMap(([at, run]) => (at <= lastMs && !others.has(at) ? [run] : []))
  const overlapsOf = (runs: ReadonlyMap<number, Occurrence>): number =>
    countOverlaps(
      [...runs.keys()].filter((at) => at <= lastMs),
      durationMs,
    )
  return {
    added: only(fresh, old),
    removed: only(old, fresh),
    overlaps: { before: overlapsOf(old), after: overlapsOf(fresh) },
    kept: [...fresh.keys()].filter((at) => at <= lastMs && old.has(at)).length,
    until: Temporal.Instant.fromEpochMilliseconds(lastMs),
  }
}

/** How many of sorted starts come before the run in front of them has ended, each of which takes `durationMs`. */
const countOverlaps = (starts: readonly number[], durationMs: number): number =>
  starts.filter((at, index) => at < (starts[index - 1] ?? -Infinity) + durationMs).length

interface Runs {
  readonly runs: Map<number, Occurrence>
  readonly seenUntilMs: number
}

function runsOf(schedule: FullSchedule | null, from: Temporal.Instant, untilMs: number, options: DecideOptions): Runs {
  if (schedule === null) return { runs: new Map(), seenUntilMs: Infinity }
  const compiled = compileSchedule(anchorSchedule(schedule, from), nativeZones, options)
  const fromMs = from.epochMilliseconds
  // A start after `until` may have been rolled back from beyond it, and one before `from` is no longer to come.
  const last = Temporal.Instant.fromEpochMilliseconds(untilMs + compiled.leadMs)
  const found: Occurrence[] = []
  let looked = 0
  let seenUntilMs = Infinity
  for (const occurrence of occurrencesBetween(compiled, from, last, lookedAtMax)) {
    const { effectiveAt, nominalAt, skipped } = occurrence
    if (++looked === lookedAtMax) seenUntilMs = nominalAt.epochMilliseconds - compiled.leadMs
    const at = effectiveAt.epochMilliseconds
    if (skipped === undefined && at > fromMs && at <= untilMs) found.push(occurrence)
  }
  found.sort((a, b) => Temporal.Instant.compare(a.effectiveAt, b.effectiveAt))
  return { runs: new Map(found.map((run) => [run.effectiveAt.epochMilliseconds, run])), seenUntilMs }
}
