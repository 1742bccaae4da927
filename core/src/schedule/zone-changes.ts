import { runThrough } from '../kernel/steps.ts'
import { dayMs } from './civil.ts'
import { compileTimes } from './compile.ts'
import type { FullSchedule } from './full-schedule.ts'
import type { Zone, ZoneDatabase } from './zone.ts'

/** What another version of the time zone data does to the future instants of a schedule. */
export interface MovedSchedule {
  /** Instants that it has now and would not have. */
  readonly removed: number
  readonly added: number
  /** The first instant at which the two differ: of the present data, or of the other. */
  readonly firstMs: number
  /** The first of those that it would lose, and of those that it would get. */
  readonly beforeMs: readonly number[]
  readonly afterMs: readonly number[]
}

export interface CompareOptions {
  readonly now: ZoneDatabase
  readonly next: ZoneDatabase
  readonly fromMs: number
  readonly days: number
  readonly seed?: string
}

const instantsMax = 100_000
const namedMax = 3
const stepSize = 500

/**
 * Compares the instants of a schedule in the `days` after `fromMs` under two versions of the time zone data; undefined when
 * they are the same. Compared are 100,000 of each at most. Throws `RangeError` for a zone that one of them lacks.
 */
export const compareZones = (schedule: FullSchedule, options: CompareOptions): MovedSchedule | undefined =>
  runThrough(compareZonesSteps(schedule, options))

/** The same, a few hundred instants a step. */
export function* compareZonesSteps(
  schedule: FullSchedule,
  { now, next, fromMs, days, seed }: CompareOptions,
): Generator<undefined, MovedSchedule | undefined, undefined> {
  const untilMs = fromMs + days * dayMs
  const [old, fresh] = [now, next].map((zones) => compileTimes(schedule, zones, seed))
  if (!old || !fresh) return undefined
  const sinceMs = schedule.type === 'cron' ? fromMs - 2 * dayMs : beginningMs
  if (isSameZone(old.zone, fresh.zone, { fromMs: sinceMs, untilMs })) return undefined
  let [removed, added, firstMs] = [0, 0, Number.POSITIVE_INFINITY]
  const [beforeMs, afterMs]: [number[], number[]] = [[], []]
  let [one, other] = [old.next(fromMs)?.at ?? Infinity, fresh.next(fromMs)?.at ?? Infinity]
  for (let looked = 0; looked < instantsMax && Math.min(one, other) <= untilMs; looked++) {
    if (looked % stepSize === 0) yield
    const earliest = Math.min(one, other)
    if (one !== other) {
      firstMs = Math.min(firstMs, earliest)
      if (one === earliest && removed++ < namedMax) beforeMs.push(one)
      if (other === earliest && added++ < namedMax) afterMs.push(other)
    }
    if (one === earliest) one = old.next(one)?.at ?? Infinity
    if (other === earliest) other = fresh.next(other)?.at ?? Infinity
  }
  return removed + added === 0 ? undefined : { removed, added, firstMs, beforeMs, afterMs }
}

const beginningMs = -8.64e15

/**
 * Whether the two zones have the same offsets wherever the schedule looks at: from the beginning of time for what counts from
 * an anchor in the past, around the compared days for a cron.
 */
function isSameZone(one: Zone, other: Zone, range: { fromMs: number; untilMs: number }): boolean {
  if (one === other) return true
  for (let at = range.fromMs; at < range.untilMs + 2 * dayMs; ) {
    const [left, right] = [one.spanAt(at), other.spanAt(at)]
    if (left.offset !== right.offset) return false
    at = Math.min(left.until, right.until)
  }
  return true
}
