import type { Calendar } from '@meridian/sdk'
import type { Contents, Hours, Stretch } from './words.ts'

export const emptyContents: Contents = { dates: [], ranges: [], weekly: [], holidays: [] }

/** What a calendar, or a version of one, holds. */
export const contentsOf = ({ dates, ranges, weekly, holidays }: Pick<Calendar, keyof Contents>): Contents => ({
  dates,
  ranges,
  weekly,
  holidays,
})

/** Adds a single day, or takes it away when it is there. */
export function toggleDate(contents: Contents, date: string): Contents {
  const dates = contents.dates.includes(date)
    ? contents.dates.filter((other) => other !== date)
    : [...contents.dates, date].sort()
  return { ...contents, dates }
}

/** With the days and ranges of a file beside its own; what is there already is not added again. */
export function mergeFile(contents: Contents, file: Pick<Contents, 'dates' | 'ranges'>): Contents {
  const key = ({ from, until }: Stretch) => `${from}/${until}`
  const known = new Set(contents.ranges.map(key))
  const ranges = [...contents.ranges, ...file.ranges.filter((range) => !known.has(key(range)))]
  return {
    ...contents,
    dates: [...new Set([...contents.dates, ...file.dates])].sort(),
    ranges: ranges.sort((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0)),
  }
}

/** The list with the item at a place replaced, or taken out when there is no other. */
export function replaceAt<Item>(list: readonly Item[], place: number, item: Item | undefined): Item[] {
  return list.flatMap((other, index) => (index !== place ? [other] : item === undefined ? [] : [item]))
}

/** The hours with a day of the week more, or less when it was there; undefined when none is left. */
export function toggleWeekday(hours: Hours, day: Hours['days'][number]): Hours | undefined {
  const days = hours.days.includes(day) ? hours.days.filter((other) => other !== day) : [...hours.days, day]
  return days.length === 0 ? undefined : { ...hours, days }
}

/** A stretch with a date and a time of day at each end, or with dates alone, which include the last. */
export const withTimes = ({ from, until }: Stretch, hasTimes: boolean): Stretch =>
  hasTimes
    ? { from: `${from.slice(0, 10)}T09:00`, until: `${until.slice(0, 10)}T17:00` }
    : { from: from.slice(0, 10), until: until.slice(0, 10) }
