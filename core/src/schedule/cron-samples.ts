import fc from 'fast-check'
import type { CronSample } from './brute-force.ts'

/** One generated field: its text, and what it means. */
interface FieldSample {
  readonly text: string
  /** It counts as a star although it does not begin with one. */
  readonly isStar?: boolean
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

type Dialect = 'vixie' | 'quartz' | 'kubernetes'

/** Plain items of a field; `shift` is what a dialect adds to a value when it writes it. */
function plainItem(min: number, max: number, dialect: Dialect, isWeek = false): fc.Arbitrary<FieldSample> {
  const value = fc.integer({ min, max })
  const last = isWeek ? 6 : max
  const step = fc.integer({ min: 1, max: last - min + 1 })
  const run = (from: number, to: number): number[] =>
    (from <= to ? upTo(from, to) : [...upTo(from, last), ...upTo(min, to)]).map((day) => (isWeek ? day % 7 : day))
  const written = (at: number): number => (isWeek && dialect === 'quartz' ? at + 1 : at)
  const ends = fc
    .tuple(value, value)
    .map(([from, to]) => (dialect === 'kubernetes' && from > to ? ([to, from] as const) : ([from, to] as const)))
  const bare = fc.tuple(value, step).map(([from, n]) => {
    const isStar = dialect === 'quartz' && from === min
    return { ...plain(`${written(from)}/${n}`, everyNth(upTo(from, last), n)), isStar }
  })
  return fc.oneof(
    { weight: 3, arbitrary: value.map((at) => plain(`${written(at)}`, run(at, at))) },
    { weight: 2, arbitrary: fc.constant(plain('*', upTo(min, last))) },
    { weight: 2, arbitrary: step.map((n) => plain(`*/${n}`, everyNth(upTo(min, last), n))) },
    { weight: 1, arbitrary: ends.map(([from, to]) => plain(`${written(from)}-${written(to)}`, run(from, to))) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(ends, step)
        .map(([[from, to], n]) => plain(`${written(from)}-${written(to)}/${n}`, everyNth(run(from, to), n))),
    },
    { weight: dialect === 'vixie' ? 0 : 2, arbitrary: bare },
  )
}

function field(item: fc.Arbitrary<FieldSample>): fc.Arbitrary<FieldSample> {
  return fc.array(item, { minLength: 1, maxLength: 3, size: 'small' }).map((items) => {
    const listed = items.length > 1 ? items.filter(({ text }) => !/^L.*W$/.test(text)) : items
    const kept = listed.length > 0 ? listed : items.slice(0, 1)
    return {
      text: kept.map(({ text }) => text).join(','),
      values: kept.flatMap(({ values }) => values),
      days: kept.flatMap(({ days }) => days),
      isStar: kept[0]?.isStar ?? false,
    }
  })
}

/** Whether a day of a date's month is one from Monday to Friday. */
const isWeekday = (date: Temporal.PlainDate, day: number): boolean => (date.dayOfWeek + day - date.day + 34) % 7 < 5

function nearestWeekday(date: Temporal.PlainDate, day: number): boolean {
  const { daysInMonth } = date
  if (day > daysInMonth || Math.abs(date.day - day) > 2) return false
  const weekdays = upTo(1, daysInMonth).filter((other) => isWeekday(date, other))
  return weekdays.sort((a, b) => Math.abs(a - day) - Math.abs(b - day))[0] === date.day
}

function lastWeekday(date: Temporal.PlainDate): boolean {
  return upTo(1, date.daysInMonth).findLast((day) => isWeekday(date, day)) === date.day
}

const fromEnd = fc.integer({ min: 1, max: 30 })
const monthDay = (dialect: Dialect): fc.Arbitrary<FieldSample> =>
  field(
    fc.oneof(
      { weight: 6, arbitrary: plainItem(1, 31, dialect) },
      { weight: 1, arbitrary: fc.constant(special('L', (date) => date.day === date.daysInMonth)) },
      { weight: 1, arbitrary: fc.constant(special('LW', lastWeekday)) },
      { weight: 1, arbitrary: fromEnd.map((n) => special(`L-${n}`, (date) => date.day === date.daysInMonth - n)) },
      {
        weight: 1,
        arbitrary: fromEnd.map((n) =>
          special(`L-${n}W`, (date) => n < date.daysInMonth && nearestWeekday(date, date.daysInMonth - n)),
        ),
      },
      {
        weight: 1,
        arbitrary: fc
          .integer({ min: 1, max: 31 })
          .map((day) => special(`${day}W`, (date) => nearestWeekday(date, day))),
      },
    ),
  )

const weekDay = (dialect: Dialect): fc.Arbitrary<FieldSample> => {
  const shift = dialect === 'quartz' ? 1 : 0
  const weekday = fc.integer({ min: 0, max: 7 - shift })
  return field(
    fc.oneof(
      { weight: 6, arbitrary: plainItem(0, 7 - shift, dialect, true) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(weekday, fc.integer({ min: 1, max: 5 }))
          .map(([day, nth]) =>
            special(
              `${day + shift}#${nth}`,
              (date) => date.dayOfWeek % 7 === day % 7 && Math.ceil(date.day / 7) === nth,
            ),
          ),
      },
      {
        weight: 1,
        arbitrary: weekday.map((day) =>
          special(`${day + shift}L`, (date) => date.dayOfWeek % 7 === day % 7 && date.day + 7 > date.daysInMonth),
        ),
      },
    ),
  )
}

const seconds = fc.oneof(
  { weight: 4, arbitrary: fc.constant(plain('', [0])) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 59 }).map((at) => plain(`${at} `, [at])) },
  { weight: 1, arbitrary: fc.constantFrom(20, 30, 45).map((n) => plain(`*/${n} `, everyNth(upTo(0, 59), n))) },
)

interface Fields {
  readonly dialect: Dialect
  readonly second: FieldSample
  readonly minute: FieldSample
  readonly hour: FieldSample
  readonly day: FieldSample
  readonly month: FieldSample
  readonly week: FieldSample
}

function toSample({ dialect, second, minute, hour, day, month, week }: Fields): CronSample {
  const hasStar = ({ text, isStar }: FieldSample): boolean =>
    dialect === 'kubernetes' ? /(^|,)\*(\/1)?(,|$)/.test(text) : /^[*?]/.test(text) || isStar === true
  const inMonth = (date: Temporal.PlainDate): boolean =>
    day.values.includes(date.day) || day.days.some((rule) => rule(date))
  const inWeek = (date: Temporal.PlainDate): boolean =>
    week.values.includes(date.dayOfWeek % 7) || week.days.some((rule) => rule(date))
  const both = hasStar(day) || hasStar(week)
  return {
    dialect,
    text: `${second.text}${minute.text} ${hour.text} ${day.text} ${month.text} ${week.text}`,
    seconds: second.values,
    minutes: new Set(minute.values),
    hours: new Set(hour.values),
    months: new Set(month.values),
    followsRealTime: hasStar(minute) || hasStar(hour),
    matchesDay: (date) => (both ? inMonth(date) && inWeek(date) : inMonth(date) || inWeek(date)),
  }
}

const samplesOf = <Second extends FieldSample>(
  dialect: Dialect,
  second: fc.Arbitrary<Second>,
  days: fc.Arbitrary<readonly [FieldSample, FieldSample]>,
): fc.Arbitrary<CronSample> =>
  fc
    .record({
      second,
      minute: field(plainItem(0, 59, dialect)),
      hour: field(plainItem(0, 23, dialect)),
      month: field(plainItem(1, 12, dialect)),
      days,
    })
    .map(({ days: [day, week], ...rest }) => toSample({ dialect, day, week, ...rest }))

const noSecond = fc.constant(plain('', [0]))
const anyMonthDay = plain('?', upTo(1, 31))
const anyWeekDay = plain('?', upTo(0, 6))

/** Expressions of 5 and 6 fields; some ask for dates that do not exist. */
export const cronSamples = samplesOf('vixie', seconds, fc.tuple(monthDay('vixie'), weekDay('vixie')))

/** The same in the words of Quartz (one day field is `?`) and of Kubernetes (no day rules). */
export const dialectSamples: fc.Arbitrary<CronSample> = fc.oneof(
  samplesOf(
    'quartz',
    seconds.map(({ text, ...rest }) => ({ ...rest, text: text === '' ? '0 ' : text })),
    fc.oneof(
      monthDay('quartz').map((day) => [day, anyWeekDay] as const),
      weekDay('quartz').map((week) => [anyMonthDay, week] as const),
    ),
  ),
  samplesOf(
    'kubernetes',
    noSecond,
    fc.tuple(field(plainItem(1, 31, 'kubernetes')), field(plainItem(0, 6, 'kubernetes', true))),
  ),
)
