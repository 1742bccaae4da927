import { dayMs } from './civil.ts'
import type { DayCover } from './day-cover.ts'
import { type FullSchedule, type Roll, spreadMs } from './extras.ts'
import { backwardDaysMax, closedSince, combineCovers, isOpenAt, rollWall } from './roll.ts'
import { hash32 } from './spread.ts'
import type { Hit } from './wall-rule.ts'
import { dateWords, durationWords, timeWords } from './words.ts'
import { wallToInstants, type Zone } from './zone.ts'

/** A stretch in which nothing starts; `until` is exclusive. What falls into it is skipped, or waits for its end. */
export interface Blackout {
  readonly name: string
  readonly fromMs: number
  readonly untilMs: number
  readonly roll?: 'skip' | 'next'
}

export interface DecideOptions {
  /** What makes a job's own spread, such as its id: the same seed gives the same offsets and values of `H`, for ever. */
  readonly seed?: string
  /** The calendars that the schedule names. */
  readonly calendars?: Readonly<Record<string, DayCover>>
  readonly blackouts?: readonly Blackout[]
  /** Runs that `maxRuns` counts already. */
  readonly runsSoFar?: number
}

/** What becomes of one nominal instant. */
export interface Decision {
  /** When it starts; the nominal instant when it is skipped. */
  readonly effectiveMs: number
  readonly skipped?: 'calendar' | 'blackout'
  readonly notes: readonly string[]
}

export interface Decider {
  decide(hit: Hit): Decision
  /** What calendars make of it, without jitter, window and blackouts. */
  place(hit: Hit): Place
  /** How long before its nominal instant an occurrence may start: rolling back needs looking ahead. */
  readonly leadMs: number
}

export type Place = Pick<Decision, 'effectiveMs' | 'skipped'> & { readonly note?: string }

/** How long before its nominal instant an occurrence of such a schedule may start. */
export function leadMsOf({ onlyOn = [], notOn = [], roll }: FullSchedule): number {
  const goesBack = onlyOn.length + notOn.length > 0 && (roll === 'previous' || roll === 'modified-following')
  return goesBack ? (backwardDaysMax + 2) * dayMs : 0
}

/**
 * Decides what becomes of the instants of a schedule, in this order: calendars and roll, jitter or window, blackouts.
 * Throws `RangeError` for a calendar that is not given.
 */
export function makeDecider(
  schedule: FullSchedule,
  { zone, next }: { zone: Zone; next(afterMs: number): Hit | undefined },
  { seed = '', calendars = {}, blackouts = [] }: DecideOptions,
): Decider {
  const { onlyOn = [], notOn = [], roll = 'skip' } = schedule
  const named = (name: string): DayCover => {
    const cover = Object.hasOwn(calendars, name) ? calendars[name] : undefined
    if (!cover) throw new RangeError(`There is no calendar "${name}"`)
    return cover
  }
  const cover = onlyOn.length + notOn.length > 0 ? combineCovers(onlyOn.map(named), notOn.map(named)) : undefined
  const sorted = sortBlackouts(blackouts)
  const delay = delayOf(schedule, seed, next)
  const place = (hit: Hit): Place =>
    cover ? placeInCalendar({ zone, next, cover, roll }, hit) : { effectiveMs: hit.at }
  return {
    leadMs: leadMsOf(schedule),
    place,
    decide(hit) {
      const notes: string[] = []
      let effectiveMs = hit.at
      const steps = [place, (_: Hit, at: number) => delay(hit, at), (_: Hit, at: number) => afterBlackouts(sorted, at)]
      for (const step of steps) {
        const result = step(hit, effectiveMs)
        if (result.note !== undefined) notes.push(result.note)
        if (result.skipped) return { effectiveMs: hit.at, skipped: result.skipped, notes }
        effectiveMs = result.effectiveMs
      }
      return { effectiveMs, notes }
    },
  }
}

interface CalendarPlace {
  readonly zone: Zone
  readonly next: (afterMs: number) => Hit | undefined
  readonly cover: DayCover
  readonly roll: Roll
}

function placeInCalendar(place: CalendarPlace, hit: Hit): Place {
  const { zone, cover, roll } = place
  const wall = hit.at + zone.spanAt(hit.at).offset
  if (isOpenAt(cover, wall)) return { effectiveMs: hit.at }
  const moment = `${dateWords(wall)} ${timeWords(wall)}`
  const effectiveMs = rolledInstant(place, wall)
  if (effectiveMs === undefined) {
    const why = roll === 'skip' ? '' : ', and no open time is near'
    return { effectiveMs: hit.at, skipped: 'calendar', note: `calendar: ${moment} is not open${why}, skipped` }
  }
  const target = effectiveMs + zone.spanAt(effectiveMs).offset
  const to = `${dateWords(target)} ${timeWords(target)}`
  if (isTaken(place, hit, effectiveMs))
    return {
      effectiveMs: hit.at,
      skipped: 'calendar',
      note: `calendar: ${moment} is not open, and at ${to} it runs anyway`,
    }
  return { effectiveMs, note: `calendar: ${moment} is not open, runs at ${to}` }
}

function rolledInstant({ zone, cover, roll }: CalendarPlace, wall: number): number | undefined {
  const target = rollWall(cover, wall, roll)
  return target === undefined ? undefined : wallToInstants(zone, target, { gap: 'next', fold: 'first' })[0]
}

const scannedMax = 10_000

/** Whether an occurrence of its own is there, or an earlier one was moved there: equal instants are one. */
function isTaken(place: CalendarPlace, hit: Hit, effectiveMs: number): boolean {
  const { zone, next, cover } = place
  if (next(effectiveMs - 1)?.at === effectiveMs) return true
  const wall = hit.at + zone.spanAt(hit.at).offset
  const [since = hit.at] = wallToInstants(zone, closedSince(cover, wall), { gap: 'next', fold: 'first' })
  let other = next(since - 1)
  for (let scanned = 0; other !== undefined && other.at < hit.at && scanned < scannedMax; scanned++) {
    const otherWall = other.at + zone.spanAt(other.at).offset
    if (!isOpenAt(cover, otherWall) && rolledInstant(place, otherWall) === effectiveMs) return true
    other = next(other.at)
  }
  return false
}

const part = (key: string): number => hash32(key) / 2 ** 32

/** How much later a window lets all occurrences of a job start. */
export function windowDelayMs(windowMs: number, seed: string): number {
  return Math.floor(part(`${seed} window`) * windowMs)
}

/** How much later jitter lets one occurrence start: never past the next one, which is `roomMs` away. */
export function jitterDelayMs(jitterMs: number, seed: string, { at, roomMs }: { at: number; roomMs: number }): number {
  return Math.floor(part(`${seed} ${at}`) * Math.min(jitterMs, roomMs))
}

function delayOf({ jitter, window }: FullSchedule, seed: string, next: (afterMs: number) => Hit | undefined) {
  const jitterMs = spreadMs(jitter)
  const windowDelay = windowDelayMs(spreadMs(window), seed)
  return (hit: Hit, at: number): Place => {
    const roomMs = jitterMs > 0 ? (next(hit.at)?.at ?? Infinity) - hit.at : 0
    const delay = jitterMs > 0 ? jitterDelayMs(jitterMs, seed, { at: hit.at, roomMs }) : windowDelay
    if (delay === 0) return { effectiveMs: at }
    return {
      effectiveMs: at + delay,
      note: `${jitterMs > 0 ? 'jitter' : 'window'}: starts ${durationWords(delay)} later`,
    }
  }
}

export const sortBlackouts = (blackouts: readonly Blackout[]): Blackout[] =>
  [...blackouts].sort((a, b) => a.fromMs - b.fromMs)

/** What sorted blackouts make of a start. */
export function afterBlackouts(blackouts: readonly Blackout[], at: number): Place {
  let effectiveMs = at
  let note: string | undefined
  for (const { name, fromMs, untilMs, roll } of blackouts) {
    if (effectiveMs < fromMs || effectiveMs >= untilMs) continue
    if (roll !== 'next') return { effectiveMs, skipped: 'blackout', note: `blackout: ${name}, skipped` }
    effectiveMs = untilMs
    note = `blackout: ${name}, waits for its end`
  }
  return note === undefined ? { effectiveMs } : { effectiveMs, note }
}
