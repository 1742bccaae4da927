import { z } from 'zod'
import { parseTime } from './at.ts'
import { dateOf, dayMs, weekdayOf } from './civil.ts'
import { weekdayNames } from './cron-field.ts'
import { type DayCover, type DayRange, joinRanges, wholeDay } from './day-cover.ts'
import { parseBasicTime } from './rrule-text.ts'

const dateText = z.string().refine((text) => toDay(text) !== undefined, 'Not a date such as 2026-12-25')
const momentText = z
  .string()
  .refine((text) => toWall(text) !== undefined, 'Not a date or wall-clock time such as 2026-12-24T18:00')
const clockText = z
  .string()
  .regex(/^(?:[01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$/, 'Not a time of day such as 09:00, up to 24:00')

const range = z
  .strictObject({ from: momentText, until: momentText.describe('A date is included, a time is not') })
  .superRefine(({ from, until }, context) => {
    if ((toWall(from) ?? 0) >= (endWall(until) ?? Infinity))
      context.addIssue({ code: 'custom', path: ['until'], message: 'It ends before it starts' })
  })
const hours = z
  .strictObject({ days: z.array(z.enum(weekdayNames)).min(1).max(7), from: clockText, until: clockText })
  .superRefine(({ from, until }, context) => {
    if (from >= until) context.addIssue({ code: 'custom', path: ['until'], message: 'It ends before it starts' })
  })
export const holidayTypes = ['public', 'bank', 'optional', 'school', 'observance'] as const
const holidays = z.strictObject({
  country: z.string().regex(/^[A-Z]{2}$/, 'Not a country code of two letters such as DE'),
  state: z.string().max(20).optional(),
  region: z.string().max(20).optional(),
  types: z.array(z.enum(holidayTypes)).min(1).optional().describe('Which kinds count (default: public)'),
})

/** A named set of days and hours: everything that one of its parts holds. Wall-clock, so it fits any time zone. */
export const calendarSchema = z.strictObject({
  dates: z.array(dateText).max(5_000).optional(),
  ranges: z.array(range).max(5_000).optional(),
  weekly: z.array(hours).max(50).optional(),
  holidays: z.array(holidays).max(20).optional(),
})
export type Calendar = z.infer<typeof calendarSchema>
export type HolidayQuery = z.infer<typeof holidays>

/** Knows the holidays of a place: the days of a year. The data is big, so whoever needs it brings it. */
export type HolidaySource = (query: HolidayQuery, year: number) => readonly number[]

/** Makes a calendar ready to be asked. Throws `RangeError` when it has holidays and no source for them. */
export function compileCalendar(calendar: Calendar, holidaySource?: HolidaySource): DayCover {
  if (calendar.holidays?.length && !holidaySource) throw new RangeError('A calendar with holidays needs their source')
  const dates = new Set(calendar.dates?.map(toDay))
  const ranges = (calendar.ranges ?? []).map(({ from, until }) => ({
    from: toWall(from) ?? 0,
    until: endWall(until) ?? 0,
  }))
  const weekly = weekdayNames.map((name) =>
    (calendar.weekly ?? [])
      .filter(({ days }) => days.includes(name))
      .map(({ from, until }) => ({ from: clockMs(from), until: clockMs(until) })),
  )
  const years = new Map<number, ReadonlySet<number>>()
  const holidaysOf = (year: number): ReadonlySet<number> => {
    const known = years.get(year)
    if (known) return known
    const days = new Set((calendar.holidays ?? []).flatMap((query) => holidaySource?.(query, year) ?? []))
    years.set(year, days)
    return days
  }
  const hasHolidays = (calendar.holidays ?? []).length > 0
  return {
    rangesOn(day) {
      if (dates.has(day) || (hasHolidays && holidaysOf(dateOf(day).year).has(day))) return wholeDay
      const start = day * dayMs
      const inRanges: DayRange[] = ranges
        .filter(({ from, until }) => from < start + dayMs && until > start)
        .map(({ from, until }) => ({ from: Math.max(from - start, 0), until: Math.min(until - start, dayMs) }))
      return joinRanges([...inRanges, ...(weekly[weekdayOf(day)] ?? [])])
    },
  }
}

/** The day of a date such as `2026-12-25`; undefined for anything else. */
export function toDay(text: string): number | undefined {
  const [, year, month, day] = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text) ?? []
  const parsed = year === undefined ? undefined : parseBasicTime(`${year}${month}${day}`)
  return parsed?.kind === 'date' ? parsed.day : undefined
}

function toWall(text: string): number | undefined {
  const day = toDay(text)
  if (day !== undefined) return day * dayMs
  const time = parseTime(text)
  return time?.kind === 'wall' ? time.wall : undefined
}

/** The end of a range: that of a date is its midnight. */
function endWall(text: string): number | undefined {
  const day = toDay(text)
  return day === undefined ? toWall(text) : (day + 1) * dayMs
}

const clockMs = (text: string): number => (Number(text.slice(0, 2)) * 60 + Number(text.slice(3))) * 60_000
