import type { RuleSample } from './rrule-samples.ts'

type Wall = Temporal.PlainDateTime

/**
 * The wall-clock times of a rule in [from, until], by the words of RFC 5545, 3.3.10: every period is written out, all
 * its minutes that match are its set, and positions are chosen from that. Slow and simple on purpose: it shares no
 * code with the engine.
 */
export function bruteForceRule(sample: RuleSample, dtstart: Wall, from: Wall, until: Wall): Wall[] {
  const found: Wall[] = []
  const dates = new Map<string, boolean>()
  const hasDate = (date: Temporal.PlainDate): boolean => {
    const key = date.toString()
    const known = dates.get(key) ?? dateMatches(sample, dtstart, date)
    dates.set(key, known)
    return known
  }
  const minutes = minutesOfDay.filter((minute) => timeMatches(sample, dtstart, Math.floor(minute / 60), minute % 60))
  const { positions } = sample
  // With positions the whole period counts, otherwise what is outside the window only costs time.
  const dated = positions.length > 0 ? undefined : { first: from.toPlainDate(), last: until.toPlainDate() }
  for (const period of periodsOf(sample, dtstart, from, until, minutes)) {
    const set = timesIn(dtstart, period, minutes, hasDate, dated)
    const isChosen = (index: number): boolean =>
      positions.length === 0 || positions.includes(index + 1) || positions.includes(index - set.length)
    found.push(
      ...set.filter((wall, index) => isChosen(index) && isWithin(wall, dtstart, until) && isWithin(wall, from, until)),
    )
  }
  return found.sort((a, b) => Temporal.PlainDateTime.compare(a, b))
}

const minutesOfDay = Array.from({ length: 1440 }, (_, minute) => minute)

const isWithin = (wall: Wall, from: Wall, until: Wall): boolean =>
  Temporal.PlainDateTime.compare(from, wall) <= 0 && Temporal.PlainDateTime.compare(wall, until) <= 0

interface Period {
  readonly start: Wall
  readonly end: Wall
}

const units = {
  YEARLY: 'years',
  MONTHLY: 'months',
  WEEKLY: 'weeks',
  DAILY: 'days',
  HOURLY: 'hours',
  MINUTELY: 'minutes',
} as const

function periodsOf(
  { frequency, interval, weekStart }: RuleSample,
  dtstart: Wall,
  from: Wall,
  until: Wall,
  minutes: readonly number[],
): Period[] {
  const day = dtstart.with({ hour: 0, minute: 0, second: 0 })
  const first = {
    YEARLY: day.with({ month: 1, day: 1 }),
    MONTHLY: day.with({ day: 1 }),
    WEEKLY: day.subtract({ days: (day.dayOfWeek - weekStart + 7) % 7 }),
    DAILY: day,
    HOURLY: dtstart.with({ minute: 0, second: 0 }),
    MINUTELY: dtstart.with({ second: 0 }),
  }[frequency]
  const unit = units[frequency]
  const since = Math.floor(first.until(from, { largestUnit: unit })[unit] / interval) - 1
  const last = Math.floor(first.until(until, { largestUnit: unit })[unit] / interval)
  const minutesLong = frequency === 'HOURLY' ? 60 : frequency === 'MINUTELY' ? 1 : 1440
  const isAsked = new Set(minutes.map((minute) => Math.floor(minute / minutesLong)))
  const ofDay = minutesLong === 1440 ? 0 : (first.hour * 60 + first.minute) / minutesLong
  const periods: Period[] = []
  for (let n = Math.max(0, since); n <= last; n++) {
    // Those within a day are many, and most have no minute that is asked for.
    if (minutesLong < 1440 && !isAsked.has((ofDay + n * interval) % (1440 / minutesLong))) continue
    const start = first.add({ [unit]: n * interval })
    periods.push({ start, end: start.add({ [unit]: 1 }) })
  }
  return periods
}

function timesIn(
  { second }: Wall,
  { start, end }: Period,
  minutes: readonly number[],
  hasDate: (date: Temporal.PlainDate) => boolean,
  dated: { readonly first: Temporal.PlainDate; readonly last: Temporal.PlainDate } | undefined,
): Wall[] {
  const walls: Wall[] = []
  const last = end.subtract({ seconds: 1 })
  const firstDate = start.toPlainDate()
  const lastDate = last.toPlainDate()
  const from = dated && !isUpTo(dated.first, firstDate) ? dated.first : firstDate
  const until = dated && !isUpTo(lastDate, dated.last) ? dated.last : lastDate
  for (let date = from; isUpTo(date, until); date = date.add({ days: 1 })) {
    if (!hasDate(date)) continue
    const first = date.equals(firstDate) ? start.hour * 60 + start.minute : 0
    const final = date.equals(lastDate) ? last.hour * 60 + last.minute : 1439
    for (const minute of minutes) {
      if (minute < first || minute > final) continue
      walls.push(date.toPlainDateTime({ hour: Math.floor(minute / 60), minute: minute % 60, second }))
    }
  }
  return walls
}

const isUpTo = (date: Temporal.PlainDate, last: Temporal.PlainDate): boolean =>
  Temporal.PlainDate.compare(date, last) <= 0

function timeMatches({ frequency, hours, minutes }: RuleSample, dtstart: Wall, hour: number, minute: number): boolean {
  const anyHour = frequency === 'HOURLY' || frequency === 'MINUTELY'
  const hourFits = hours.length > 0 ? hours.includes(hour) : anyHour || hour === dtstart.hour
  if (!hourFits) return false
  return minutes.length > 0 ? minutes.includes(minute) : frequency === 'MINUTELY' || minute === dtstart.minute
}

function dateMatches(sample: RuleSample, dtstart: Wall, date: Temporal.PlainDate): boolean {
  const { frequency, months, weeks, yearDays, monthDays, days } = sample
  const isAt = (places: readonly number[], place: number, length: number): boolean =>
    places.some((asked) => (asked > 0 ? asked === place : place === length + asked + 1))
  if (months.length > 0 && !months.includes(date.month)) return false
  if (yearDays.length > 0 && !isAt(yearDays, date.dayOfYear, date.daysInYear)) return false
  if (monthDays.length > 0 && !isAt(monthDays, date.day, date.daysInMonth)) return false
  if (weeks.length > 0 && !isAt(weeks, weekOf(date, sample.weekStart), weeksIn(date, sample.weekStart))) return false
  if (days.length > 0 && !days.some((day) => isDay(sample, day, date))) return false
  if (days.length + monthDays.length + yearDays.length > 0) return true
  if (frequency === 'WEEKLY' || weeks.length > 0) return date.dayOfWeek === dtstart.dayOfWeek
  if (frequency === 'MONTHLY') return date.day === dtstart.day
  if (frequency === 'YEARLY') return date.day === dtstart.day && (months.length > 0 || date.month === dtstart.month)
  return true
}

function isDay(
  { frequency, months }: RuleSample,
  { weekday, nth }: RuleSample['days'][number],
  date: Temporal.PlainDate,
): boolean {
  if (date.dayOfWeek !== weekday) return false
  if (nth === undefined) return true
  const inYear = frequency === 'YEARLY' && months.length === 0
  const isSamePeriod = (other: Temporal.PlainDate): boolean =>
    other.year === date.year && (inYear || other.month === date.month)
  const weeks = nth > 0 ? nth - 1 : nth + 1
  return isSamePeriod(date.subtract({ weeks })) && !isSamePeriod(date.subtract({ weeks: weeks + Math.sign(nth) }))
}

/** The day that decides a week's year: the fourth. */
function middleOf(date: Temporal.PlainDate, weekStart: number): Temporal.PlainDate {
  return date.add({ days: 3 - ((date.dayOfWeek - weekStart + 7) % 7) })
}

const weekOf = (date: Temporal.PlainDate, weekStart: number): number =>
  Math.ceil(middleOf(date, weekStart).dayOfYear / 7)

function weeksIn(date: Temporal.PlainDate, weekStart: number): number {
  const middle = middleOf(date, weekStart)
  const last = middle.with({ month: 12, day: 31 })
  const lastMiddle = middleOf(last, weekStart)
  return Math.ceil((lastMiddle.year === middle.year ? lastMiddle : lastMiddle.subtract({ days: 7 })).dayOfYear / 7)
}
