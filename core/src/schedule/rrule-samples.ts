import fc from 'fast-check'

/** A generated rule that carries its own meaning, so that nothing has to parse it. */
export interface RuleSample {
  readonly text: string
  readonly frequency: 'YEARLY' | 'MONTHLY' | 'WEEKLY' | 'DAILY' | 'HOURLY' | 'MINUTELY'
  readonly interval: number
  readonly months: readonly number[]
  readonly weeks: readonly number[]
  readonly yearDays: readonly number[]
  readonly monthDays: readonly number[]
  readonly days: readonly { readonly weekday: number; readonly nth?: number }[]
  readonly hours: readonly number[]
  readonly minutes: readonly number[]
  readonly positions: readonly number[]
  /** 1 is Monday, 7 is Sunday. */
  readonly weekStart: number
}

const codes = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU']
const listOf = (value: fc.Arbitrary<number>, maxLength = 3): fc.Arbitrary<number[]> =>
  fc.uniqueArray(value, { minLength: 1, maxLength })
const maybe = (value: fc.Arbitrary<number[]>, weight: number): fc.Arbitrary<number[]> =>
  fc.oneof({ weight: 10 - weight, arbitrary: fc.constant<number[]>([]) }, { weight, arbitrary: value })
const signed = (max: number): fc.Arbitrary<number> =>
  fc.tuple(fc.integer({ min: 1, max }), fc.boolean()).map(([value, fromEnd]) => (fromEnd ? -value : value))

/** Rules of every kind but SECONDLY, which is MINUTELY to what looks at minutes; some ask for what does not exist. */
export const ruleSamples: fc.Arbitrary<RuleSample> = fc
  .constantFrom('YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY', 'HOURLY', 'MINUTELY')
  .chain((frequency) => {
    const isYearly = frequency === 'YEARLY'
    const byWeek = isYearly ? maybe(listOf(signed(53)), 2) : fc.constant([])
    const byYearDay = ['YEARLY', 'HOURLY', 'MINUTELY'].includes(frequency)
      ? maybe(listOf(signed(366)), 2)
      : fc.constant([])
    const small = { YEARLY: 4, MONTHLY: 14, WEEKLY: 6, DAILY: 20, HOURLY: 40, MINUTELY: 200 }[frequency]
    return fc.record({
      frequency: fc.constant(frequency),
      interval: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: small })),
      months: maybe(listOf(fc.integer({ min: 1, max: 12 })), 3),
      weeks: byWeek,
      yearDays: byYearDay,
      monthDays: frequency === 'WEEKLY' ? fc.constant([]) : maybe(listOf(signed(31), 4), 3),
      weekdays: maybe(listOf(fc.integer({ min: 1, max: 7 }), 5), 4),
      places: fc.array(fc.oneof(fc.constant(0), signed(isYearly ? 53 : 5)), { minLength: 5, maxLength: 5 }),
      hours: maybe(listOf(fc.integer({ min: 0, max: 23 })), 4),
      minutes: maybe(listOf(fc.integer({ min: 0, max: 59 })), 4),
      positions: maybe(listOf(signed(4), 2), 2),
      weekStart: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 7 })),
    })
  })
  .map(({ weekdays, places, positions, ...rest }) => {
    const hasPlaces = (rest.frequency === 'YEARLY' && rest.weeks.length === 0) || rest.frequency === 'MONTHLY'
    const days = weekdays.map((weekday, index) => {
      const nth = hasPlaces ? (places[index] ?? 0) : 0
      return nth === 0 ? { weekday } : { weekday, nth }
    })
    const { months, weeks, yearDays, monthDays, hours, minutes } = rest
    const others = [months, weeks, yearDays, monthDays, days, hours, minutes].some((list) => list.length > 0)
    const chosen = others ? positions : []
    const part = (name: string, values: readonly (number | string)[]): string[] =>
      values.length > 0 ? [`${name}=${values.join(',')}`] : []
    const text = [
      `FREQ=${rest.frequency}`,
      ...(rest.interval > 1 ? [`INTERVAL=${rest.interval}`] : []),
      ...part('BYMONTH', months),
      ...part('BYWEEKNO', weeks),
      ...part('BYYEARDAY', yearDays),
      ...part('BYMONTHDAY', monthDays),
      ...part(
        'BYDAY',
        days.map(({ weekday, nth }) => `${nth ?? ''}${codes[weekday - 1]}`),
      ),
      ...part('BYHOUR', hours),
      ...part('BYMINUTE', minutes),
      ...part('BYSETPOS', chosen),
      ...(rest.weekStart === 1 ? [] : [`WKST=${codes[rest.weekStart - 1]}`]),
    ].join(';')
    return { ...rest, text, days, positions: chosen }
  })
