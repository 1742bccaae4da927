import type { CompiledSchedule } from '../schedule/occurrences.ts'

/** How catch-up rules are written in `schedules`. */
export const catchUpCodes = { one: 0, skip: 1, all: 2 } as const
export type CatchUpRule = keyof typeof catchUpCodes
export const catchUpRules = Object.keys(catchUpCodes) as [CatchUpRule, ...CatchUpRule[]]

/** What a schedule's instants are decided by. */
export interface InstantRules {
  /** The first instant that is not decided. */
  nextAtMs: number
  /** What starts at most so late runs normally. */
  graceMs: number
  catchUp: number
  /** Under the rule `all`: how many late ones run at most, and how late they may be. */
  catchUpMax: number
  catchUpWindowMs: number | null
  /** Runs that are left of those it may have; null: no end. */
  runsLeft: number | null
  /** Why none of its instants runs; null: the other rules decide. */
  reason: string | null
}

/** A row of the ledger that is there already. */
export interface KnownRow {
  untilMs: number
  /** It waits to be decided, as a person wants it when they moved it. */
  isOpen: boolean
  movedToMs: number | null
}

/** What becomes of one instant, or of several in a row that come to the same. */
export interface Decision {
  nominalAtMs: number
  /** The last of several. */
  untilMs: number
  count: number
  /** `pending`: it has a run, and its overlap rule decides when that is due. */
  outcome: 'pending' | 'missed' | 'skipped'
  reason: string | null
  caughtUp: boolean
  dueAtMs: number
}

export interface Decided {
  decisions: Decision[]
  /** The first instant that was not decided; null when the schedule has none left. */
  nextAtMs: number | null
}

export interface DecideLimits {
  /** By nominal instant. */
  known?: ReadonlyMap<number, KnownRow> | undefined
  mayGoOn?: (decided: number) => boolean
}

/** Time between the starts of runs that make up for late instants under the rule `all`. */
export const catchUpPaceMs = 100

const missed = { outcome: 'missed', reason: 'catch-up', caughtUp: false } as const

/**
 * The instants of a schedule from `nextAtMs` up to `untilMs`, each with its fate. What starts at most `graceMs` late runs
 * normally; of older ones the catch-up rule keeps the last (`one`), none (`skip`) or the last few (`all`, oldest first, at
 * a paced rate), marked as caught up, and the others are missed. What a calendar or blackout forbids is skipped, and so
 * is the one after the last run that the schedule may have, which ends it. Pure. Goes on while `mayGoOn` lets it, but
 * decides one at least.
 */
export function decideInstants(
  plan: Pick<CompiledSchedule, 'next' | 'decide'>,
  rules: InstantRules,
  clock: { nowMs: number; untilMs: number },
  { known = new Map(), mayGoOn = () => true }: DecideLimits = {},
): Decided {
  const { nowMs, untilMs } = clock
  const keepMax = rules.catchUp === catchUpCodes.all ? rules.catchUpMax : rules.catchUp === catchUpCodes.one ? 1 : 0
  const windowMs = rules.catchUp === catchUpCodes.all ? (rules.catchUpWindowMs ?? Infinity) : Infinity
  const list = new DecisionList(nowMs)
  /** Late ones that run unless later ones take their places. */
  const kept: Decision[] = []
  let instant: number | null = rules.nextAtMs
  while (instant !== null && instant <= untilMs) {
    if ((list.rows.length > 0 || kept.length === 0) && list.size > 0 && !mayGoOn(list.size)) break
    const row = known.get(instant)
    if (row !== undefined && !row.isOpen) {
      list.close()
      instant = plan.next(Math.max(row.untilMs, instant))?.at ?? null
      continue
    }
    const fate = decideOne(plan, rules, { instant, row })
    const lateMs = nowMs - fate.dueAtMs
    if (fate.outcome !== 'pending' || lateMs <= rules.graceMs) list.add(fate, row !== undefined)
    else if (lateMs > windowMs || keepMax === 0) list.add({ ...fate, ...missed }, row !== undefined)
    else {
      kept.push(list.hold({ ...fate, caughtUp: true }, row !== undefined))
      if (kept.length > keepMax) Object.assign(kept.shift() ?? {}, missed)
      if (kept[0] !== undefined) list.settleBefore(kept[0])
    }
    instant = plan.next(instant)?.at ?? null
  }
  const [first] = kept
  // Cut short among late ones, which of them run depends on those that were not reached.
  if (first !== undefined && instant !== null && instant <= untilMs && nowMs - instant > rules.graceMs)
    return endAfterLastRun(list.rows, first.nominalAtMs, rules.runsLeft)
  if (rules.catchUp === catchUpCodes.all)
    for (const [index, each] of kept.entries()) each.dueAtMs = nowMs + index * catchUpPaceMs
  return endAfterLastRun(list.all(), instant, rules.runsLeft)
}

/** The fate of one instant by itself, however late it is. */
function decideOne(
  plan: Pick<CompiledSchedule, 'decide'>,
  { reason }: InstantRules,
  { instant, row }: { instant: number; row: KnownRow | undefined },
): Decision {
  const one = { nominalAtMs: instant, untilMs: instant, count: 1, caughtUp: false }
  if (reason !== null) return { ...one, outcome: 'skipped', reason, dueAtMs: instant }
  if (typeof row?.movedToMs === 'number') return { ...one, outcome: 'pending', reason: null, dueAtMs: row.movedToMs }
  const { effectiveMs, skipped = null } = plan.decide({ at: instant, wall: instant })
  return { ...one, outcome: skipped === null ? 'pending' : 'skipped', reason: skipped, dueAtMs: effectiveMs }
}

/** The first instant past the last run says that the schedule is over. */
function endAfterLastRun(decisions: Decision[], nextAtMs: number | null, runsLeft: number | null): Decided {
  if (runsLeft === null) return { decisions, nextAtMs }
  const within: Decision[] = []
  let left = runsLeft
  for (const decision of decisions) {
    if (left === 0) {
      const { nominalAtMs } = decision
      within.push({
        ...decision,
        untilMs: nominalAtMs,
        count: 1,
        outcome: 'skipped',
        reason: 'max-runs',
        caughtUp: false,
      })
      return { decisions: within, nextAtMs: null }
    }
    if (decision.outcome === 'pending') left--
    within.push(decision)
  }
  if (left > 0 || nextAtMs === null) return { decisions: within, nextAtMs }
  const last = { nominalAtMs: nextAtMs, untilMs: nextAtMs, dueAtMs: nextAtMs, count: 1, caughtUp: false }
  return { decisions: [...within, { ...last, outcome: 'skipped', reason: 'max-runs' }], nextAtMs: null }
}

/** Decisions in order. Neighbours that come to the same are one row, once their instants have passed. */
class DecisionList {
  /** What stays as it is. */
  readonly rows: Decision[] = []
  /** From the first one on that may yet come to something else. */
  readonly #open: Decision[] = []
  readonly #nowMs: number
  /** Those that begin a row of their own: the ledger holds something before them, or in their place. */
  readonly #starts = new Set<Decision>()
  #isClosed = false

  /** How many there are, settled or not. */
  get size(): number {
    return this.rows.length + this.#open.length
  }

  constructor(nowMs: number) {
    this.#nowMs = nowMs
  }

  add(decision: Decision, standsAlone: boolean): void {
    this.#mark(decision, standsAlone)
    this.#append(this.#open.length > 0 ? this.#open : this.rows, decision)
  }

  hold(decision: Decision, standsAlone: boolean): Decision {
    this.#mark(decision, standsAlone)
    this.#open.push(decision)
    return decision
  }

  /** What was held before that one has its fate now. */
  settleBefore(next: Decision): void {
    for (const each of this.#open.splice(0, this.#open.indexOf(next))) this.#append(this.rows, each)
  }

  /** What follows does not join what came before. */
  close(): void {
    this.#isClosed = true
  }

  all(): Decision[] {
    for (const decision of this.#open.splice(0)) this.#append(this.rows, decision)
    return this.rows
  }

  #mark(decision: Decision, standsAlone: boolean): void {
    if (this.#isClosed || standsAlone) this.#starts.add(decision)
    this.#isClosed = standsAlone
  }

  #append(rows: Decision[], decision: Decision): void {
    const last = rows.at(-1)
    const joins =
      last !== undefined &&
      decision.outcome !== 'pending' &&
      last.outcome === decision.outcome &&
      last.reason === decision.reason &&
      last.untilMs <= this.#nowMs &&
      decision.untilMs <= this.#nowMs &&
      !this.#starts.has(decision)
    if (!joins) return void rows.push(decision)
    last.untilMs = decision.untilMs
    last.count += decision.count
  }
}
