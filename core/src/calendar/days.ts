import { requireScope } from '../access/scope.ts'
import type { Ctx } from '../db/context.ts'
import { validationFailed } from '../kernel/errors.ts'
import { compileCalendar, toDay } from '../schedule/calendar.ts'
import { dateOf, dayMs } from '../schedule/civil.ts'
import type { HolidayPlace } from '../schedule/holidays.ts'
import { dateWords, timeWords } from '../schedule/words.ts'
import type { CalendarDefinition } from './calendar.ts'
import { requireKnownPlaces } from './write-version.ts'

/** A day that a calendar holds, whole or in part. */
export interface CalendarDay {
  date: string
  /** Stretches of the day, `24:00` is its end. */
  hours: { from: string; until: string }[]
  /** What the holiday is called, when it is one. */
  holiday: string | null
}

const daysMax = 800

/**
 * The days from `from` to `until`, both included, that a calendar holds; the calendar need not be saved. Throws
 * `validation-failed` for places whose holidays nobody knows, and for more than 800 days.
 */
export async function daysOfCalendar(
  ctx: Ctx,
  { definition, from, until }: { definition: Omit<CalendarDefinition, 'description'>; from: string; until: string },
): Promise<CalendarDay[]> {
  requireScope(ctx, 'calendars:read')
  const [first, last] = [toDay(from), toDay(until)]
  if (first === undefined) throw validationFailed([{ pointer: '/from', detail: 'Not a date such as 2026-12-25' }])
  if (last === undefined) throw validationFailed([{ pointer: '/until', detail: 'Not a date such as 2026-12-25' }])
  if (last < first) throw validationFailed([{ pointer: '/until', detail: 'It ends before it starts' }])
  if (last - first >= daysMax) throw validationFailed([{ pointer: '/until', detail: `At most ${daysMax} days` }])
  await requireKnownPlaces(definition.holidays, '/calendar')
  const names = await namesBetween(definition.holidays, dateOf(first).year, dateOf(last).year)
  const cover = compileCalendar(definition, (_, year) => [...names.keys()].filter((day) => dateOf(day).year === year))
  const days: CalendarDay[] = []
  for (let day = first; day <= last; day++) {
    const ranges = cover.rangesOn(day)
    if (ranges.length === 0) continue
    const hours = ranges.map((range) => ({ from: timeWords(range.from), until: endWords(range.until) }))
    days.push({ date: dateWords(day * dayMs), hours, holiday: names.get(day) ?? null })
  }
  return days
}

const endWords = (ms: number): string => (ms === dayMs ? '24:00' : timeWords(ms))

async function namesBetween(
  places: CalendarDefinition['holidays'],
  firstYear: number,
  lastYear: number,
): Promise<Map<number, string>> {
  const names = new Map<number, string>()
  if (places.length === 0) return names
  const { holidayNames } = await import('../schedule/holidays.ts')
  for (const place of places)
    for (let year = firstYear; year <= lastYear; year++)
      for (const [day, name] of holidayNames(place, year)) if (!names.has(day)) names.set(day, name)
  return names
}

/** The places whose holidays are known: countries, the states of a country, or the regions of a state. */
export async function listHolidayPlaces(
  ctx: Ctx,
  within: { country?: string | undefined; state?: string | undefined },
): Promise<HolidayPlace[]> {
  requireScope(ctx, 'calendars:read')
  const { holidayPlaces } = await import('../schedule/holidays.ts')
  return holidayPlaces(within)
}
