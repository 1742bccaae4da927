import { describe, expect, test } from 'vitest'
import { describeSchedule } from './describe.ts'
import { compileSchedule } from './occurrences.ts'
import { previewSchedule } from './preview.ts'
import type { Schedule } from './schedule.ts'
import { scheduleWarnings } from './warnings.ts'

const after = Temporal.Instant.from('2026-03-01T00:00:00Z')
const cronIn = (cron: string, timezone = 'UTC', more: object = {}): Schedule => ({
  type: 'cron',
  cron,
  timezone,
  ...more,
})
const warnings = (schedule: Schedule) => scheduleWarnings(compileSchedule(schedule), after)

describe('plain words', () => {
  test.each([
    ['25 6 * * *', 'At 06:25 every day'],
    ['15 30 6 * * *', 'At 06:30:15 every day'],
    ['0,30 9,17 * * *', 'At 09:00, 09:30, 17:00 and 17:30 every day'],
    ['* * * * *', 'Every minute'],
    ['*/15 * * * *', 'Every 15 minutes'],
    ['*/15 9-17 * * 1-5', 'Every 15 minutes in hours 9 to 17 on Monday to Friday'],
    ['* 9-17 * * *', 'Every minute from 09:00 to 17:59'],
    ['* 9,17 * * *', 'Every minute in hours 9 and 17'],
    ['*/45 * * * *', 'Every hour, at minutes 0 and 45'],
    ['@hourly', 'Every hour, at minute 0'],
    ['5 */2 * * *', 'Every 2 hours, at minute 5'],
    ['0 */5 * * *', 'At minute 0 in hours 0, 5, 10, 15 and 20'],
    ['0 9-17 * * *', 'Every hour from 09:00 to 17:00'],
    ['0 22-2 * * *', 'At minute 0 in hours 0 to 2, 22 and 23'],
    ['*/7 3 * * *', 'At minutes 0, 7, 14, … and 56 in hour 3'],
    ['* * * * * *', 'Every second'],
    ['*/10 * 9 * * *', 'Every 10 seconds from 09:00 to 09:59'],
    ['30 * * * * *', 'At second 30 of every minute'],
    ['*/20 5 * * * *', 'Every 20 seconds in minute 5 of every hour'],
    ['*/10 30 2 * * *', 'Every 10 seconds in minute 30 in hour 2'],
    ['@weekly', 'At 00:00 on Sunday'],
    ['0 0 * * SAT,SUN', 'At 00:00 on Saturday and Sunday'],
    ['0 0 * * 0-6', 'At 00:00 on any day'],
    ['0 0 1,15 * *', 'At 00:00 on the 1st and the 15th of every month'],
    ['0 0 2-4,11,22,23 * *', 'At 00:00 on the 2nd to the 4th, the 11th, the 22nd and the 23rd of every month'],
    ['0 0 * 1-3 *', 'At 00:00 every day in January to March'],
    ['0 0 1 1 *', 'At 00:00 on the 1st of January'],
    ['0 0 * 12 1', 'At 00:00 on Monday in December'],
    ['0 0 L * *', 'At 00:00 on the last day of every month'],
    ['0 0 1,L 6 *', 'At 00:00 on the 1st and the last day of June'],
    ['0 0 LW * *', 'At 00:00 on the last day that is Monday to Friday of every month'],
    ['0 0 15W * *', 'At 00:00 on the Monday to Friday nearest the 15th of every month'],
    ['0 0 * * FRI#2', 'At 00:00 on the 2nd Friday of the month'],
    ['0 0 * * 1,5L', 'At 00:00 on Monday and the last Friday of the month'],
    ['0 0 1 6 1', 'At 00:00 on the 1st of June or on Monday in June'],
    ['0 0 1 * 1', 'At 00:00 on the 1st of every month or on Monday'],
    ['0 0 */15 * 1', 'At 00:00 on the 1st, the 16th and the 31st of every month, only when that is Monday'],
  ])('%s', (cron, words) => {
    expect(describeSchedule(cronIn(cron, 'europe/london'))).toBe(`${words}, Europe/London`)
  })

  test.each<[Schedule, string]>([
    [{ type: 'every', every: 'PT15M' }, 'Every 15 minutes, counted from the creation of the job'],
    [
      { type: 'every', every: 'PT1H30M0.5S', anchor: '2026-07-01T00:00Z' },
      'Every 1 hour 30 minutes 0.5 seconds, counted from 2026-07-01 00:00, UTC',
    ],
    [
      { type: 'every', every: 'PT24H', anchor: '2026-07-01T00:00Z', timezone: 'Europe/London' },
      'Every 24 hours, counted from 2026-07-01 01:00, Europe/London',
    ],
    [{ type: 'every', every: 'P1D' }, 'Every day, counted from the creation of the job'],
    [{ type: 'every', every: 'P2W' }, 'Every 2 weeks, counted from the creation of the job'],
    [{ type: 'every', every: 'P1Y6M10D' }, 'Every 18 months 10 days, counted from the creation of the job'],
    [{ type: 'at', at: '2026-07-01T09:00', timezone: 'Europe/London' }, 'Once, at 2026-07-01 09:00, Europe/London'],
    [{ type: 'at', at: '2026-07-01T09:00:05+02:00' }, 'Once, at 2026-07-01 07:00:05, UTC'],
  ])('%j', (schedule, words) => {
    expect(describeSchedule(schedule)).toBe(words)
  })

  test('bounds come last', () => {
    const bounds = { startAt: '2026-01-01T08:00Z', endAt: '2026-06-01T08:00Z' }
    expect(describeSchedule(cronIn('25 6 * * *', 'Europe/London', bounds))).toBe(
      'At 06:25 every day, Europe/London, not before 2026-01-01 08:00, Europe/London, until 2026-06-01 09:00, Europe/London',
    )
    expect(describeSchedule({ type: 'every', every: 'PT1H', startAt: '2026-01-01T08:00Z' })).toBe(
      'Every 1 hour, counted from 2026-01-01 08:00, UTC, not before 2026-01-01 08:00, UTC',
    )
  })

  test.each<Schedule>([
    cronIn('nonsense', 'Mars/Phobos'),
    { type: 'rrule', rrule: 'nonsense', timezone: 'UTC' },
    { type: 'every', every: 'often' },
    { type: 'at', at: 'tomorrow' },
  ])('what was never parsed is shown as it is: %j', (schedule) => {
    expect(describeSchedule(schedule)).toMatch(/nonsense, (Mars\/Phobos|UTC)|often|tomorrow/)
  })
})

describe('warnings', () => {
  test.each([['25 6 * * *'], ['* * * * *'], ['*/15 9-17 * * 1-5'], ['0 0 L * *'], ['0 0 28 * *'], ['0 0 31 1 *']])(
    'none for %s',
    (cron) => {
      expect(warnings(cronIn(cron))).toEqual([])
    },
  )

  test.each([
    ['0 0 1 * 1', /^Both day fields are set: it runs on every day that matches either/],
    ['0 0 */31 * 1', /^Both day fields are set and one starts with `\*`: it runs only on days that match both/],
    [
      '*/45 * * * *',
      /^`\*\/45` in the minute field is not every 45 minutes: it starts again each hour \(0 and 45\)\.$/,
    ],
    ['*/7 0 0 * * *', /the second field is not every 7 seconds/],
    ['0 */5 * * *', /the hour field is not every 5 hours: it starts again each day \(0, 5, 10, 15 and 20\)/],
    ['0 0 */2 * *', /the day-of-month field is not every 2 days: it starts again each month/],
    ['0 0 1 */5 *', /the month field is not every 5 months: it starts again each year \(1, 6 and 11\)/],
    ['0 0 * * */2', /the day-of-week field is not every 2 days: it starts again each week \(0, 2, 4 and 6\)/],
    ['0 0 31 * *', /^Months without day 31 are left out/],
    ['0 0 29 * *', /^Months without day 29 are left out/],
    ['0 0 29 2 *', /^29 February exists in leap years only/],
  ])('%s', (cron, warning) => {
    expect(warnings(cronIn(cron))).toContainEqual(expect.stringMatching(warning))
  })

  test('gap and fold have no effect on what follows real time', () => {
    expect(warnings(cronIn('* * * * *', 'UTC', { gap: 'skip' }))).toEqual([expect.stringContaining('have no effect')])
    expect(warnings(cronIn('* * * * *', 'UTC', { fold: 'both' }))).toEqual([expect.stringContaining('have no effect')])
  })

  const forward = 'On 2026-03-29 the clocks in Europe/Berlin go forward from 02:00 to 03:00: '
  const back = 'On 2026-10-25 the clocks in Europe/Berlin go back from 03:00 to 02:00: '
  test.each([
    ['30 2 * * *', {}, '02:30 does not exist, so it runs at 03:00.', '02:30 happens twice, and it runs at the first.'],
    [
      '30 2 * * *',
      { gap: 'skip', fold: 'both' },
      '02:30 does not exist, so it does not run then.',
      '02:30 happens twice, and it runs at both.',
    ],
    [
      '0,30 2 * * *',
      { gap: 'shift', fold: 'second' },
      '02:00 and 02:30 do not exist, so it runs at 03:00 and 03:30.',
      '02:00 and 02:30 happen twice, and it runs at the second.',
    ],
    [
      '0,30 2 * * *',
      {},
      '02:00 and 02:30 do not exist, so it runs once at 03:00.',
      '02:00 and 02:30 happen twice, and it runs at the first.',
    ],
    ['0 */2 * * *', {}, '02:00 does not exist, so it does not run then.', '02:00 happens twice, and it runs at both.'],
  ])('the clock changes of the next year that touch %s with %j', (cron, more, atGap, atFold) => {
    expect(warnings(cronIn(cron, 'Europe/Berlin', more)).slice(0, 2)).toEqual([forward + atGap, back + atFold])
  })

  test('clock changes that touch nothing are left out', () => {
    expect(warnings(cronIn('25 6 * * *', 'Europe/Berlin'))).toEqual([])
    expect(warnings(cronIn('0 2 * * *', 'Asia/Kolkata'))).toEqual([])
    expect(warnings(cronIn('*/5 * * * *', 'Europe/Berlin'))).toEqual([])
  })

  test('an interval of whole days drifts against the clock', () => {
    const daily = { type: 'every', every: 'PT24H', anchor: '2026-01-01T09:00:00Z' } as const
    expect(warnings({ ...daily, timezone: 'Europe/London' })).toEqual([expect.stringContaining('another time of day')])
    expect(warnings({ ...daily, timezone: 'Asia/Kolkata' })).toEqual([])
    expect(warnings({ ...daily, every: 'PT15M', timezone: 'Europe/London' })).toEqual([])
  })

  test('an interval of months from a day that not every month has', () => {
    const monthly = { type: 'every', every: 'P1M', anchor: '2026-01-31T09:00:00Z' } as const
    expect(warnings(monthly)).toEqual([expect.stringContaining('counts from day 31')])
    expect(warnings({ ...monthly, every: 'P1D' })).toEqual([])
    expect(warnings({ ...monthly, every: 'P1Y' })).toEqual([])
    expect(warnings({ ...monthly, every: 'P1Y', anchor: '2024-02-29T09:00:00Z' })).toHaveLength(1)
    expect(warnings({ ...monthly, anchor: '2026-01-28T09:00:00Z' })).toEqual([])
  })

  test('an interval of calendar units at a clock change', () => {
    const daily = { type: 'every', every: 'P1D', anchor: '2026-01-01T02:30', timezone: 'Europe/Berlin' } as const
    expect(warnings(daily)).toEqual([
      expect.stringMatching(/^On 2026-03-29 .* 02:30 does not exist, so it runs at 03:00/),
      expect.stringMatching(/^On 2026-10-25 .* 02:30 happens twice/),
    ])
  })

  test('what has passed would never run', () => {
    expect(warnings({ type: 'at', at: '2026-02-01T00:00:00Z' })).toEqual([
      'It has no occurrence after 2026-03-01T00:00:00Z, so it would never run.',
    ])
    expect(warnings({ type: 'at', at: '2026-04-01T00:00:00Z' })).toEqual([])
  })
})

describe('preview', () => {
  test('is what the wire promises', () => {
    const schedule = cronIn('30 1 * * *', 'Europe/London')
    expect(previewSchedule(schedule, Temporal.Instant.from('2026-03-28T12:00:00Z'), 2)).toEqual({
      occurrences: [
        {
          nominalAt: '2026-03-29T01:00:00.000Z',
          effectiveAt: '2026-03-29T01:00:00.000Z',
          local: '2026-03-29T02:00:00',
          offset: '+01:00',
          notes: ['gap: 01:30 does not exist on 2026-03-29, runs at 02:00'],
        },
        {
          nominalAt: '2026-03-30T00:30:00.000Z',
          effectiveAt: '2026-03-30T00:30:00.000Z',
          local: '2026-03-30T01:30:00',
          offset: '+01:00',
          notes: [],
        },
      ],
      description: 'At 01:30 every day, Europe/London',
      warnings: expect.arrayContaining([expect.stringMatching(/^On 2026-03-29 .* so it runs at 02:00\.$/)]),
    })
  })

  test('of an interval without anchor counts from the reference', () => {
    const { occurrences } = previewSchedule({ type: 'every', every: 'PT15M' }, after, 2)
    expect(occurrences.map(({ nominalAt }) => nominalAt)).toEqual([
      '2026-03-01T00:15:00.000Z',
      '2026-03-01T00:30:00.000Z',
    ])
  })
})
