import type { PingKind } from './record.ts'

/** What became of an instant at which the old system should have run, or of a run that nobody expected. */
export const matchOutcomes = ['matched', 'late', 'missing', 'unexpected', 'waiting'] as const
export type MatchOutcome = (typeof matchOutcomes)[number]

export interface Match {
  expectedAtMs: number | null
  pingAtMs: number | null
  outcome: MatchOutcome
  /** The run it tells of failed. */
  hasFailed: boolean
}

export interface MatchRules {
  /** How much the clocks of the two may differ. */
  earlyMs: number
  /** A ping is late after so much. */
  lateMs: number
  /** And given up for missing after so much. */
  graceMs: number
  nowMs: number
}

interface Signal {
  atMs: number
  hasFailed: boolean
}

export interface PingAt {
  atMs: number
  kind: PingKind
}

/**
 * Holds what was expected against what the old system told. Both are in order. Each ping that begins a run (a start, or
 * an end without one) belongs to at most one instant: the earliest that still waits for one, so that a late run is not
 * taken for the next one unless that is nearer.
 */
export function matchPings(expected: readonly number[], pings: readonly PingAt[], rules: MatchRules): Match[] {
  const { earlyMs, lateMs, graceMs, nowMs } = rules
  const matches: Match[] = []
  let next = 0
  const giveUp = (at: number, outcome: MatchOutcome): void =>
    void matches.push({ expectedAtMs: at, pingAtMs: null, outcome, hasFailed: false })
  for (const { atMs, hasFailed } of toSignals(pings)) {
    // What can't be this ping's any more, and what a later instant has a better claim to.
    for (let at = expected[next]; at !== undefined; at = expected[next]) {
      const following = expected[next + 1]
      const isOver = atMs > at + graceMs
      const isNearer =
        following !== undefined && Math.abs(following - atMs) < Math.abs(atMs - at) && atMs >= following - earlyMs
      if (!isOver && !isNearer) break
      giveUp(at, 'missing')
      next++
    }
    const at = expected[next]
    if (at !== undefined && atMs >= at - earlyMs) {
      matches.push({ expectedAtMs: at, pingAtMs: atMs, outcome: atMs - at > lateMs ? 'late' : 'matched', hasFailed })
      next++
    } else matches.push({ expectedAtMs: null, pingAtMs: atMs, outcome: 'unexpected', hasFailed })
  }
  for (; next < expected.length; next++) {
    const at = expected[next] ?? 0
    giveUp(at, nowMs > at + graceMs ? 'missing' : 'waiting')
  }
  return matches.sort((a, b) => timeOf(a) - timeOf(b))
}

/** Where it stands in time. */
export const timeOf = ({ expectedAtMs, pingAtMs }: Match): number => expectedAtMs ?? pingAtMs ?? 0

/** One signal for each run: its start, or its end when no start came before; a failure belongs to the run it ends. */
function toSignals(pings: readonly PingAt[]): Signal[] {
  const signals: Signal[] = []
  let open: Signal | null = null
  for (const { atMs, kind } of pings) {
    if (kind === 'start') {
      open = { atMs, hasFailed: false }
      signals.push(open)
    } else if (open === null) signals.push({ atMs, hasFailed: kind === 'fail' })
    else {
      open.hasFailed = kind === 'fail'
      open = null
    }
  }
  return signals
}
