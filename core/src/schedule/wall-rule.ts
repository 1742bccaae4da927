import { type ClockRule, windowsOf, type Zone } from './zone.ts'

/** A rule that knows wall-clock times only. Whatever can answer this gets zone, gap and fold for free. */
export interface WallRule {
  /** The first wall-clock time after another one, `Infinity` when there is none. */
  next(afterWall: number): number
}

export interface ZonedRule {
  readonly rule: WallRule
  readonly zone: Zone
  readonly clock: ClockRule
  /** It runs in every hour, through clock changes too, so nobody notices them. */
  readonly isHourly?: boolean
}

/** An instant, and the wall-clock time that asked for it (another than its own only in a gap). */
export interface Hit {
  readonly at: number
  readonly wall: number
  /** The rule that it comes from; what is in exact time has none. */
  readonly from?: ZonedRule
}

/** The end of the calendar: four-digit years, on the wire and in every database driver. */
export const lastMs = Date.UTC(10_000, 0, 1) - 1

// Spans looked into before a rule is given up: each of its times has fallen into a gap for some 50 years.
const spansMax = 100
const reachMs = 36 * 3_600_000

/** The first instant of a rule strictly after `afterMs`; `undefined` when gaps swallow all that it asks for. */
export function nextHit(zoned: ZonedRule, afterMs: number): Hit | undefined {
  const { rule, zone, clock } = zoned
  let span = zone.spanAt(afterMs)
  for (let count = 0; count < spansMax; count++) {
    let best: Hit | undefined
    let upcoming = Infinity
    for (const window of windowsOf(zone, span, clock)) {
      const passed = afterMs < window.earliest ? -Infinity : afterMs + window.offset
      const wall = rule.next(Math.max(window.from - 1, passed))
      const at = Math.max(wall - window.offset, window.earliest)
      if (wall >= window.until) upcoming = Math.min(upcoming, wall - window.offset)
      else if (best === undefined || at < best.at) best = { at, wall, from: zoned }
    }
    if (best !== undefined) return best
    // Only a span seen from its start has shown that the hour repeated at its end holds nothing for the next.
    const seenWhole = afterMs < span.from
    if (span.until === Infinity || (seenWhole && upcoming === Infinity)) return undefined
    span = zone.spanAt(seenWhole ? Math.max(span.until, upcoming - reachMs) : span.until)
  }
  return undefined
}

/** The wall-clock times of a rule in [from, until), at most `limit`. */
export function wallTimesIn(rule: WallRule, from: number, until: number, limit: number): number[] {
  const times: number[] = []
  for (let wall = rule.next(from - 1); wall < until && times.length < limit; wall = rule.next(wall)) times.push(wall)
  return times
}
