import { describe, expect, test } from 'vitest'
import { compileCalendar } from './calendar.ts'
import { describeSchedule } from './describe.ts'
import { diffSchedules } from './diff.ts'
import { type FullSchedule, parseFullSchedule } from './full-schedule.ts'
import { compileSchedule, nextOccurrences } from './occurrences.ts'
import { previewSchedule } from './preview.ts'
import { parseSchedule } from './schedule.ts'
import { nativeZones } from './zone.ts'

const instant = (text: string) => Temporal.Instant.from(text)
const after = instant('2026-03-01T00:00:00Z')
const cron = (text: string, more: object = {}): FullSchedule => ({ type: 'cron', cron: text, timezone: 'UTC', ...more })
const hourly = (more: object) => cron('0 * * * *', more)
const delays = (schedule: FullSchedule, seed: string, count = 50) =>
  nextOccurrences(compileSchedule(schedule, nativeZones, { seed }), after, count).map(
    ({ nominalAt, effectiveAt }) => effectiveAt.epochMilliseconds - nominalAt.epochMilliseconds,
  )

describe('what only the full schema takes', () => {
  test.each([
    cron('H H * * *'),
    hourly({ jitter: 'PT5M' }),
    hourly({ window: 'PT24H', maxRuns: 3 }),
    hourly({ onlyOn: ['office'], notOn: ['holidays'], roll: 'modified-following' }),
    { type: 'every', every: 'P1D', window: 'PT1H' },
    { type: 'rrule', rrule: 'FREQ=DAILY', timezone: 'UTC', jitter: 'PT1M' },
    { type: 'at', at: '2026-07-01T09:00Z', notOn: ['holidays'], roll: 'next' },
  ])('%j', (schedule) => {
    expect(parseFullSchedule(schedule)).toEqual({ ok: true, schedule })
    expect(parseSchedule(schedule).ok).toBe(false)
  })

  test.each<[object, string, RegExp]>([
    [{ jitter: 'PT5M', window: 'PT5M' }, '/window', /not both/],
    [{ jitter: 'P1D' }, '/jitter', /exact time, at most 24 hours/],
    [{ window: 'PT25H' }, '/window', /at most 24 hours/],
    [{ jitter: '5m' }, '/jitter', /ISO 8601/],
    [{ roll: 'next' }, '/roll', /together with/],
    [{ roll: 'away', notOn: ['a'] }, '/roll', /skip/],
    [{ maxRuns: 0 }, '/maxRuns', /1/],
    [{ notOn: [] }, '/notOn', /1/],
  ])('%j is refused', (more, pointer, detail) => {
    const parsed = parseFullSchedule(hourly(more))
    expect(parsed.ok ? [] : parsed.problems).toEqual([{ pointer, detail: expect.stringMatching(detail) }])
  })

  test('everything that is wrong with a simple schedule is wrong here too', () => {
    const parsed = parseFullSchedule(cron('60 * * * *', { endAt: 'never', other: 1 }))
    expect(parsed.ok ? [] : parsed.problems.map(({ pointer }) => pointer)).toEqual(['/endAt', '/other', '/cron'])
  })
})

describe('a window', () => {
  test('moves all occurrences of a job by the same part of it, and each job by its own', () => {
    const window = hourly({ window: 'PT10M' })
    const offsets = Array.from({ length: 200 }, (_, job) => delays(window, `job_${job}`, 3))
    for (const own of offsets) expect(new Set(own).size).toBe(1)
    const firsts = offsets.map(([first = 0]) => first)
    expect(Math.min(...firsts)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...firsts)).toBeLessThan(600_000)
    expect(new Set(firsts.map((offset) => Math.floor(offset / 60_000))).size).toBe(10)
  })

  test('is the same for ever', () => {
    expect(['job_a', 'job_b'].map((seed) => delays(hourly({ window: 'PT10M' }), seed, 1)[0])).toMatchInlineSnapshot(`
      [
        344824,
        463059,
      ]
    `)
  })
})

describe('jitter', () => {
  test('differs from one occurrence to the next, and is the same whenever it is asked', () => {
    const jitter = hourly({ jitter: 'PT10M' })
    const own = delays(jitter, 'job_a')
    expect(new Set(own).size).toBeGreaterThan(45)
    expect(own.every((delay) => delay >= 0 && delay < 600_000)).toBe(true)
    expect(delays(jitter, 'job_a')).toEqual(own)
    expect(delays(jitter, 'job_b')).not.toEqual(own)
  })

  test('never goes past the next occurrence, so the order stays', () => {
    const minutely = cron('* * * * *', { jitter: 'PT1H' })
    expect(Math.max(...delays(minutely, 'job_a', 200))).toBeLessThan(60_000)
  })
})

test('maxRuns counts what runs, from what has run already', () => {
  const weekend = compileCalendar({ weekly: [{ days: ['SAT', 'SUN'], from: '00:00', until: '24:00' }] })
  const daily = cron('0 9 * * *', { maxRuns: 3, notOn: ['weekend'] })
  const runs = (runsSoFar: number) =>
    nextOccurrences(
      compileSchedule(daily, nativeZones, { calendars: { weekend }, runsSoFar }),
      instant('2026-03-06T00:00Z'),
      99,
    )
  expect(runs(0).map(({ local, skipped }) => `${local.slice(8, 10)}${skipped ? ' skipped' : ''}`)).toEqual([
    '06',
    '07 skipped',
    '08 skipped',
    '09',
    '10',
  ])
  expect(runs(2)).toHaveLength(1)
  expect(runs(3)).toEqual([])
})

describe('words', () => {
  test.each([
    [{ jitter: 'PT5M' }, ', each up to 5 minutes later'],
    [{ window: 'PT1H', maxRuns: 1 }, ', within 1 hour, at most 1 time'],
    [{ onlyOn: ['office'], notOn: ['a', 'b'] }, ', only on office and not on a or b (left out otherwise)'],
    [{ notOn: ['a'], roll: 'previous' }, ', not on a (otherwise at the last open time before)'],
  ])('%j', (more, words) => {
    expect(describeSchedule(hourly(more))).toBe(`Every hour, at minute 0, UTC${words}`)
  })

  test('a preview shows both instants, and warns', () => {
    const weekend = compileCalendar({ weekly: [{ days: ['SAT', 'SUN'], from: '00:00', until: '24:00' }] })
    const options = { seed: 'job_a', calendars: { weekend } }
    const preview = (more: object) => previewSchedule(cron('0 9 * * *', more), instant('2026-03-06T12:00Z'), 2, options)
    expect(preview({ notOn: ['weekend'], roll: 'previous' })).toEqual({
      occurrences: [
        expect.objectContaining({ skipped: 'calendar', notes: [expect.stringContaining('it runs anyway')] }),
        expect.objectContaining({ skipped: 'calendar' }),
      ],
      description: expect.stringContaining('not on weekend'),
      warnings: ['Its calendars leave out 15 of its next 50 occurrences.'],
    })
    const [first] = preview({ window: 'PT10M' }).occurrences
    expect(first?.nominalAt).toBe('2026-03-07T09:00:00.000Z')
    expect(first?.effectiveAt).toMatch(/^2026-03-07T09:0/)
    expect(first?.notes).toEqual([expect.stringMatching(/^window: starts .* later$/)])
    expect(preview({ jitter: 'PT24H' }).warnings).toEqual([])
    expect(previewSchedule(hourly({ window: 'PT2H' }), after, 1).warnings).toEqual([
      expect.stringMatching(/^The window/),
    ])
    expect(previewSchedule(hourly({ jitter: 'PT2H' }), after, 1).warnings).toEqual([
      expect.stringMatching(/^The jitter/),
    ])
    expect(previewSchedule(cron('H * * * *'), after, 1).warnings).toEqual([expect.stringContaining('`H`')])
  })
})

describe('the difference of two schedules', () => {
  const instants = (list: readonly { effectiveAt: Temporal.Instant }[]) =>
    list.map(({ effectiveAt }) => effectiveAt.toString())

  test('is what appears, what disappears and what stays', () => {
    const diff = diffSchedules(cron('0 9 * * *'), cron('0 9,17 * * 1'), after, 7)
    expect(instants(diff.added)).toEqual(['2026-03-02T17:00:00Z'])
    expect(instants(diff.removed)).toEqual(
      ['01', '03', '04', '05', '06', '07'].map((day) => `2026-03-${day}T09:00:00Z`),
    )
    expect(diff.kept).toBe(1)
    expect(diff.until.toString()).toBe('2026-03-08T00:00:00Z')
  })

  test('is the difference of two previews', () => {
    const [before, next] = [cron('*/7 * * * *'), cron('*/5 * * * *', { timezone: 'Europe/London' })]
    const of = (schedule: FullSchedule) =>
      previewSchedule(schedule, after, 500)
        .occurrences.map(({ effectiveAt }) => effectiveAt)
        .filter((at) => at <= '2026-03-02T00:00:00.000Z')
    const [old, fresh] = [of(before), of(next)]
    const diff = diffSchedules(before, next, after, 1)
    const text = (list: typeof diff.added) =>
      list.map(({ effectiveAt }) => effectiveAt.toString({ fractionalSecondDigits: 3 }))
    expect(text(diff.added)).toEqual(fresh.filter((at) => !old.includes(at)))
    expect(text(diff.removed)).toEqual(old.filter((at) => !fresh.includes(at)))
  })

  test('shows a clock rule, a calendar and the first or last schedule of a job', () => {
    const night = { type: 'cron', cron: '30 2 * * *', timezone: 'Europe/Berlin' } as const
    const skip = diffSchedules(night, { ...night, gap: 'skip' }, instant('2026-03-28T12:00:00Z'), 3)
    expect([instants(skip.added), instants(skip.removed)]).toEqual([[], ['2026-03-29T01:00:00Z']])
    const weekend = compileCalendar({ weekly: [{ days: ['SAT', 'SUN'], from: '00:00', until: '24:00' }] })
    const monthly = cron('0 9 L * *')
    const rolled = diffSchedules(
      monthly,
      { ...monthly, notOn: ['weekend'], roll: 'previous' },
      instant('2026-01-05T00:00Z'),
      30,
      {
        calendars: { weekend },
      },
    )
    expect([instants(rolled.added), instants(rolled.removed)]).toEqual([
      ['2026-01-30T09:00:00Z'],
      ['2026-01-31T09:00:00Z'],
    ])
    const hourly = diffSchedules(cron('0 * * * *'), cron('0 9 * * *'), after, 1, { durationMs: 3_600_001 })
    expect(hourly.overlaps).toEqual({ before: 23, after: 0 })
    expect(diffSchedules(null, monthly, after, 31).added).toHaveLength(1)
    expect(diffSchedules(monthly, null, after, 31).removed).toHaveLength(1)
  })

  test('stops where there is too much to compare', () => {
    const diff = diffSchedules(cron('* * * * * *'), cron('*/2 * * * * *'), after, 30)
    expect(diff.until.epochMilliseconds - after.epochMilliseconds).toBe(20_000_000)
    expect([diff.added.length, diff.removed.length, diff.kept]).toEqual([0, 10_000, 10_000])
  })
})
