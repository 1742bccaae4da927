import { parseTime } from './at.ts'
import { occurrenceNotes } from './clock-changes.ts'
import { cronRule, parseCron } from './cron.ts'
import { calendarRule, nextEvery, parseEvery } from './every.ts'
import { anchorSchedule, chosenClockRule, cronClockRule, type EverySchedule, type Schedule } from './schedule.ts'
import { type Hit, lastMs, nextHit, type ZonedRule } from './wall-rule.ts'
import {
  type ClockRule,
  defaultClockRule,
  formatOffset,
  formatWall,
  nativeZones,
  realTimeRule,
  wallToInstants,
  type Zone,
  type ZoneDatabase,
} from './zone.ts'

/** A schedule made ready to be asked again and again; keep it as long as the schedule does not change. */
export interface CompiledSchedule {
  readonly schedule: Schedule
  readonly zone: Zone
  readonly clock: ClockRule
  /** The wall-clock rules behind it; schedules in exact time have none. */
  readonly rules: readonly ZonedRule[]
  /** The first instant strictly after `afterMs`. */
  next(afterMs: number): Hit | undefined
}

export interface Occurrence {
  readonly nominalAt: Temporal.Instant
  /** When it runs. The same instant until a schedule can have jitter or a calendar that moves it. */
  readonly effectiveAt: Temporal.Instant
  /** The wall clock at `nominalAt`, such as `2026-03-29T02:00:00`. */
  readonly local: string
  readonly offset: string
  /** What a clock change did to it. */
  readonly notes: readonly string[]
}

/**
 * Compiles a parsed schedule. RRULE becomes one more rule here; bounds, calendars and jitter go around
 * `next`, after the clock rule. Throws `RangeError` for a zone that the data does not have, or an `every`
 * without anchor (see `anchorSchedule`).
 */
export function compileSchedule(schedule: Schedule, zones: ZoneDatabase = nativeZones): CompiledSchedule {
  const zone = zones.find(schedule.timezone ?? 'UTC')
  if (!zone) throw new RangeError(`Time zone ${schedule.timezone} is not in the data of ${zones.version}`)
  switch (schedule.type) {
    case 'cron': {
      const parsed = parseCron(schedule.cron)
      if (!parsed.ok) throw new RangeError(parsed.details.join('; '))
      return ofRule(schedule, { rule: cronRule(parsed.cron), zone, clock: cronClockRule(parsed.cron, schedule) })
    }
    case 'every':
      return compileEvery(schedule, zone)
    case 'at': {
      const hit = readTime(schedule.at, zone)
      const next = (afterMs: number): Hit | undefined => (hit.at > afterMs ? hit : undefined)
      return { schedule, zone, clock: defaultClockRule, rules: [], next }
    }
  }
}

function ofRule(schedule: Schedule, zoned: ZonedRule): CompiledSchedule {
  const { zone, clock } = zoned
  return { schedule, zone, clock, rules: [zoned], next: (afterMs) => nextHit(zoned, afterMs) }
}

function compileEvery(schedule: EverySchedule, zone: Zone): CompiledSchedule {
  const parsed = parseEvery(schedule.every)
  if (!parsed.ok || schedule.anchor === undefined)
    throw new RangeError(parsed.ok ? 'An interval needs an anchor' : parsed.detail)
  const anchor = readTime(schedule.anchor, zone)
  const { step } = parsed
  if (step.kind === 'calendar')
    return ofRule(schedule, { rule: calendarRule(step, anchor.wall), zone, clock: chosenClockRule(schedule) })
  const next = (afterMs: number): Hit | undefined => {
    const at = nextEvery(anchor.at, step.everyMs, afterMs)
    return at > lastMs ? undefined : { at, wall: at + zone.spanAt(at).offset }
  }
  return { schedule, zone, clock: realTimeRule, rules: [], next }
}

/** The next `count` occurrences strictly after an instant; fewer when the schedule ends. */
export function nextOccurrences(
  schedule: CompiledSchedule | Schedule,
  after: Temporal.Instant,
  count: number,
): Occurrence[] {
  return [...occurrencesBetween(schedule, after, Temporal.Instant.fromEpochMilliseconds(lastMs), count)]
}

/** The occurrences in (after, until], in order, at most `limit`. Consecutive windows neither miss nor repeat one. */
export function* occurrencesBetween(
  schedule: CompiledSchedule | Schedule,
  after: Temporal.Instant,
  until: Temporal.Instant,
  limit: number,
): Generator<Occurrence, void, undefined> {
  const compiled = 'next' in schedule ? schedule : compileSchedule(anchorSchedule(schedule, after))
  const untilMs = until.epochMilliseconds
  let previousMs = after.epochMilliseconds
  for (let count = 0; count < limit; count++) {
    const hit = compiled.next(previousMs)
    if (hit === undefined || hit.at > untilMs) return
    yield toOccurrence(compiled, hit)
    previousMs = hit.at
  }
}

/** The next instant strictly after another, in epoch milliseconds; `null` when the schedule has ended. */
export function nextInstantMs(schedule: CompiledSchedule, afterMs: number): number | null {
  return schedule.next(afterMs)?.at ?? null
}

function readTime(text: string, zone: Zone): Hit {
  const time = parseTime(text)
  if (time?.kind === 'instant') return { at: time.instantMs, wall: time.instantMs + zone.spanAt(time.instantMs).offset }
  const [at] = time === undefined ? [] : wallToInstants(zone, time.wall, defaultClockRule)
  if (time === undefined || at === undefined) throw new RangeError(`${text} is not a date and time`)
  return { at, wall: time.wall }
}

function toOccurrence(compiled: CompiledSchedule, hit: Hit): Occurrence {
  const nominalAt = Temporal.Instant.fromEpochMilliseconds(hit.at)
  const { offset } = compiled.zone.spanAt(hit.at)
  return {
    nominalAt,
    effectiveAt: nominalAt,
    local: formatWall(hit.at + offset),
    offset: formatOffset(offset),
    notes: occurrenceNotes(hit, compiled.zone, compiled.clock),
  }
}
