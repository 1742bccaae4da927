import { dayMs } from './civil.ts'
import { compileTimes } from './compile.ts'
import type { FullSchedule } from './full-schedule.ts'
import type { ZoneDatabase } from './zone.ts'

/** What another version of the time zone data does to the future instants of a schedule. */
export interface MovedSchedule {
  /** Instants that it has now and would not have. */
  readonly removed: number
  readonly added: number
  /** The first instant at which the two differ: of the present data, or of the other. */
  readonly firstMs: number
}

export interface CompareOptions {
  readonly now: ZoneDatabase
  readonly next: ZoneDatabase
  readonly fromMs: number
  readonly days: number
  readonly seed?: string
}

const instantsMax = 100_000

/**
 * Compares the instants of a schedule in the `days` after `fromMs` under two versions of the time zone data; undefined when
 * they are the same. Compared are 100,000 of each at most. Throws `RangeError` for a zone that one of them lacks.
 */
export function compareZones(schedule: FullSchedule, options: CompareOptions): MovedSchedule | undefined {
  const { now, next, fromMs, days, seed } = options
  const untilMs = fromMs + days * dayMs
  const [old, fresh] = [now, next].map((zones) => compileTimes(schedule, zones, seed).next)
  if (!old || !fresh) return undefined
  let [removed, added, firstMs] = [0, 0, Number.POSITIVE_INFINITY]
  let [one, other] = [old(fromMs)?.at ?? Infinity, fresh(fromMs)?.at ?? Infinity]
  for (let looked = 0; looked < instantsMax && Math.min(one, other) <= untilMs; looked++) {
    if (one !== other) firstMs = Math.min(firstMs, one, other)
    const earliest = Math.min(one, other)
    if (one !== other && one === earliest) removed++
    if (one !== other && other === earliest) added++
    if (one === earliest) one = old(one)?.at ?? Infinity
    if (other === earliest) other = fresh(other)?.at ?? Infinity
  }
  return removed + added === 0 ? undefined : { removed, added, firstMs }
}
