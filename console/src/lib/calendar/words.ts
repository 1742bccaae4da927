import type { CalendarContents, CalendarDay } from '@meridian/sdk'

export type Contents = Required<CalendarContents>
export type Hours = Contents['weekly'][number]
export type Weekday = Hours['days'][number]
export type Holidays = Contents['holidays'][number]
export type Stretch = Contents['ranges'][number]

export const weekdays = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN'] as const satisfies readonly Weekday[]

const shortNames: Record<Weekday, string> = {
  MON: 'Mon',
  TUE: 'Tue',
  WED: 'Wed',
  THU: 'Thu',
  FRI: 'Fri',
  SAT: 'Sat',
  SUN: 'Sun',
}

export const weekdayName = (day: Weekday): string => shortNames[day]

const plural = (count: number, word: string) => `${count.toLocaleString('en-GB')} ${word}${count === 1 ? '' : 's'}`

/** `Mon–Fri`, `Sat, Sun`, `every day`. */
export function daysWords(days: readonly Weekday[]): string {
  const indexes = [...new Set(days)].map((day) => weekdays.indexOf(day)).sort((a, b) => a - b)
  if (indexes.length === 7) return 'every day'
  const first = indexes[0] ?? 0
  const last = indexes.at(-1) ?? 0
  const name = (index: number) => shortNames[weekdays[index] ?? 'MON']
  if (indexes.length > 2 && last - first === indexes.length - 1) return `${name(first)}–${name(last)}`
  return indexes.map(name).join(', ')
}

/** `09:00–17:00`, or nothing for a whole day. */
const clockWords = ({ from, until }: { from: string; until: string }): string =>
  from === '00:00' && until === '24:00' ? '' : `${from}–${until}`

/** `Mon–Fri 09:00–17:00`. */
export const hoursWords = (hours: Hours): string => `${daysWords(hours.days)} ${clockWords(hours)}`.trim()

const countries = new Intl.DisplayNames('en', { type: 'region' })

/** `Germany, BY`. */
export function placeWords({ country, state, region }: Holidays): string {
  return [countries.of(country) ?? country, state, region].filter(Boolean).join(', ')
}

/** What a calendar is made of, in the fewest words; for one that holds nothing, that. */
export function contentsWords({ weekly, holidays, dates, ranges }: Contents): string {
  const parts = [
    ...(weekly.length > 3
      ? [plural(weekly.length, 'weekly stretch').replace('stretchs', 'stretches')]
      : weekly.map(hoursWords)),
    ...(holidays.length > 3
      ? [`holidays of ${holidays.length} places`]
      : holidays.length > 0
        ? [`holidays of ${holidays.map(placeWords).join(' and ')}`]
        : []),
    ...(dates.length > 0 ? [plural(dates.length, 'date')] : []),
    ...(ranges.length > 0 ? [plural(ranges.length, 'range')] : []),
  ]
  return parts.length === 0 ? 'Holds no day yet' : parts.join(' · ')
}

/** Whether the whole of a day is in a calendar. */
export const isWhole = ({ hours }: CalendarDay): boolean =>
  hours.length === 1 && hours[0]?.from === '00:00' && hours[0].until === '24:00'

/** `Fri 25 Dec 2026: whole day, Christmas Day`; for a day that is not in, that. */
export function dayWords(date: string, day: CalendarDay | undefined): string {
  const name = dateWords(date)
  if (day === undefined) return `${name}: not in`
  const hours = isWhole(day) ? 'whole day' : day.hours.map(clockWords).join(', ')
  return `${name}: ${hours}${day.holiday === null ? '' : `, ${day.holiday}`}`
}

const dateFormat = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
})

/** `Fri 25 Dec 2026`. Joined from parts, because servers and browsers differ in punctuation. */
export function dateWords(date: string): string {
  const found = Object.fromEntries(
    dateFormat.formatToParts(Date.parse(`${date}T00:00Z`)).map(({ type, value }) => [type, value]),
  )
  return `${found.weekday} ${found.day} ${found.month?.slice(0, 3)} ${found.year}`
}

/** `Fri 25 Dec 2026`, `Fri 25 Dec 2026 12:00` for one end of a stretch. */
const endWords = (end: string): string =>
  `${dateWords(end.slice(0, 10))}${end.length > 10 ? ` ${end.slice(11, 16)}` : ''}`

/** `Sun 27 Dec 2026 to Wed 30 Dec 2026`. */
export const stretchWords = ({ from, until }: Stretch): string =>
  from === until ? endWords(from) : `${endWords(from)} to ${endWords(until)}`
