import Holidays from 'date-holidays'
import type { HolidayQuery } from './calendar.ts'
import { dateOf, dayOf } from './civil.ts'
import { parseBasicTime } from './rrule-text.ts'

/**
 * The holidays of a country, state or region in a year, by the data of date-holidays. Load this file only where it is
 * needed: the data takes 40 MB. Throws `RangeError` for a place that it does not know.
 */
export function holidayDays({ country, state, region, types = ['public'] }: HolidayQuery, year: number): number[] {
  const holidays = placeOf(country, state, region)
  const days = new Set<number>()
  for (const { date, start, end, type } of holidays.getHolidays(year)) {
    if (!types.includes(type)) continue
    const first = toDay(date)
    // What begins on the evening before ends within the day that it is about.
    const length = Math.max(1, Math.round((end.getTime() - start.getTime()) / 86_400_000))
    for (let day = first; day < first + length; day++) if (dateOf(day).year === year) days.add(day)
  }
  return [...days].sort((a, b) => a - b)
}

const places = new Map<string, Holidays>()
const placesMax = 50

function placeOf(country: string, state = '', region = ''): Holidays {
  const key = `${country}/${state}/${region}`
  const known = places.get(key)
  if (known) return known
  const index = new Holidays()
  if (!(country in (index.getCountries() ?? {})))
    throw new RangeError(`No holidays are known for the country ${country}`)
  if (state !== '' && !(state in (index.getStates(country) ?? {})))
    throw new RangeError(`No holidays are known for ${state} in ${country}`)
  if (region !== '' && !(region in (index.getRegions(country, state) ?? {})))
    throw new RangeError(`No holidays are known for ${region} in ${country}-${state}`)
  const made = new Holidays(country, state, region)
  if (places.size >= placesMax) places.clear()
  places.set(key, made)
  return made
}

function toDay(date: string): number {
  const parsed = parseBasicTime(date.slice(0, 10).replaceAll('-', ''))
  return parsed?.kind === 'date' ? parsed.day : dayOf({ year: 1970, month: 1, day: 1 })
}
