import { describe, expect, test } from 'vitest'
import { compileCalendar } from './calendar.ts'
import { findCollisions } from './collisions.ts'
import type { DecideOptions } from './decide.ts'
import { type ForecastJob, forecast } from './forecast.ts'
import type { FullSchedule } from './full-schedule.ts'
import { compileSchedule, occurrencesBetween } from './occurrences.ts'
import { nativeZones } from './zone.ts'

const fromMs = Date.UTC(2026, 2, 28)
const day = { fromMs, untilMs: fromMs + 86_400_000, bucketMs: 3_600_000 }
const cron = (text: string, more: object = {}): FullSchedule => ({ type: 'cron', cron: text, timezone: 'UTC', ...more })

/** The starts of jobs, one job after the other, by what previews show. */
function oneByOne(jobs: readonly ForecastJob[], options: DecideOptions): number[] {
  const starts = new Array<number>(24).fill(0)
  for (const { schedule, seed = '' } of jobs) {
    const compiled = compileSchedule(schedule, nativeZones, { ...options, seed })
    const [from, until] = [fromMs - 40 * 86_400_000, day.untilMs + 40 * 86_400_000].map((ms) =>
      Temporal.Instant.fromEpochMilliseconds(ms),
    )
    if (!from || !until) throw new Error('unreachable')
    for (const { effectiveAt, skipped } of occurrencesBetween(compiled, from, until, 1e6)) {
      const bucket = Math.floor((effectiveAt.epochMilliseconds - fromMs) / 3_600_000)
      if (!skipped && bucket >= 0 && bucket < 24) starts[bucket] = (starts[bucket] ?? 0) + 1
    }
  }
  return starts
}

describe('a forecast', () => {
  test('is what the schedules do one by one, with calendars, windows, jitter, hashes and blackouts', () => {
    const weekend = compileCalendar({ weekly: [{ days: ['SAT', 'SUN'], from: '00:00', until: '24:00' }] })
    const options: DecideOptions = {
      calendars: { weekend },
      blackouts: [
        { name: 'a', fromMs: fromMs + 7_200_000, untilMs: fromMs + 10_800_000 },
        { name: 'b', fromMs: fromMs + 14_400_000, untilMs: fromMs + 18_000_000, roll: 'next' },
      ],
    }
    const schedules: FullSchedule[] = [
      cron('*/20 * * * *'),
      cron('30 2 * * *', { timezone: 'Europe/Berlin' }),
      cron('0 9 * * *', { window: 'PT3H' }),
      cron('*/30 * * * *', { jitter: 'PT1H' }),
      cron('H H(0-23) * * *'),
      cron('0 9 29 * *', { notOn: ['weekend'], roll: 'previous' }),
      cron('0 9 27,28 * *', { notOn: ['weekend'], roll: 'modified-following' }),
      { type: 'every', every: 'PT50M', anchor: '2026-03-01T00:07:00Z' },
      { type: 'rrule', rrule: 'FREQ=HOURLY;BYMINUTE=5,35', timezone: 'Asia/Kolkata', dtstart: '2026-01-01' },
      { type: 'at', at: '2026-03-28T11:00:00Z' },
    ]
    const jobs = schedules.flatMap((schedule, index) =>
      [0, 1, 2].map((job) => ({ schedule, seed: `job_${index}_${job}` })),
    )
    const result = forecast(jobs, { ...day, ...options })
    expect([...result.total.starts]).toEqual(oneByOne(jobs, options))
    expect(result.failures).toEqual([])
  })

  test('begins where the ledger ends, with what that has decided otherwise', () => {
    const at = (hour: number) => fromMs + hour * 3_600_000
    const hoursOf = (job: ForecastJob, more: object = {}) =>
      [...forecast([job], { ...day, ...more }).total.starts].flatMap((count, hour) =>
        new Array<number>(count).fill(hour),
      )
    const hourly = cron('0 * * * *')
    // Before 20:00 all is decided: one still starts at 03:30. 22:00 was skipped, and 23:00 moved to 05:00.
    const ledger = { beforeMs: at(20), nominalMs: [at(22), at(23)], startsMs: [at(3.5), at(30)], movedMs: [at(5)] }
    expect(hoursOf({ schedule: hourly, ledger })).toEqual([3, 5, 20, 21])
    expect(hoursOf({ schedule: hourly, ledger: { ...ledger, startsMs: [], movedMs: [] }, runsLeft: 1 })).toEqual([20])
    expect(hoursOf({ schedule: hourly, ledger, runsLeft: 0 })).toEqual([3, 5])
    expect(hoursOf({ schedule: cron('0 * * * *', { maxRuns: 9 }), runsLeft: 2 })).toEqual([0, 1])
    expect(hoursOf({ schedule: cron('0 * * * *', { maxRuns: 3 }) })).toEqual([0, 1, 2])
  })

  test('counts no run for an instant that a blackout skips', () => {
    const options = { ...day, blackouts: [{ name: 'a', fromMs: fromMs + 3_000_000, untilMs: fromMs + 9_000_000 }] }
    const { total } = forecast([{ schedule: cron('0 * * * *'), runsLeft: 2 }], options)
    expect([...total.starts].slice(0, 6)).toEqual([1, 0, 0, 1, 0, 0])
  })

  test('computes equal schedules together unless their ledgers differ', () => {
    const jobs = [1, 1, 2, undefined].map((runsLeft) => ({ schedule: cron('0 * * * *'), runsLeft }))
    expect(forecast(jobs, day).total.starts.slice(0, 3)).toEqual(Float64Array.from([4, 2, 1]))
  })

  test('counts by key, each job once for each of its keys', () => {
    const { byKey, total } = forecast(
      [
        { schedule: cron('0 * * * *'), keys: ['pool:a', 'host:x', 'pool:a'] },
        { schedule: cron('0 12 * * *'), keys: ['pool:a', 'host:y'] },
      ],
      day,
    )
    const sums = Object.fromEntries(
      [...byKey].map(([key, { starts }]) => [key, starts.reduce((sum, count) => sum + count, 0)]),
    )
    expect(sums).toEqual({ 'pool:a': 25, 'host:x': 24, 'host:y': 1 })
    expect(total.starts[12]).toBe(2)
  })

  test('weighs runs by how long they take', () => {
    const running = (schedule: FullSchedule, durationMs: number) => [
      ...forecast([{ schedule, durationMs }], day).total.running,
    ]
    expect(running(cron('0 3 * * *'), 1_800_000).slice(2, 6)).toEqual([0, 0.5, 0, 0])
    expect(running(cron('30 3 * * *'), 5_400_000).slice(2, 7)).toEqual([0, 0.5, 1, 0, 0])
    expect(running(cron('45 3 * * *'), 10_800_000).slice(2, 8)).toEqual([0, 0.25, 1, 1, 0.75, 0])
    expect(running(cron('0 23 * * *'), 100 * 3_600_000).slice(22)).toEqual([0, 1])
  })

  test('names what it cannot compute and goes on', () => {
    const { failures, total } = forecast(
      [
        { schedule: cron('0 * * * *', { notOn: ['nowhere'] }) },
        { schedule: cron('0 * * * *') },
        { schedule: { type: 'every', every: 'PT1H' } },
      ],
      day,
    )
    expect(failures).toEqual([
      { jobs: [0], reason: expect.stringContaining('nowhere') },
      { jobs: [2], reason: expect.stringContaining('anchor') },
    ])
    expect(total.starts[5]).toBe(1)
    expect(() => forecast([], { ...day, bucketMs: 1 })).toThrow('50000 buckets')
  })
})

describe('collisions', () => {
  test('are the fullest instants, worst first, with a window that spreads them', () => {
    const midnight = Array.from({ length: 214 }, () => ({ schedule: cron('0 0 29 * *') }))
    const noon = Array.from({ length: 12 }, (_, index) => ({
      schedule: cron('0 12 * * *', { timezone: index % 2 ? 'UTC' : 'Etc/GMT' }),
    }))
    const jobs = [...noon, ...midnight, { schedule: cron('7 7 * * *') }]
    const found = findCollisions(jobs, { fromMs, untilMs: fromMs + 2 * 86_400_000 })
    expect(found.map(({ atMs, count, times }) => [new Date(atMs).toISOString().slice(0, 16), count, times])).toEqual([
      ['2026-03-29T00:00', 214, 1],
      ['2026-03-28T12:00', 12, 2],
    ])
    expect(found[0]?.suggestion).toEqual({ window: 'PT30M', perMinute: 8 })
    expect(found[0]?.jobs).toEqual(Array.from({ length: 20 }, (_, index) => 12 + index))
    expect(found[1]?.suggestion).toEqual({ window: 'PT5M', perMinute: 3 })
    expect(findCollisions(jobs, { ...day, least: 13 })).toEqual([])
    expect(findCollisions(jobs, { fromMs, untilMs: fromMs + 2 * 86_400_000, most: 1 })).toHaveLength(1)
  })

  test('that a window spreads are none', () => {
    const spread = Array.from({ length: 200 }, (_, index) => ({
      schedule: cron('0 0 29 * *', { window: 'PT30M' }),
      seed: `job_${index}`,
    }))
    expect(findCollisions(spread, { fromMs, untilMs: fromMs + 2 * 86_400_000, least: 3 })).toEqual([])
  })

  test('at the end of a blackout count each job once, and no window is said to help', () => {
    const often = Array.from({ length: 12 }, () => ({ schedule: cron('*/10 1-2 29 * *') }))
    const untilMs = fromMs + 28 * 3_600_000
    const blackouts = [{ name: 'Move', fromMs, untilMs, roll: 'next' as const }]
    const found = findCollisions(often, { fromMs, untilMs: fromMs + 2 * 86_400_000, blackouts })
    expect(found).toMatchObject([{ atMs: untilMs, count: 12, suggestion: null }])
    expect(found[0]?.jobs).toEqual(Array.from({ length: 12 }, (_, index) => index))
  })
})
