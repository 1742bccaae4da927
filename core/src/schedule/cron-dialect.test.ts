import { describe, expect, test } from 'vitest'
import { parseCron } from './cron.ts'
import { readCron, resolveHash } from './cron-hash.ts'
import { describeSchedule } from './describe.ts'
import { compileSchedule, nextOccurrences } from './occurrences.ts'
import { previewSchedule } from './preview.ts'
import { anchorSchedule, parseSchedule, type Schedule } from './schedule.ts'

const instant = (text: string) => Temporal.Instant.from(text)
const after = instant('2026-03-01T00:00:00Z')
const cronIn = (dialect: string, cron: string, more: object = {}) =>
  ({ type: 'cron', cron, timezone: 'UTC', dialect, ...more }) as Schedule
const fires = (schedule: Schedule, count: number) =>
  nextOccurrences(schedule, after, count).map(({ nominalAt }) => nominalAt.toString())
const refusals = (dialect: string, cron: string, more: object = {}) => {
  const parsed = parseSchedule(cronIn(dialect, cron, more))
  return parsed.ok ? [] : parsed.problems.map(({ pointer, detail }) => `${pointer} ${detail}`)
}

describe('what each dialect accepts, in words', () => {
  test.each([
    ['vixie', '0 9 L-1 * *', 'At 09:00 on the day 1 day before the last of every month'],
    ['vixie', '0 9 L-3W 6 *', 'At 09:00 on the Monday to Friday nearest the day 3 days before the last of June'],
    ['quartz', '0 0 12 ? * MON-FRI', 'At 12:00 on Monday to Friday'],
    ['quartz', '0 0 12 ? * 2-6', 'At 12:00 on Monday to Friday'],
    ['quartz', '0 0 12 ? * FRI-MON', 'At 12:00 on Monday and Friday to Sunday'],
    ['quartz', '0 0 12 ? * L', 'At 12:00 on Saturday'],
    ['quartz', '0 0 12 ? * 7L', 'At 12:00 on the last Saturday of the month'],
    ['quartz', '0 0 12 ? * SUN#1', 'At 12:00 on the 1st Sunday of the month'],
    [
      'quartz',
      '0 0 12 1/5 * ?',
      'At 12:00 on the 1st, the 6th, the 11th, the 16th, the 21st, the 26th and the 31st of every month',
    ],
    ['quartz', '0 /5 14,18 * * ?', 'Every 5 minutes in hours 14 and 18'],
    ['quartz', '0 5/15 * * * ?', 'Every hour, at minutes 5, 20, 35 and 50'],
    ['quartz', '0 0 0 1 1 ? 2027/2', 'At 00:00 on the 1st of January in 2027, 2029, 2031, … and 2099'],
    ['quartz', '0 0 0 1 1 ? *', 'At 00:00 on the 1st of January'],
    ['kubernetes', '? ? ? ? ?', 'Every minute'],
    ['kubernetes', '0 9 * jan-mar mon-fri', 'At 09:00 on Monday to Friday in January to March'],
    ['kubernetes', '@weekly', 'At 00:00 on Sunday'],
    ['kubernetes', '5/20 * * * *', 'Every hour, at minutes 5, 25 and 45'],
    ['eventbridge', 'cron(0 10 * * ? *)', 'At 10:00 every day'],
    ['eventbridge', 'cron(0/15 * * * ? 2026-2027)', 'Every 15 minutes in 2026 and 2027'],
    ['eventbridge', '0 18 ? * MON-FRI *', 'At 18:00 on Monday to Friday'],
    ['eventbridge', 'cron(0 9 ? * 3#2 *)', 'At 09:00 on the 2nd Tuesday of the month'],
  ])('%s: %s', (dialect, cron, words) => {
    expect(refusals(dialect, cron)).toEqual([])
    expect(describeSchedule(cronIn(dialect, cron))).toBe(`${words}, UTC`)
  })
})

describe('what each dialect refuses', () => {
  test.each([
    ['quartz', '0 12 * * ?', /6 fields, seconds first .*this has 5/],
    ['quartz', '0 0 12 * * *', /exactly one of day-of-month and day-of-week has to be "\?"/],
    ['quartz', '0 0 12 ? * ?', /exactly one/],
    ['quartz', '0 0 ? * * 1', /hour: "\?"/],
    ['quartz', '0 0 12 ? * 0', /day-of-week: "0" is outside 1-7/],
    ['quartz', '0 0 12 ? * 8', /day-of-week: "8" is outside 1-7/],
    ['quartz', '0 0 12 1 1 ? 1969', /year: "1969" is outside 1970-2099/],
    ['quartz', '0 0 12 29 2 ? 2027', /year: no year of "2027" has such a date/],
    ['quartz', '@daily', /no nicknames/],
    ['kubernetes', '0 0 12 * * *', /5 fields, this has 6/],
    ['kubernetes', '0 0 * * 7', /day-of-week: "7" is outside 0-6/],
    ['kubernetes', '0 0 L * *', /day-of-month: "L"/],
    ['kubernetes', '0 0 * * 1#2', /day-of-week: "1#2"/],
    ['kubernetes', '0 22-2 * * *', /hour: the range "22-2" ends before it starts/],
    ['kubernetes', '@every 5m', /`every`/],
    ['eventbridge', 'cron(0 10 * * *)', /6 fields, the year last, this has 5/],
    ['eventbridge', 'cron(0 10 * * * *)', /exactly one/],
    ['eventbridge', 'cron(0 10 ? * 1 2200)', /year: "2200" is outside 1970-2199/],
    ['eventbridge', 'rate(0 minutes)', /shortest interval/],
    ['eventbridge', 'rate(5 fortnights)', /EventBridge/],
    ['eventbridge', 'at(2026-02-30T09:00:00)', /at\(2026-07-01T09:00:00\)/],
    ['eventbridge', 'at(2026-07-01T09:00:00Z)', /EventBridge/],
    ['vixie', 'cron(0 10 * * ? *)', /set `dialect` to eventbridge/],
    ['vixie', '5/15 * * * *', /5-59\/15/],
  ])('%s: %s', (dialect, cron, detail) => {
    expect(refusals(dialect, cron).join('\n')).toMatch(new RegExp(`^/cron (?:.*\n/cron )*.*${detail.source}`))
  })

  test('a time that only its year and a gap leave nothing of', () => {
    const once = { dialect: 'quartz', timezone: 'Europe/Berlin', gap: 'skip' }
    expect(refusals('quartz', '0 30 2 29 3 ? 2026', once)).toEqual([expect.stringContaining('would never run')])
    expect(refusals('quartz', '0 30 2 29 3 ? 2026', { ...once, gap: 'next' })).toEqual([])
    expect(refusals('quartz', '0 30 2 29 3 ? 1999', once)).toEqual([])
    expect(refusals('quartz', '0 0 9 1 3 ? 2026', { startAt: '2027-01-01T00:00Z' })).toEqual([
      expect.stringContaining('/startAt'),
    ])
  })
})

describe('EventBridge', () => {
  test('a rate is an interval of exact time from the creation of the job', () => {
    const daily = cronIn('eventbridge', 'rate(1 day)', { timezone: 'Europe/London' })
    expect(anchorSchedule(daily, after)).toMatchObject({
      type: 'every',
      every: 'PT24H',
      anchor: '2026-03-01T00:00:00.000Z',
    })
    expect(fires(daily, 2)).toEqual(['2026-03-02T00:00:00Z', '2026-03-03T00:00:00Z'])
    expect(describeSchedule(cronIn('eventbridge', 'RATE(90 minutes)'))).toBe(
      'Every 1 hour 30 minutes, counted from the creation of the job',
    )
    expect(() => compileSchedule(daily)).toThrow('anchor')
    expect(refusals('eventbridge', 'rate(1 day)', { gap: 'skip' })).toEqual([expect.stringContaining('/gap')])
    expect(previewSchedule(daily, after, 1).warnings).toEqual([expect.stringContaining('exact time')])
  })

  test('a single time is read in the time zone', () => {
    const once = cronIn('eventbridge', 'at(2026-07-01T09:00:00)', { timezone: 'Europe/London' })
    expect(fires(once, 9)).toEqual(['2026-07-01T08:00:00Z'])
    expect(describeSchedule(once)).toBe('Once, at 2026-07-01 09:00, Europe/London')
    expect(refusals('eventbridge', 'at(2026-07-01T09:00:00)', { endAt: '2027-01-01T00:00Z' })).toEqual([
      expect.stringContaining('/endAt'),
    ])
  })
})

test('a year ends a schedule', () => {
  expect(fires(cronIn('quartz', '0 0 9 1 * ? 2025-2026'), 20)).toHaveLength(10)
  expect(fires(cronIn('quartz', '0 0 9 29 2 ? 2028,2096,2099'), 20)).toEqual([
    '2028-02-29T09:00:00Z',
    '2096-02-29T09:00:00Z',
  ])
})

describe('H', () => {
  const hashed = (cron: string, seed: string) => {
    const read = readCron({ cron }, seed)
    if (!read.ok) throw new Error(read.details.join())
    return compileSchedule({ type: 'cron', cron, timezone: 'UTC' }, undefined, { seed })
  }
  const first = (cron: string, seed: string) =>
    new Date(hashed(cron, seed).next(Date.UTC(2026, 0))?.at ?? 0).toISOString()

  test('is not for jobs yet', () => {
    expect(refusals('vixie', 'H * * * *')).toEqual(['/cron minute: "H" is not a number'])
  })

  test('is the same for the same seed, for ever', () => {
    expect(['job_a', 'job_b', 'job_c'].map((seed) => first('H H * * *', seed))).toMatchInlineSnapshot(`
      [
        "2026-01-01T00:41:00.000Z",
        "2026-01-01T01:12:00.000Z",
        "2026-01-01T17:49:00.000Z",
      ]
    `)
  })

  test('spreads jobs evenly, field by field', () => {
    const counts = new Array<number>(60).fill(0)
    let sameInBoth = 0
    for (let job = 0; job < 6_000; job++) {
      const at = new Date(first('H H(0-23) * * *', `job_${job}`))
      counts[at.getUTCMinutes()] = (counts[at.getUTCMinutes()] ?? 0) + 1
      if (at.getUTCMinutes() === at.getUTCHours()) sameInBoth++
    }
    expect(Math.min(...counts)).toBeGreaterThan(60)
    expect(Math.max(...counts)).toBeLessThan(145)
    expect(sameInBoth).toBeLessThan(160)
  })

  test.each([
    ['H(10-19) * * * *', (at: Date) => at.getUTCMinutes() >= 10 && at.getUTCMinutes() <= 19],
    ['0 0 H * *', (at: Date) => at.getUTCDate() <= 28],
    ['0 0 1 H *', (at: Date) => at.getUTCDate() === 1],
    ['0 0 * * H(1-5)', (at: Date) => at.getUTCDay() >= 1 && at.getUTCDay() <= 5],
  ])('%s keeps to its range', (cron, fits) => {
    for (let job = 0; job < 200; job++) expect(fits(new Date(first(cron, `job_${job}`)))).toBe(true)
  })

  test('with a step is every so many from a value of its own, and an interval like `*/15`', () => {
    const parsed = parseCron('H/15 * * * *', { hasHash: true })
    if (!parsed.ok) throw new Error('unreachable')
    expect(parsed.cron.followsRealTime).toBe(true)
    const [item] = resolveHash(parsed.cron, 'job_a').fields.minute.items
    expect(item).toMatchObject({ kind: 'range', to: 59, step: 15 })
    const minutes = nextOccurrences(hashed('H/15 * * * *', 'job_a'), after, 4).map(({ local }) =>
      Number(local.slice(14, 16)),
    )
    expect(minutes.map((minute) => (minute - (minutes[0] ?? 0) + 60) % 60).sort((a, b) => a - b)).toEqual([
      0, 15, 30, 45,
    ])
  })

  test.each([
    ['H(5-70) * * * *', /"70" is outside/],
    ['H(30-10) * * * *', /not within 0-59/],
    ['H(5) * * * 1#H', /day-of-week/],
    ['H/61 * * * *', /step/],
    ['H(0-9)/11 * * * *', /the step "\/11" is not a number from 1 to 10/],
    ['0 0 H(1-31) * *', /not within 1-28/],
    ['0 0 31 H *', /up to 28/],
    ['HH * * * *', /"HH"/],
  ])('%s is refused', (cron, detail) => {
    const parsed = parseCron(cron, { hasHash: true })
    expect(parsed.ok ? '' : parsed.details.join()).toMatch(detail)
  })

  test('is described as what it is for this job', () => {
    expect(describeSchedule({ type: 'cron', cron: 'H(7-7) H(3-3) * * *', timezone: 'UTC' }, 'job_a')).toBe(
      'At 03:07 every day, UTC',
    )
  })
})
