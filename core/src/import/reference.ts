import { toNickname } from './cron-text.ts'
import { ranges, valuesOf } from './cron-values.ts'

/** How another system reads its cron, in the four things in which they differ. */
export interface CronSystem {
  readonly layout: 'five' | 'six' | 'year-last'
  /** Both day fields restricted: `vixie` asks for either unless one starts with `*`, `bare` unless one is `*`. */
  readonly days: 'vixie' | 'bare' | 'both'
  /** What becomes of a time of day that a clock change leaves out. */
  readonly gap: 'next' | 'skip'
  readonly fold: 'first' | 'both'
  /** What Sunday is. */
  readonly sunday: 0 | 1
}

type DayTest = (date: Temporal.PlainDate) => boolean

interface Reading {
  seconds: number[]
  minutes: number[]
  hours: number[]
  isDay: DayTest
  /** Goes by the clock as it is, not by times of day. */
  isInterval: boolean
}

/**
 * The next instants of an expression as another system would have them, in epoch milliseconds; null when it is written
 * in a way that only the engine reads. A second opinion: it shares no code with the engine, and asks Temporal itself.
 */
export function referenceInstants(
  text: string,
  system: CronSystem,
  { timezone, afterMs, count }: { timezone: string; afterMs: number; count: number },
): number[] | null {
  const reading = read(toNickname(text).trim(), system)
  if (reading === null) return null
  const found = new Set<number>()
  let date = Temporal.Instant.fromEpochMilliseconds(afterMs)
    .toZonedDateTimeISO(timezone)
    .toPlainDate()
    .subtract({ days: 1 })
  const last = date.add({ days: daysMax })
  for (; found.size <= count && Temporal.PlainDate.compare(date, last) < 0; date = date.add({ days: 1 })) {
    if (!reading.isDay(date)) continue
    for (const at of instantsOf(date, reading, system, timezone)) if (at > afterMs) found.add(at)
  }
  return [...found].sort((a, b) => a - b).slice(0, count)
}

// Leap days that fall on a given weekday come back after 28 years, or 40 over 2100.
const daysMax = 366 * 41

function* instantsOf(
  date: Temporal.PlainDate,
  reading: Reading,
  system: CronSystem,
  timezone: string,
): Generator<number> {
  const [gap, fold] = reading.isInterval ? ['skip', 'both'] : [system.gap, system.fold]
  const start = date.toZonedDateTime(timezone)
  const isPlain =
    start.hoursInDay === 24 &&
    start.offset === date.add({ days: 1 }).toZonedDateTime(timezone).offset &&
    start.hour === 0
  for (const hour of reading.hours)
    for (const minute of reading.minutes)
      for (const second of reading.seconds) {
        if (isPlain) {
          yield start.epochMilliseconds + ((hour * 60 + minute) * 60 + second) * 1_000
          continue
        }
        const wall = date.toPlainDateTime({ hour, minute, second })
        const [early, late] = [
          wall.toZonedDateTime(timezone, { disambiguation: 'earlier' }),
          wall.toZonedDateTime(timezone, { disambiguation: 'later' }),
        ]
        if (early.epochMilliseconds === late.epochMilliseconds) yield early.epochMilliseconds
        else if (early.toPlainDateTime().equals(wall)) {
          yield early.epochMilliseconds
          if (fold === 'both') yield late.epochMilliseconds
        } else if (gap === 'next') {
          const change = early.getTimeZoneTransition('next')
          if (change !== null) yield change.epochMilliseconds
        }
      }
}

function read(text: string, { layout, days, sunday }: CronSystem): Reading | null {
  const fields = text
    .replace(/^cron\((.*)\)$/i, '$1')
    .trim()
    .split(/\s+/)
  const isSix = layout === 'six' && fields.length === 6
  if (fields.length !== (layout === 'year-last' || isSix ? 6 : 5)) return null
  const [second, minute = '', hour = '', day = '', month = '', weekday = '', year] = isSix ? fields : ['0', ...fields]
  const weekdays = { ...ranges.weekday, ...(sunday === 1 ? { min: 1, max: 7, first: 1 } : {}) }
  const sets = [
    valuesOf(second ?? '0', ranges.second),
    valuesOf(minute, ranges.minute),
    valuesOf(hour, ranges.hour),
    valuesOf(month, ranges.month),
    year === undefined ? new Set<number>() : valuesOf(year, ranges.year),
  ]
  const dayTest = readDay(day)
  const weekdayTest = readWeekday(weekday, weekdays, sunday)
  const [seconds, minutes, hours, months, years] = sets
  if (!seconds || !minutes || !hours || !months || !years || !dayTest || !weekdayTest) return null
  const isStar = (field: string): boolean =>
    days === 'bare' ? field.split(',').some((item) => /^[*?](\/1)?$/.test(item)) : /^[*?]/.test(field)
  const both = days === 'both' || isStar(day) || isStar(weekday)
  return {
    seconds: sorted(seconds),
    minutes: sorted(minutes),
    hours: sorted(hours),
    isInterval: /^[*?]/.test(minute) || /^[*?]/.test(hour),
    isDay: (date) =>
      months.has(date.month) &&
      (year === undefined || years.has(date.year)) &&
      (both ? dayTest(date) && weekdayTest(date) : dayTest(date) || weekdayTest(date)),
  }
}

const sorted = (values: Set<number>): number[] => [...values].sort((a, b) => a - b)

function readDay(text: string): DayTest | null {
  if (/^l$/i.test(text)) return (date) => date.day === date.daysInMonth
  const nearest = /^(\d{1,2})w$/i.exec(text)?.[1]
  if (nearest !== undefined) return (date) => date.day === workdayNear(date, Number(nearest))
  const values = valuesOf(text, ranges.day)
  return values && ((date) => values.has(date.day))
}

/** The working day nearest to a day of the month, inside the month. */
function workdayNear(date: Temporal.PlainDate, day: number): number {
  if (day > date.daysInMonth) return 0
  const { dayOfWeek } = date.with({ day })
  if (dayOfWeek === 6) return day === 1 ? 3 : day - 1
  if (dayOfWeek === 7) return day === date.daysInMonth ? day - 2 : day + 1
  return day
}

function readWeekday(text: string, range: Parameters<typeof valuesOf>[1], sunday: 0 | 1): DayTest | null {
  const [, name = '', nth] = /^([a-z0-9]+)(l|#[1-5])$/i.exec(text) ?? []
  const values = valuesOf(nth === undefined ? text : name, range)
  if (values === null) return null
  const days = new Set([...values].map((value) => (value - sunday) % 7))
  return (date) =>
    days.has(date.dayOfWeek % 7) &&
    (nth === undefined ||
      (nth.startsWith('#') ? Math.ceil(date.day / 7) === Number(nth[1]) : date.day + 7 > date.daysInMonth))
}

const vixie: CronSystem = { layout: 'five', days: 'vixie', gap: 'next', fold: 'first', sunday: 0 }

/** How the systems that entries come from read their expressions. */
export const cronSystems = {
  crontab: vixie,
  'system-crontab': vixie,
  'cloud-scheduler': vixie,
  'github-actions': vixie,
  kubernetes: { layout: 'five', days: 'bare', gap: 'skip', fold: 'both', sunday: 0 },
  eventbridge: { layout: 'year-last', days: 'bare', gap: 'skip', fold: 'first', sunday: 1 },
  bullmq: { layout: 'six', days: 'bare', gap: 'next', fold: 'first', sunday: 0 },
  temporal: { layout: 'six', days: 'both', gap: 'skip', fold: 'both', sunday: 0 },
} as const satisfies Record<string, CronSystem>
