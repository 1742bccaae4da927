import type { Extras } from './extras.ts'
import type { AtSchedule, CronSchedule, EverySchedule } from './schedule-shape.ts'

/** What an EventBridge expression is; a text that is neither a rate nor a single time is left to be read as cron. */
export type PlainSchedule = (CronSchedule | EverySchedule | AtSchedule) & Extras

const rate = /^rate\(\s*([0-9]{1,9})\s+(minute|hour|day)s?\s*\)$/i
const once = /^at\(\s*([0-9T:.-]{1,30})\s*\)$/i
const cron = /^cron\(([^()]*)\)$/i
const units = { minute: 'M', hour: 'H', day: 'H' } as const

/**
 * An EventBridge schedule in our own terms: `rate(5 minutes)` is an interval of exact time (a day is 24 hours, as
 * there), `at(...)` a single time, `cron(...)` an expression without its wrapping. Others are unchanged.
 */
export function plainSchedule(schedule: CronSchedule & Extras): PlainSchedule {
  if (schedule.dialect !== 'eventbridge') return schedule
  const { type: _type, dialect: _dialect, cron: written, ...rest } = schedule
  const text = written.trim()
  const [, count, unit = ''] = rate.exec(text) ?? []
  if (count !== undefined) {
    const name = unit.toLowerCase() as keyof typeof units
    return { ...rest, type: 'every', every: `PT${Number(count) * (name === 'day' ? 24 : 1)}${units[name]}` }
  }
  const [, at] = once.exec(text) ?? []
  if (at !== undefined) {
    const { startAt: _startAt, endAt: _endAt, gap: _gap, fold: _fold, maxRuns: _maxRuns, ...others } = rest
    return { ...others, type: 'at', at }
  }
  const [, inner] = cron.exec(text) ?? []
  return inner === undefined ? schedule : { ...schedule, cron: inner }
}
