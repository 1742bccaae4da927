import { parseTime } from './at.ts'
import { chosenClockRule, cronClockRule, recurrenceClockRule } from './clock-rule.ts'
import { cronRule } from './cron.ts'
import { isFree } from './cron-field.ts'
import { readCron } from './cron-hash.ts'
import { type DecideOptions, type Decider, makeDecider } from './decide.ts'
import { plainSchedule } from './eventbridge.ts'
import { calendarRule, nextEvery, parseEvery } from './every.ts'
import type { FullSchedule } from './extras.ts'
import { compileRecurrence } from './recurrence.ts'
import { parseSet } from './rrule-set.ts'
import type { CronSchedule, EverySchedule, RruleSchedule, Schedule } from './schedule-shape.ts'
import { type Hit, lastMs, nextHit, type ZonedRule } from './wall-rule.ts'
import {
  type ClockRule,
  defaultClockRule,
  nativeZones,
  realTimeRule,
  wallToInstants,
  type Zone,
  type ZoneDatabase,
} from './zone.ts'

/** A schedule made ready to be asked again and again; keep it as long as the schedule does not change. */
export interface CompiledSchedule extends Decider {
  /** In our own terms: an EventBridge `rate` is an interval here. */
  readonly schedule: FullSchedule
  readonly zone: Zone
  /** The clock rule of what comes from none of the rules. */
  readonly clock: ClockRule
  /** The wall-clock rules behind it; schedules in exact time have none. */
  readonly rules: readonly ZonedRule[]
  /** Runs that `maxRuns` still allows. */
  readonly runsLeft: number
  /** The first nominal instant strictly after `afterMs`. */
  next(afterMs: number): Hit | undefined
}

type Timing = Pick<CompiledSchedule, 'clock' | 'rules' | 'next'>

/** The times of a schedule, before anything is decided about them. */
export type CompiledTimes = Timing & Pick<CompiledSchedule, 'schedule' | 'zone'>

/**
 * Compiles a parsed schedule. Throws `RangeError` for a zone that the data does not have, or one without the start
 * that it counts from (see `anchorSchedule`), or a calendar that is not given.
 */
export function compileSchedule(
  written: FullSchedule,
  zones: ZoneDatabase = nativeZones,
  options: DecideOptions = {},
): CompiledSchedule {
  const times = compileTimes(written, zones, options.seed)
  const { schedule } = times
  const runsLeft = 'maxRuns' in schedule ? (schedule.maxRuns ?? Infinity) - (options.runsSoFar ?? 0) : Infinity
  return { ...times, runsLeft, ...makeDecider(schedule, times, options) }
}

/** The same without calendars, jitter and what else decides about its times. */
export function compileTimes(written: FullSchedule, zones = nativeZones, seed?: string): CompiledTimes {
  const schedule = written.type === 'cron' ? plainSchedule(written) : written
  const zone = zones.find(schedule.timezone ?? 'UTC')
  if (!zone) throw new RangeError(`Time zone ${schedule.timezone} is not in the data of ${zones.version}`)
  const timing = compileTiming(schedule, zone, seed)
  return { schedule, zone, ...timing, next: bounded(schedule, zone, timing.next) }
}

function compileTiming(schedule: Schedule, zone: Zone, seed: string | undefined): Timing {
  switch (schedule.type) {
    case 'cron':
      return compileCron(schedule, zone, seed)
    case 'every':
      return compileEvery(schedule, zone)
    case 'rrule':
      return compileRrule(schedule, zone)
    case 'at': {
      const hit = readTime(schedule.at, zone)
      return { clock: defaultClockRule, rules: [], next: (afterMs) => (hit.at > afterMs ? hit : undefined) }
    }
  }
}

function ofRule(zoned: ZonedRule): Timing {
  return { clock: zoned.clock, rules: [zoned], next: (afterMs) => nextHit(zoned, afterMs) }
}

function compileCron(schedule: CronSchedule, zone: Zone, seed: string | undefined): Timing {
  const parsed = readCron(schedule, seed)
  if (!parsed.ok) throw new RangeError(parsed.details.join('; '))
  const { cron } = parsed
  const isHourly = cron.followsRealTime && isFree(cron.fields.hour)
  return ofRule({ rule: cronRule(cron), zone, clock: cronClockRule(cron, schedule), isHourly })
}

function compileEvery(schedule: EverySchedule, zone: Zone): Timing {
  const parsed = parseEvery(schedule.every)
  if (!parsed.ok || schedule.anchor === undefined)
    throw new RangeError(parsed.ok ? 'An interval needs an anchor' : parsed.detail)
  const anchor = readTime(schedule.anchor, zone)
  const { step } = parsed
  if (step.kind === 'calendar')
    return ofRule({ rule: calendarRule(step, anchor.wall), zone, clock: chosenClockRule(schedule) })
  const next = (afterMs: number): Hit | undefined => {
    const at = nextEvery(anchor.at, step.everyMs, afterMs)
    return at > lastMs ? undefined : { at, wall: at + zone.spanAt(at).offset }
  }
  return { clock: realTimeRule, rules: [], next }
}

function compileRrule(schedule: RruleSchedule, zone: Zone): Timing {
  const { set, problems } = parseSet(schedule)
  if (problems.length > 0) throw new RangeError(problems.map(({ detail }) => detail).join('; '))
  const clock = chosenClockRule(schedule, recurrenceClockRule)
  return { clock, ...compileRecurrence(set, zone, clock) }
}

/** `startAt` and `endAt` belong to what they bound. */
function bounded(schedule: Schedule, zone: Zone, next: CompiledSchedule['next']): CompiledSchedule['next'] {
  if (schedule.type === 'at') return next
  const { startAt, endAt } = schedule
  if (startAt === undefined && endAt === undefined) return next
  const startMs = startAt === undefined ? -Infinity : readTime(startAt, zone).at
  const endMs = endAt === undefined ? Infinity : readTime(endAt, zone).at
  return (afterMs) => {
    const hit = next(Math.max(afterMs, startMs - 1))
    return hit !== undefined && hit.at <= endMs ? hit : undefined
  }
}

/** The instant of a text and the wall clock at it. A wall-clock time is read under the default clock rule. */
export function readTime(text: string, zone: Zone): Hit {
  const time = parseTime(text)
  if (time?.kind === 'instant') return { at: time.instantMs, wall: time.instantMs + zone.spanAt(time.instantMs).offset }
  const [at] = time === undefined ? [] : wallToInstants(zone, time.wall, defaultClockRule)
  if (time === undefined || at === undefined) throw new RangeError(`${text} is not a date and time`)
  return { at, wall: time.wall }
}
