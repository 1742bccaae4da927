import { dayMs } from './civil.ts'
import { type CompiledSchedule, compileSchedule } from './compile.ts'
import { parseCron } from './cron.ts'
import { hasHash, resolveHash } from './cron-hash.ts'
import {
  afterBlackouts,
  type Blackout,
  type DecideOptions,
  jitterDelayMs,
  sortBlackouts,
  windowDelayMs,
} from './decide.ts'
import { type FullSchedule, spreadMs } from './extras.ts'
import { nativeZones } from './zone.ts'

/** One job whose schedule is looked at together with others. */
export interface JobTiming {
  /** As it is kept: with its anchor. */
  readonly schedule: FullSchedule
  /** What makes the job's own spread, such as its id. */
  readonly seed?: string
  readonly ledger?: Ledger | undefined
  /** Runs that its `maxRuns` still allows it; without it, all of them. */
  readonly runsLeft?: number | undefined
}

/** What is decided already of the instants of a schedule. */
export interface Ledger {
  /** Everything before it is. */
  readonly beforeMs: number
  /** Instants from there on that are, too: a person skipped or moved them. */
  readonly nominalMs: readonly number[]
  /** When what was decided starts. */
  readonly startsMs: readonly number[]
  /** When those start that a person moved: no calendar and no blackout holds for them. */
  readonly movedMs: readonly number[]
}

/** The starts of some jobs, which are the same for all of them: sorted, in epoch milliseconds. */
export interface Starts {
  readonly jobs: readonly number[]
  readonly atMs: readonly number[]
}

export type Failure = { readonly jobs: readonly number[]; readonly reason: string }

export interface ExpandOptions extends Pick<DecideOptions, 'calendars' | 'blackouts'> {
  readonly fromMs: number
  /** Exclusive. */
  readonly untilMs: number
  /** Occurrences that are looked at before the rest is given up (default: a month of every second). */
  readonly lookedAtMax?: number
}

const lookedAtDefault = 3_000_000
/** Occurrences between two steps. */
const stepSize = 1_000
/** How long before the window an occurrence can be that a calendar moves into it. */
const rolledMs = 31 * dayMs

/** One step of an expansion: something found, or nothing yet. */
export type Step = { readonly starts: Starts } | { readonly failure: Failure } | undefined

/**
 * The starts of many jobs in [from, until), in steps short enough to do something else between them. Equal schedules are
 * computed once, whatever their jobs' seeds: a window or jitter is put on afterwards, and an `H` makes as many schedules
 * as it has values.
 */
export function* expandSchedules(jobs: readonly JobTiming[], options: ExpandOptions): Generator<Step, void, undefined> {
  const blackouts = sortBlackouts(options.blackouts ?? [])
  const budget = { left: options.lookedAtMax ?? lookedAtDefault }
  yield* decidedStarts(jobs, options)
  for (const group of groupJobs(jobs).values()) {
    try {
      yield* expandGroup(jobs, group, { ...options, blackouts, budget })
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      yield { failure: { jobs: group, reason: error.message } }
    }
  }
}

function* decidedStarts(
  jobs: readonly JobTiming[],
  { fromMs, untilMs }: ExpandOptions,
): Generator<Step, void, undefined> {
  for (const [index, { ledger }] of jobs.entries()) {
    if (ledger === undefined) continue
    const atMs = [...ledger.startsMs, ...ledger.movedMs]
      .filter((at) => at >= fromMs && at < untilMs)
      .sort((a, b) => a - b)
    if (atMs.length > 0) yield { starts: { jobs: [index], atMs } }
  }
}

function groupJobs(jobs: readonly JobTiming[]): Map<string, number[]> {
  const groups = new Map<string, number[]>()
  const texts = new Map<FullSchedule, string>()
  const resolver = hashResolver()
  for (const [index, { schedule, seed = '', ledger, runsLeft }] of jobs.entries()) {
    const text = texts.get(schedule) ?? JSON.stringify(schedule)
    texts.set(schedule, text)
    const rest =
      ledger || runsLeft !== undefined ? [ledger?.beforeMs, runsLeft, ...(ledger?.nominalMs ?? [])].join() : ''
    const key = text + resolver(schedule, seed) + rest
    const group = groups.get(key)
    if (group) group.push(index)
    else groups.set(key, [index])
  }
  return groups
}

/** What tells the values of `H` apart that a schedule has for a seed; nothing for one without `H`. */
function hashResolver(): (schedule: FullSchedule, seed: string) => string {
  const known = new Map<string, ReturnType<typeof parseCron>>()
  return (schedule, seed) => {
    if (schedule.type !== 'cron' || !/H/i.test(schedule.cron) || (schedule.dialect ?? 'vixie') !== 'vixie') return ''
    const parsed = known.get(schedule.cron) ?? parseCron(schedule.cron, { hasHash: true })
    known.set(schedule.cron, parsed)
    return parsed.ok && hasHash(parsed.cron) ? JSON.stringify(resolveHash(parsed.cron, seed).fields) : ''
  }
}

interface GroupOptions extends ExpandOptions {
  readonly blackouts: readonly Blackout[]
  readonly budget: { left: number }
}

interface Placed {
  readonly nominalMs: number
  readonly placedMs: number
  readonly roomMs: number
  /** It uses up one of the runs that are left. */
  readonly isCounted: boolean
}

function* expandGroup(
  jobs: readonly JobTiming[],
  group: readonly number[],
  options: GroupOptions,
): Generator<Step, void, undefined> {
  const [first = 0] = group
  const job = jobs[first]
  if (!job) return
  const seed = job.seed === undefined ? {} : { seed: job.seed }
  const { calendars } = options
  const compiled = compileSchedule(job.schedule, nativeZones, { ...seed, ...(calendars ? { calendars } : {}) })
  const [jitterMs, windowMs] = [spreadMs(job.schedule.jitter), spreadMs(job.schedule.window)]
  const runsLeft = job.runsLeft ?? compiled.runsLeft
  const rest = { runsLeft, ledger: job.ledger, delayMs: Math.max(jitterMs, windowMs) }
  const placed = yield* placedBetween(compiled, options, rest)
  const startsWith = (delayOf: (one: Placed) => number): number[] => {
    const atMs: number[] = []
    let runs = 0
    for (const one of placed) {
      const { effectiveMs, skipped } = afterBlackouts(options.blackouts, one.placedMs + delayOf(one))
      if (skipped) continue
      if (one.isCounted && ++runs > runsLeft) break
      if (effectiveMs >= options.fromMs && effectiveMs < options.untilMs) atMs.push(effectiveMs)
    }
    return atMs.sort((a, b) => a - b)
  }
  if (jitterMs === 0 && windowMs === 0) {
    yield { starts: { jobs: group, atMs: startsWith(() => 0) } }
    return
  }
  for (const index of group) {
    const own = jobs[index]?.seed ?? ''
    const windowDelay = windowDelayMs(windowMs, own)
    const delayOf = ({ nominalMs, roomMs }: Placed): number =>
      jitterMs > 0 ? jitterDelayMs(jitterMs, own, { at: nominalMs, roomMs }) : windowDelay
    yield { starts: { jobs: [index], atMs: startsWith(delayOf) } }
  }
}

/** What is left to a schedule beside what its ledger holds. */
interface Rest {
  readonly runsLeft: number
  readonly ledger: Ledger | undefined
  /** The longest that jitter or a window holds a start back. */
  readonly delayMs: number
}

function* placedBetween(
  compiled: CompiledSchedule,
  { fromMs, untilMs, blackouts, budget }: GroupOptions,
  { runsLeft, ledger, delayMs }: Rest,
): Generator<undefined, Placed[], undefined> {
  const isRolled = compiled.schedule.roll !== undefined && compiled.schedule.roll !== 'skip'
  const blackoutMs = Math.max(0, ...blackouts.map((blackout) => blackout.untilMs - blackout.fromMs))
  const earliestMs = fromMs - delayMs - blackoutMs - (isRolled ? rolledMs : 0)
  const countedFromMs = ledger?.beforeMs ?? fromMs
  const decided = new Set(ledger?.nominalMs)
  const mayBeSkipped = (at: number): boolean =>
    blackouts.some((blackout) => blackout.fromMs <= at + delayMs && blackout.untilMs > at)
  const placed: Placed[] = []
  // What lies before the window is only looked at where it uses up runs.
  const decidedBeforeMs = ledger?.beforeMs ?? earliestMs
  const beginMs = runsLeft === Infinity ? Math.max(decidedBeforeMs, earliestMs) : decidedBeforeMs
  let hit = compiled.next(beginMs - 1)
  for (let runs = 0; hit !== undefined && hit.at < untilMs + compiled.leadMs && runs < runsLeft; ) {
    const following = compiled.next(hit.at)
    const { effectiveMs, skipped } = compiled.place(hit)
    if (!skipped && !decided.has(hit.at)) {
      const isCounted = hit.at >= countedFromMs
      placed.push({ nominalMs: hit.at, placedMs: effectiveMs, roomMs: (following?.at ?? Infinity) - hit.at, isCounted })
      // What a blackout may skip is counted when it is known whether it does.
      if (isCounted && !mayBeSkipped(effectiveMs)) runs++
    }
    if (--budget.left < 0) throw new RangeError('It has too many occurrences to look at')
    if (budget.left % stepSize === 0) yield
    hit = following
  }
  return placed
}
