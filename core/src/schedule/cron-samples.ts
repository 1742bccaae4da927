import fc from 'fast-check'
import type { CronSample } from './brute-force.ts'

/** One generated field: its text, and what it means. */
interface FieldSample {
  readonly text: string
  readonly values: readonly number[]
  /** Day rules beside plain values, such as `L`. */
  readonly days: readonly ((date: Temporal.PlainDate) => boolean)[]
}

const plain = (text: string, values: readonly number[]): FieldSample => ({ text, values, days: [] })
const special = (text: string, day: (date: Temporal.PlainDate) => boolean): FieldSample => ({
  text,
  values: [],
  days: [day],
})
const upTo = (min: number, max: number): number[] => Array.from({ length: max - min + 1 }, (_, index) => min + index)
const everyNth = (values: readonly number[], step: number): number[] => values.filter((_, index) => index % step === 0)

function plainItem(min: number, max: number, isWeek = false): fc.Arbitrary<FieldSample> {
  const value = fc.integer({ min, max })
  const last = isWeek ? 6 : max
  const step = fc.integer({ min: 1, max: last - min + 1 })
  const run = (from: number, to: number): number[] =>
    (from <= to ? upTo(from, to) : [...upTo(from, last), ...upTo(min, to)]).map((day) => (isWeek ? day % 7 : day))
  return fc.oneof(
    { weight: 3, arbitrary: value.map((at) => plain(`${at}`, run(at, at))) },
    { weight: 2, arbitrary: fc.constant(plain('*', upTo(min, last))) },
    { weight: 2, arbitrary: step.map((n) => plain(`*/${n}`, everyNth(upTo(min, last), n))) },
    { weight: 1, arbitrary: fc.tuple(value, value).map(([from, to]) => plain(`${from}-${to}`, run(from, to))) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(value, value, step)
        .map(([from, to, n]) => plain(`${from}-${to}/${n}`, everyNth(run(from, to), n))),
    },
  )
}

function field(item: fc.Arbitrary<FieldSample>): fc.Arbitrary<FieldSample> {
  return fc.array(item, { minLength: 1, maxLength: 3, size: 'small' }).map((items) => {
    const listed = items.length > 1 ? items.filter(({ text }) => text !== 'LW') : items
    const kept = listed.length > 0 ? listed : items.slice(0, 1)
    return {
      text: kept.map(({ text }) => text).join(','),
      values: kept.flatMap(({ values }) => values),
      days: kept.flatMap(({ days }) => days),
    }
  })
}

const isWeekday = (date: Temporal.PlainDate): boolean => date.dayOfWeek <= 5

function nearestWeekday(date: Temporal.PlainDate, day: number): boolean {
  if (day > date.daysInMonth) return false
  const weekdays = upTo(1, date.daysInMonth).filter((other) => isWeekday(date.with({ day: other })))
  return weekdays.sort((a, b) => Math.abs(a - day) - Math.abs(b - day))[0] === date.day
}

function lastWeekday(date: Temporal.PlainDate): boolean {
  return upTo(1, date.daysInMonth).findLast((day) => isWeekday(date.with({ day }))) === date.day
}

const dayOfMonth = field(
  fc.oneof(
    { weight: 6, arbitrary: plainItem(1, 31) },
    { weight: 1, arbitrary: fc.constant(special('L', (date) => date.day === date.daysInMonth)) },
    { weight: 1, arbitrary: fc.constant(special('LW', lastWeekday)) },
    {
      weight: 1,
      arbitrary: fc.integer({ min: 1, max: 31 }).map((day) => special(`${day}W`, (date) => nearestWeekday(date, day))),
    },
  ),
)

const weekday = fc.integer({ min: 0, max: 7 })
const dayOfWeek = field(
  fc.oneof(
    { weight: 6, arbitrary: plainItem(0, 7, true) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(weekday, fc.integer({ min: 1, max: 5 }))
        .map(([day, nth]) =>
          special(`${day}#${nth}`, (date) => date.dayOfWeek % 7 === day % 7 && Math.ceil(date.day / 7) === nth),
        ),
    },
    {
      weight: 1,
      arbitrary: weekday.map((day) =>
        special(`${day}L`, (date) => date.dayOfWeek % 7 === day % 7 && date.day + 7 > date.daysInMonth),
      ),
    },
  ),
)

const seconds = fc.oneof(
  { weight: 4, arbitrary: fc.constant(plain('', [0])) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 59 }).map((at) => plain(`${at} `, [at])) },
  { weight: 1, arbitrary: fc.constantFrom(20, 30, 45).map((n) => plain(`*/${n} `, everyNth(upTo(0, 59), n))) },
)

/** Expressions of 5 and 6 fields; some ask for dates that do not exist. */
export const cronSamples: fc.Arbitrary<CronSample> = fc
  .tuple(seconds, field(plainItem(0, 59)), field(plainItem(0, 23)), dayOfMonth, field(plainItem(1, 12)), dayOfWeek)
  .map(([second, minute, hour, day, month, week]) => {
    const hasStar = (sample: FieldSample): boolean => sample.text.startsWith('*')
    const inMonth = (date: Temporal.PlainDate): boolean =>
      day.values.includes(date.day) || day.days.some((rule) => rule(date))
    const inWeek = (date: Temporal.PlainDate): boolean =>
      week.values.includes(date.dayOfWeek % 7) || week.days.some((rule) => rule(date))
    const both = hasStar(day) || hasStar(week)
    return {
      text: `${second.text}${minute.text} ${hour.text} ${day.text} ${month.text} ${week.text}`,
      seconds: second.values,
      minutes: new Set(minute.values),
      hours: new Set(hour.values),
      months: new Set(month.values),
      followsRealTime: hasStar(minute) || hasStar(hour),
      matchesDay: (date) => (both ? inMonth(date) && inWeek(date) : inMonth(date) || inWeek(date)),
    }
  })
