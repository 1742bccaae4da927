import { dayMs, dayOfWall } from './civil.ts'
import { nextEvery } from './every.ts'
import { recurrenceRule } from './rrule.ts'
import type { RecurrenceSet } from './rrule-set.ts'
import { isSubDaily, type RecurrenceRule, type Until } from './rrule-text.ts'
import { type Hit, lastMs, nextHit, type WallRule, type ZonedRule } from './wall-rule.ts'
import { type ClockRule, defaultClockRule, realTimeRule, wallToInstants, type Zone } from './zone.ts'

/** Whatever gives instants in order: the first one strictly after `afterMs`. */
type NextHit = (afterMs: number) => Hit | undefined

export interface CompiledRecurrence {
  readonly rules: readonly ZonedRule[]
  readonly next: NextHit
}

/**
 * The instants of a recurrence set: those of each rule under the clock rule and the single ones, less the excluded. A
 * rule finer than a day follows real time: as a plain interval it is exact time, otherwise every time that exists. Throws `RangeError` when it has a rule but no DTSTART.
 */
export function compileRecurrence(set: RecurrenceSet, zone: Zone, clock: ClockRule): CompiledRecurrence {
  const startWall = set.dtstart && toWall(set.dtstart, zone)
  const startMs = set.dtstart?.kind === 'instant' ? set.dtstart.instantMs : -Infinity
  const rules = set.rules.map((rule) => {
    if (startWall === undefined) throw new RangeError('A recurrence rule needs a start')
    const [anchorMs = startMs] = startMs > -Infinity ? [] : wallToInstants(zone, startWall, defaultClockRule)
    if (isPureInterval(rule)) return { next: endedRule(rule, intervalHits(rule, zone, anchorMs), anchorMs) }
    const isFine = isSubDaily(rule)
    const isHourly = isFine && rule.by.BYHOUR.length === 0 && rule.interval * unitMs[rule.frequency] <= 3_600_000
    const zoned = { rule: recurrenceRule(rule, startWall), zone, clock: isFine ? realTimeRule : clock, isHourly }
    const next: NextHit = (afterMs) => nextHit(zoned, afterMs)
    return { zoned, next: endedRule(rule, next, Math.max(startMs, startWall - reachMs)) }
  })
  const dates = singleTimes(set, zone, clock, (startWall ?? 0) - dayOfWall(startWall ?? 0) * dayMs)
  const sources = [...rules.map(({ next }) => next), ...dates.sources]
  return {
    rules: [...rules.flatMap(({ zoned }) => zoned ?? []), ...dates.rules],
    next: withoutExcluded(set.exdates, zone, (afterMs) => earliest(sources, afterMs)),
  }
}

const reachMs = 2 * dayMs

/** The wall clock at a start, in whole seconds as RFC 5545 has them; a date starts at midnight. */
export function toWall(time: Until, zone: Zone): number {
  if (time.kind === 'date') return time.day * dayMs
  const wall = time.kind === 'wall' ? time.wall : time.instantMs + zone.spanAt(time.instantMs).offset
  return Math.floor(wall / 1000) * 1000
}

function earliest(sources: readonly NextHit[], afterMs: number): Hit | undefined {
  let best: Hit | undefined
  for (const next of sources) {
    const hit = next(afterMs)
    if (hit !== undefined && (best === undefined || hit.at < best.at)) best = hit
  }
  return best
}

/** True for an interval of hours, minutes or seconds that nothing else limits: it counts exact time, as `PT6H` does. */
export function isPureInterval(rule: RecurrenceRule): boolean {
  return isSubDaily(rule) && rule.byDay.length === 0 && Object.values(rule.by).every((values) => values.length === 0)
}

/** The length of one interval; 0 for those that have none in exact time. */
export const unitMs = {
  HOURLY: 3_600_000,
  MINUTELY: 60_000,
  SECONDLY: 1_000,
  DAILY: 0,
  WEEKLY: 0,
  MONTHLY: 0,
  YEARLY: 0,
}

function intervalHits({ frequency, interval }: RecurrenceRule, zone: Zone, anchorMs: number): NextHit {
  return (afterMs) => {
    const at = nextEvery(anchorMs, interval * unitMs[frequency], afterMs)
    return at > lastMs ? undefined : { at, wall: at + zone.spanAt(at).offset }
  }
}

// COUNT has ended by then, whatever it says.
const countedMsMax = 150 * 366 * dayMs

/**
 * A rule with its UNTIL, or with its COUNT: that counts instants, so a time in a gap that is skipped is none. It is
 * counted no further than it is asked.
 */
function endedRule({ until, count }: RecurrenceRule, next: NextHit, startMs: number): NextHit {
  let counted = 0
  let countedAt = startMs - 1
  const isCounted = (at: number, max: number): boolean => {
    for (; counted < max && countedAt < at; counted++) countedAt = next(countedAt)?.at ?? Infinity
    return at <= countedAt
  }
  return (afterMs) => {
    const hit = next(Math.max(afterMs, startMs - 1))
    if (hit === undefined || isPast(hit, until)) return undefined
    if (count === undefined) return hit
    return hit.at - startMs < countedMsMax && isCounted(hit.at, count) ? hit : undefined
  }
}

function isPast(hit: Hit, until: Until | undefined): boolean {
  if (until === undefined) return false
  if (until.kind === 'instant') return hit.at > until.instantMs
  return until.kind === 'wall' ? hit.wall > until.wall : dayOfWall(hit.wall) > until.day
}

/** RDATE: wall-clock times and dates (at the time of day of DTSTART) under the clock rule, instants as they are. */
function singleTimes({ rdates }: RecurrenceSet, zone: Zone, clock: ClockRule, timeOfDayMs: number) {
  const walls = rdates.flatMap((date) =>
    date.kind === 'instant' ? [] : [date.kind === 'wall' ? date.wall : date.day * dayMs + timeOfDayMs],
  )
  const instants = sorted(rdates.flatMap((date) => (date.kind === 'instant' ? [date.instantMs] : [])))
  const zoned = { rule: listRule(sorted(walls)), zone, clock }
  const nextInstant: NextHit = (afterMs) => {
    const at = instants.find((instant) => instant > afterMs)
    return at === undefined ? undefined : { at, wall: at + zone.spanAt(at).offset }
  }
  return {
    rules: walls.length > 0 ? [zoned] : [],
    sources: [
      ...(walls.length > 0 ? [(afterMs: number) => nextHit(zoned, afterMs)] : []),
      ...(instants.length > 0 ? [nextInstant] : []),
    ],
  }
}

const sorted = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b)

const listRule = (walls: readonly number[]): WallRule => ({
  next: (afterWall) => walls.find((wall) => wall > afterWall) ?? Infinity,
})

function withoutExcluded(exdates: readonly Until[], zone: Zone, next: NextHit): NextHit {
  if (exdates.length === 0) return next
  const instants = new Set<number>()
  const walls = new Set<number>()
  const days = new Set<number>()
  for (const date of exdates)
    if (date.kind === 'instant') instants.add(date.instantMs)
    else if (date.kind === 'wall') walls.add(date.wall)
    else days.add(date.day)
  return (afterMs) => {
    for (let hit = next(afterMs); hit !== undefined; ) {
      const day = dayOfWall(hit.wall)
      if (days.has(day)) {
        const [dayEnd = hit.at] = wallToInstants(zone, (day + 1) * dayMs, { gap: 'next', fold: 'first' })
        hit = next(Math.max(hit.at, dayEnd - 1))
      } else if (walls.has(hit.wall) || instants.has(hit.at)) hit = next(hit.at)
      else return hit
    }
    return undefined
  }
}
