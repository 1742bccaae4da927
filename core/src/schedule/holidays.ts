import Holidays from 'date-holidays'
import type { HolidayQuery } from './calendar.ts'
import { dateOf, dayOf } from './civil.ts'
import { parseBasicTime } from './rrule-text.ts'

/**
 * The holidays of a country, state or region in a year, by the data of date-holidays. Load this file only where it is
 * needed: the data takes 40 MB. Throws `RangeError` for a place that it does not know.
 */
export const holidayDays = (query: HolidayQuery, year: number): number[] =>
  [...holidayNames(query, year).keys()].sort((a, b) => a - b)

/** The same days with what the first holiday of each is called. Throws as `holidayDays`. */
export function holidayNames(
  { country, state, region, types = ['public'] }: HolidayQuery,
  year: number,
): Map<number, string> {
  const names = new Map<number, string>()
  for (const { date, start, end, type, name } of placeOf(country, state, region).getHolidays(year)) {
    if (!types.includes(type)) continue
    const first = toDay(date)
    // What begins on the evening before ends within the day that it is about.
    const length = Math.max(1, Math.round((end.getTime() - start.getTime()) / 86_400_000))
    for (let day = first; day < first + length; day++)
      if (dateOf(day).year === year && !names.has(day)) names.set(day, name)
  }
  return names
}

/** A place whose holidays are known: a country, or a state or region of what was asked for. */
export interface HolidayPlace {
  code: string
  name: string
}

/** The countries, the states of a country, or the regions of a state, by name; none for a place that has none. */
export function holidayPlaces(within: { country?: string | undefined; state?: string | undefined }): HolidayPlace[] {
  const { country, state } = within
  const index = new Holidays()
  const found =
    country === undefined
      ? index.getCountries('en')
      : state === undefined
        ? index.getStates(country, 'en')
        : index.getRegions(country, state, 'en')
  return Object.entries(found ?? {})
    .map(([code, name]): HolidayPlace => ({ code, name: String(name) }))
    .sort((a, b) => a.name.localeCompare(b.name, 'en'))
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
