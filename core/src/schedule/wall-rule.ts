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
}

/** An instant, and the wall-clock time that asked for it (another than its own only in a gap). */
export interface Hit {
  readonly at: number
  readonly wall: number
}

// The rarest date there is, 29 February on a given weekday, comes at least every 40 years; a rule that a
// gap swallows each time would otherwise be searched for ever.
const horizonMs = 50 * 366 * 86_400_000

/** The first instant of a rule strictly after `afterMs`; `undefined` when it has none within 50 years. */
export function nextHit({ rule, zone, clock }: ZonedRule, afterMs: number): Hit | undefined {
  let span = zone.spanAt(afterMs)
  for (;;) {
    let best: Hit | undefined
    for (const window of windowsOf(zone, span, clock)) {
      const passed = afterMs < window.earliest ? -Infinity : afterMs + window.offset
      const wall = rule.next(Math.max(window.from - 1, passed))
      const at = Math.max(wall - window.offset, window.earliest)
      if (wall < window.until && (best === undefined || at < best.at)) best = { at, wall }
    }
    if (best !== undefined) return best
    if (span.until > afterMs + horizonMs) return undefined
    span = zone.spanAt(span.until)
  }
}

/** The wall-clock times of a rule in [from, until), at most `limit`. */
export function wallTimesIn(rule: WallRule, from: number, until: number, limit: number): number[] {
  const times: number[] = []
  for (let wall = rule.next(from - 1); wall < until && times.length < limit; wall = rule.next(wall)) times.push(wall)
  return times
}
