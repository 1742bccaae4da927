import { dayOf, daysInMonth } from './civil.ts'
import { weekdayNames } from './cron-field.ts'

export const frequencies = ['YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY', 'HOURLY', 'MINUTELY', 'SECONDLY'] as const
export type Frequency = (typeof frequencies)[number]

/** A weekday (0 is Sunday), or the nth of it in the month or year; negative from the end. */
export interface ByDay {
  readonly weekday: number
  readonly nth?: number
}

/** The BY parts that are plain lists of numbers. Sorted, without repeats; an absent part is an empty list. */
export type NumberPart =
  | 'BYMONTH'
  | 'BYWEEKNO'
  | 'BYYEARDAY'
  | 'BYMONTHDAY'
  | 'BYHOUR'
  | 'BYMINUTE'
  | 'BYSECOND'
  | 'BYSETPOS'

/** The last time of a rule, itself included: an instant, a wall-clock time, or all of a day. */
export type Until =
  | { readonly kind: 'instant'; readonly instantMs: number }
  | { readonly kind: 'wall'; readonly wall: number }
  | { readonly kind: 'date'; readonly day: number }

/** An RRULE of RFC 5545, understood. */
export interface RecurrenceRule {
  readonly text: string
  readonly frequency: Frequency
  readonly interval: number
  readonly count?: number
  readonly until?: Until
  readonly by: Readonly<Record<NumberPart, readonly number[]>>
  readonly byDay: readonly ByDay[]
  /** The first day of a week; 0 is Sunday. */
  readonly weekStart: number
}

export type ParsedRule =
  | { readonly ok: true; readonly rule: RecurrenceRule }
  | { readonly ok: false; readonly details: readonly string[] }

/** Longer rules are refused unread: every value of every part written out needs about 2,200. */
export const ruleLengthMax = 3_000
/** Where a rule ends by COUNT is found by counting. */
const countMax = 10_000

/** True for rules that are an interval of hours, minutes or seconds: they follow real time through clock changes. */
export const isSubDaily = ({ frequency }: RecurrenceRule): boolean =>
  frequency === 'HOURLY' || frequency === 'MINUTELY' || frequency === 'SECONDLY'

// About fifty years each.
const intervalMax: Readonly<Record<Frequency, number>> = {
  YEARLY: 50,
  MONTHLY: 600,
  WEEKLY: 2_600,
  DAILY: 18_250,
  HOURLY: 438_000,
  MINUTELY: 26_280_000,
  SECONDLY: 1_576_800_000,
}

const numberParts: Readonly<Record<NumberPart, { min: number; max: number; fromEnd: boolean }>> = {
  BYMONTH: { min: 1, max: 12, fromEnd: false },
  BYWEEKNO: { min: 1, max: 53, fromEnd: true },
  BYYEARDAY: { min: 1, max: 366, fromEnd: true },
  BYMONTHDAY: { min: 1, max: 31, fromEnd: true },
  BYHOUR: { min: 0, max: 23, fromEnd: false },
  BYMINUTE: { min: 0, max: 59, fromEnd: false },
  BYSECOND: { min: 0, max: 59, fromEnd: false },
  BYSETPOS: { min: 1, max: 366, fromEnd: true },
}

const quote = (text: string): string => `"${text.length > 24 ? `${text.slice(0, 24)}…` : text}"`

/** Parses the value of an RRULE (`FREQ=WEEKLY;BYDAY=MO`) and holds it to the rules of RFC 5545, 3.3.10. */
export function parseRule(text: string): ParsedRule {
  if (text.length > ruleLengthMax) return { ok: false, details: [`A rule has at most ${ruleLengthMax} characters`] }
  if (/[^\x20-\x7e]/.test(text)) return { ok: false, details: ['A rule is one line of plain ASCII'] }
  const details: string[] = []
  const parts = new Map<string, string>()
  for (const part of text.trim().toUpperCase().replace(/;$/, '').split(';')) {
    const [, name = '', value = ''] = /^([A-Z]+)=(.+)$/.exec(part) ?? []
    if (name === '') details.push(`${quote(part)} is not a part such as FREQ=DAILY`)
    else if (parts.has(name)) details.push(`${name} is there twice`)
    else parts.set(name, value)
  }
  if (details.length > 0) return { ok: false, details }
  const read = <Value>(name: string, parse: (value: string) => Value, absent: Value): Value => {
    const value = parts.get(name)
    parts.delete(name)
    if (value === undefined) return absent
    try {
      return parse(value)
    } catch (error) {
      if (!(error instanceof RulePartError)) throw error
      details.push(`${name}: ${error.message}`)
      return absent
    }
  }
  const numbers = (name: NumberPart): readonly number[] => read(name, (value) => parseNumbers(value, name), [])
  const frequency = read<Frequency | undefined>('FREQ', parseFrequency, undefined)
  const count = read<number | undefined>('COUNT', (value) => parseWhole(value, 1, countMax), undefined)
  const until = read<Until | undefined>('UNTIL', parseUntil, undefined)
  const rule: RecurrenceRule = {
    text: text.trim(),
    frequency: frequency ?? 'DAILY',
    interval: read('INTERVAL', (value) => parseWhole(value, 1, intervalMax[frequency ?? 'SECONDLY']), 1),
    ...(count === undefined ? {} : { count }),
    ...(until === undefined ? {} : { until }),
    by: {
      BYMONTH: numbers('BYMONTH'),
      BYWEEKNO: numbers('BYWEEKNO'),
      BYYEARDAY: numbers('BYYEARDAY'),
      BYMONTHDAY: numbers('BYMONTHDAY'),
      BYHOUR: numbers('BYHOUR'),
      BYMINUTE: numbers('BYMINUTE'),
      BYSECOND: numbers('BYSECOND'),
      BYSETPOS: numbers('BYSETPOS'),
    },
    byDay: read('BYDAY', parseDays, []),
    weekStart: read('WKST', parseWeekday, 1),
  }
  for (const name of parts.keys())
    details.push(
      name === 'RSCALE' || name === 'SKIP'
        ? `${name}: other calendars (RFC 7529) are not supported`
        : `${name} is not a part of RFC 5545`,
    )
  if (frequency === undefined && !details.some((detail) => detail.startsWith('FREQ')))
    details.unshift('FREQ is missing: it says how often, such as FREQ=DAILY')
  if (details.length === 0) details.push(...partConflicts(rule))
  return details.length > 0 ? { ok: false, details } : { ok: true, rule }
}

/** What is wrong with one part, in words that follow its name. */
class RulePartError extends Error {}

function parseFrequency(value: string): Frequency {
  const found = frequencies.find((name) => name === value)
  if (!found) throw new RulePartError(`${quote(value)} is none of ${frequencies.join(', ')}`)
  return found
}

function parseWhole(text: string, min: number, max: number): number {
  const value = /^[+]?[0-9]{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max))
    throw new RulePartError(`${quote(text)} is not a whole number from ${min} to ${max}`)
  return value
}

function parseNumbers(text: string, name: NumberPart): number[] {
  const { min, max, fromEnd } = numberParts[name]
  const values = text.split(',').map((item) => {
    if (item.startsWith('-') && fromEnd) return -parseWhole(item.slice(1), min, max)
    return parseWhole(item, min, max)
  })
  return [...new Set(values)].sort((a, b) => a - b)
}

function parseWeekday(text: string): number {
  const found = weekdayNames.findIndex((name) => name.slice(0, 2) === text)
  if (found < 0) throw new RulePartError(`${quote(text)} is not a weekday such as MO`)
  return found
}

function parseDays(text: string): ByDay[] {
  const days = text.split(',').map((item): ByDay => {
    const [, sign = '', nth = '', weekday = item] = /^([+-]?)([0-9]{1,2})([A-Z]+)$/.exec(item) ?? []
    if (nth === '') return { weekday: parseWeekday(weekday) }
    return { weekday: parseWeekday(weekday), nth: parseWhole(nth, 1, 53) * (sign === '-' ? -1 : 1) }
  })
  return [...new Map(days.map((day) => [`${day.nth ?? ''} ${day.weekday}`, day])).values()]
}

/** A date or date-time in the basic format of iCalendar: `20261231`, `20261231T235959`, with `Z` for UTC. */
export function parseBasicTime(text: string): Until | undefined {
  const match = /^([0-9]{4})([0-9]{2})([0-9]{2})(?:T([0-9]{2})([0-9]{2})([0-9]{2})(Z?))?$/.exec(text)
  if (!match) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map((part) => Number(part ?? 0))
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined
  if (hour > 23 || minute > 59 || second > 59) return undefined
  const date = dayOf({ year, month, day })
  if (match[4] === undefined) return { kind: 'date', day: date }
  const wall = (((date * 24 + hour) * 60 + minute) * 60 + second) * 1000
  return match[7] === 'Z' ? { kind: 'instant', instantMs: wall } : { kind: 'wall', wall }
}

function parseUntil(text: string): Until {
  const until = parseBasicTime(text)
  if (!until) throw new RulePartError(`${quote(text)} is not a date or time such as 20261231 or 20261231T235959Z`)
  return until
}

function partConflicts(rule: RecurrenceRule): string[] {
  const { frequency, by, byDay } = rule
  const has = (name: NumberPart): boolean => by[name].length > 0
  const isMonthly = frequency === 'MONTHLY'
  const isYearly = frequency === 'YEARLY'
  const details: string[] = []
  if (rule.count !== undefined && rule.until !== undefined) details.push('COUNT and UNTIL cannot both end it')
  if (has('BYWEEKNO') && !isYearly) details.push('BYWEEKNO: only with FREQ=YEARLY')
  if (has('BYYEARDAY') && (isMonthly || frequency === 'WEEKLY' || frequency === 'DAILY'))
    details.push(`BYYEARDAY: not with FREQ=${frequency}`)
  if (has('BYMONTHDAY') && frequency === 'WEEKLY') details.push('BYMONTHDAY: not with FREQ=WEEKLY')
  if (byDay.some(({ nth }) => nth !== undefined)) {
    if (!isMonthly && !isYearly) details.push('BYDAY: a place such as 2MO only with FREQ=MONTHLY or FREQ=YEARLY')
    if (has('BYWEEKNO')) details.push('BYDAY: a place such as 2MO not together with BYWEEKNO')
  }
  const others = Object.values(by).filter((values) => values.length > 0).length + byDay.length
  if (has('BYSETPOS') && others === 1) details.push('BYSETPOS: it chooses among the times of another BY part')
  return details
}
