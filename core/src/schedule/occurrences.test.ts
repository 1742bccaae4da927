import { describe, expect, test } from 'vitest'
import { compileSchedule, nextInstantMs, nextOccurrences, occurrencesBetween } from './occurrences.ts'
import { anchorSchedule, parseSchedule, type Schedule } from './schedule.ts'
import { nativeZones, type ZoneDatabase } from './zone.ts'

const instant = (text: string) => Temporal.Instant.from(text)
const fires = (schedule: Schedule, after: string, count: number) =>
  nextOccurrences(schedule, instant(after), count).map(({ nominalAt }) => nominalAt.toString())
const notes = (schedule: Schedule, after: string, count = 1) =>
  nextOccurrences(schedule, instant(after), count).flatMap((occurrence) => occurrence.notes)

describe('every', () => {
  test('counts exact time from its anchor, in both directions of the clock change', () => {
    const every = { type: 'every', every: 'PT12H', anchor: '2026-03-28T12:00:00', timezone: 'Europe/Berlin' } as const
    expect(fires(every, '2026-03-28T10:00:00Z', 3)).toEqual([
      '2026-03-28T11:00:00Z',
      '2026-03-28T23:00:00Z',
      '2026-03-29T11:00:00Z',
    ])
  })

  test('keeps its phase, whenever it is asked', () => {
    const compiled = compileSchedule({ type: 'every', every: 'PT7M', anchor: '2026-01-01T00:00:00Z' })
    const anchorMs = Date.UTC(2026, 0, 1)
    for (const afterMs of [anchorMs - 1, anchorMs, anchorMs + 419_999, anchorMs + 420_000, anchorMs + 1e12 + 1]) {
      const at = nextInstantMs(compiled, afterMs) ?? 0
      expect([(at - anchorMs) % 420_000, at > afterMs, at - afterMs <= 420_000]).toEqual([0, true, true])
    }
  })

  test('begins with its anchor when that is ahead', () => {
    expect(
      fires({ type: 'every', every: 'PT1H', anchor: '2026-06-01T00:30:00+02:00' }, '2026-01-01T00:00:00Z', 2),
    ).toEqual(['2026-05-31T22:30:00Z', '2026-05-31T23:30:00Z'])
  })

  test('without anchor counts from the creation, the first run one interval later', () => {
    const every = { type: 'every', every: 'PT15M' } as const
    const created = instant('2026-01-01T00:00:00.123Z')
    expect(anchorSchedule(every, created)).toEqual({ ...every, anchor: '2026-01-01T00:00:00.123Z' })
    expect(fires(every, created.toString(), 1)).toEqual(['2026-01-01T00:15:00.123Z'])
    expect(() => compileSchedule(every)).toThrow('anchor')
  })

  test('keeps an anchor it has', () => {
    const every = { type: 'every', every: 'PT15M', anchor: '2026-01-01T00:00:00Z' } as const
    expect(anchorSchedule(every, instant('2027-01-01T00:00:00Z'))).toBe(every)
  })

  test('tells its two runs in a repeated hour apart', () => {
    const every = { type: 'every', every: 'PT1H', anchor: '2026-10-25T00:30:00Z', timezone: 'Europe/London' } as const
    expect(notes(every, '2026-10-25T00:00:00Z', 3)).toEqual([
      'fold: 01:30 happens twice on 2026-10-25, this is the first (+01:00)',
      'fold: 01:30 happens twice on 2026-10-25, this is the second (+00:00)',
    ])
  })

  test('ends with the year 9999', () => {
    const compiled = compileSchedule({ type: 'every', every: 'PT48H', anchor: '9999-12-30T12:00:00Z' })
    expect(nextInstantMs(compiled, Date.UTC(9999, 11, 30))).toBe(Date.UTC(9999, 11, 30, 12))
    expect(nextInstantMs(compiled, Date.UTC(9999, 11, 30, 12))).toBeNull()
  })
})

describe('at', () => {
  test('happens once, after the reference only', () => {
    const at = { type: 'at', at: '2026-07-01T09:00:00', timezone: 'Europe/London' } as const
    expect(fires(at, '2026-07-01T07:59:59.999Z', 5)).toEqual(['2026-07-01T08:00:00Z'])
    expect(fires(at, '2026-07-01T08:00:00Z', 5)).toEqual([])
  })

  test('in a gap runs at its end, in a repeated hour at the first', () => {
    const timezone = 'Europe/London'
    expect(notes({ type: 'at', at: '2026-03-29T01:30', timezone }, '2026-01-01T00:00:00Z')).toEqual([
      'gap: 01:30 does not exist on 2026-03-29, runs at 02:00',
    ])
    expect(notes({ type: 'at', at: '2026-10-25T01:30', timezone }, '2026-01-01T00:00:00Z')).toEqual([
      'fold: 01:30 happens twice on 2026-10-25, runs at the first (+01:00)',
    ])
  })
})

describe('bounds', () => {
  const minutely = { type: 'cron', cron: '* * * * *', timezone: 'Europe/London' } as const

  test('hold both their instants', () => {
    const bounded = { ...minutely, startAt: '2026-07-01T09:00', endAt: '2026-07-01T08:02:00Z' }
    expect(fires(bounded, '2026-01-01T00:00:00Z', 9)).toEqual(
      ['00', '01', '02'].map((minute) => `2026-07-01T08:${minute}:00Z`),
    )
    expect(fires(bounded, '2026-07-01T08:01:00Z', 9)).toEqual(['2026-07-01T08:02:00Z'])
  })

  test('do not move the phase of an interval, but give it a start when it has none', () => {
    const every = { type: 'every', every: 'PT7M', startAt: '2026-07-01T08:01Z' } as const
    expect(fires({ ...every, anchor: '2026-07-01T08:00Z' }, '2026-01-01T00:00:00Z', 1)).toEqual([
      '2026-07-01T08:07:00Z',
    ])
    expect(fires(every, '2026-01-01T00:00:00Z', 2)).toEqual(['2026-07-01T08:01:00Z', '2026-07-01T08:08:00Z'])
  })

  test('that hold nothing are refused', () => {
    const problems = (input: object) => {
      const parsed = parseSchedule(input)
      return parsed.ok ? [] : parsed.problems
    }
    const daily = { ...minutely, cron: '0 9 * * *' }
    expect(problems({ ...daily, startAt: '2026-07-01T09:01', endAt: '2026-07-02T08:59' })).toEqual([
      { pointer: '/endAt', detail: 'No time of it is within these bounds, so it would never run' },
    ])
    expect(problems({ ...daily, startAt: '2026-07-02T00:00Z', endAt: '2026-07-01T00:00Z' })).toEqual([
      { pointer: '/endAt', detail: 'It ends before it starts' },
    ])
    expect(problems({ ...daily, startAt: 'soon' })).toEqual([
      { pointer: '/startAt', detail: expect.stringContaining('ISO 8601') },
    ])
    expect(problems({ type: 'every', every: 'PT1M', startAt: '2026-07-02T00:00' })).toMatchObject([
      { pointer: '/timezone' },
    ])
    expect(
      problems({ type: 'every', every: 'P1D', anchor: '2026-07-02T00:00Z', endAt: '2026-07-01T00:00Z' }),
    ).toMatchObject([{ pointer: '/endAt' }])
    expect(problems({ type: 'at', at: '2026-07-01T00:00Z', endAt: '2026-07-02T00:00Z' })).toMatchObject([
      { pointer: '/endAt' },
    ])
    expect(problems({ ...daily, endAt: '1999-01-01T00:00Z' })).toEqual([])
  })
})

describe('an occurrence', () => {
  const london = (cron: string, more: object = {}): Schedule => ({
    type: 'cron',
    cron,
    timezone: 'Europe/London',
    ...more,
  })

  test('has its instant, its wall clock and its offset', () => {
    const [occurrence] = nextOccurrences(london('25 6 * * *'), instant('2026-03-28T12:00:00Z'), 1)
    expect(occurrence).toEqual({
      nominalAt: instant('2026-03-29T05:25:00Z'),
      effectiveAt: instant('2026-03-29T05:25:00Z'),
      local: '2026-03-29T06:25:00',
      offset: '+01:00',
      notes: [],
    })
  })

  test.each([
    ['30 1 * * *', {}, 'gap: 01:30 does not exist on 2026-03-29, runs at 02:00'],
    ['30 1 * * *', { gap: 'shift' }, 'gap: 01:30 does not exist on 2026-03-29, runs at 02:30'],
    ['0,30 1 * * *', {}, 'gap: 01:00 and 01:30 do not exist on 2026-03-29, runs once at 02:00'],
    ['0-40/10 1 * * *', {}, 'gap: 01:00, 01:10, 01:20 and more do not exist on 2026-03-29, runs once at 02:00'],
    ['5 30 1 * * *', {}, 'gap: 01:30:05 does not exist on 2026-03-29, runs at 02:00'],
  ])('%s in a gap with %j says so', (cron, more, note) => {
    expect(notes(london(cron, more), '2026-03-28T12:00:00Z')).toEqual([note])
  })

  test('says the date too when a whole day is missing', () => {
    const samoa = { type: 'cron', cron: '0 9 * * *', timezone: 'Pacific/Apia' } as const
    expect(notes(samoa, '2011-12-29T20:00:00Z')).toEqual([
      'gap: 09:00 does not exist on 2011-12-30, runs at 2011-12-31 00:00',
    ])
  })

  test.each([
    ['30 1 * * *', {}, ['runs at the first (+01:00)']],
    ['30 1 * * *', { fold: 'second' }, ['runs at the second (+00:00)']],
    ['30 1 * * *', { fold: 'both' }, ['this is the first (+01:00)', 'this is the second (+00:00)']],
    ['30 * * * *', {}, ['this is the first (+01:00)', 'this is the second (+00:00)']],
  ])('%s in a repeated hour with %j says so', (cron, more, ends) => {
    expect(notes(london(cron, more), '2026-10-25T00:00:00Z', 3)).toEqual(
      ends.map((end) => `fold: 01:30 happens twice on 2026-10-25, ${end}`),
    )
  })

  test('times that a gap brings together are one', () => {
    const berlin = { type: 'cron', cron: '0,30 2,3 * * *', timezone: 'Europe/Berlin' } as const
    expect(fires(berlin, '2026-03-29T00:00:00Z', 3)).toEqual([
      '2026-03-29T01:00:00Z',
      '2026-03-29T01:30:00Z',
      '2026-03-30T00:00:00Z',
    ])
    expect(fires({ ...berlin, cron: '10,40 2 * * *', gap: 'shift' }, '2026-03-29T00:00:00Z', 2)).toEqual([
      '2026-03-29T01:10:00Z',
      '2026-03-29T01:40:00Z',
    ])
  })
})

describe('windows', () => {
  const minutely = { type: 'cron', cron: '* * * * *', timezone: 'UTC' } as const

  test('are open at their beginning and closed at their end, so that neighbours share nothing', () => {
    const [a, b, c] = ['2026-01-01T00:00:00Z', '2026-01-01T00:05:00Z', '2026-01-01T00:09:59.999Z'].map(instant)
    if (!a || !b || !c) throw new Error('unreachable')
    const both = [...occurrencesBetween(minutely, a, b, 100), ...occurrencesBetween(minutely, b, c, 100)]
    expect(both.map(({ local }) => local.slice(14, 16))).toEqual(['01', '02', '03', '04', '05', '06', '07', '08', '09'])
  })

  test('stop at their limit, without looking further', () => {
    const window = occurrencesBetween(
      compileSchedule(minutely),
      instant('2026-01-01T00:00:00Z'),
      instant('2999-01-01T00:00:00Z'),
      2,
    )
    expect([...window]).toHaveLength(2)
    expect(nextOccurrences(minutely, instant('2026-01-01T00:00:00Z'), 0)).toEqual([])
  })
})

describe('compiling', () => {
  test('refuses what the zone data does not have', () => {
    const empty: ZoneDatabase = { version: '1970a', find: () => undefined }
    expect(() => compileSchedule({ type: 'cron', cron: '* * * * *', timezone: 'Europe/London' }, empty)).toThrow(
      '1970a',
    )
  })

  test('takes other zone data: the same schedule under a country that moved its change', () => {
    const moved: ZoneDatabase = {
      version: 'fixture',
      find: (id) => ({ id, spanAt: () => ({ from: -Infinity, until: Infinity, offset: 3 * 3_600_000 }) }),
    }
    const schedule = { type: 'cron', cron: '0 9 * * *', timezone: 'Europe/London' } as const
    const afterMs = Date.UTC(2026, 6, 1)
    expect(nextInstantMs(compileSchedule(schedule, moved), afterMs)).toBe(Date.UTC(2026, 6, 1, 6))
    expect(nextInstantMs(compileSchedule(schedule, nativeZones), afterMs)).toBe(Date.UTC(2026, 6, 1, 8))
  })

  test.each<[Schedule, string]>([
    [{ type: 'cron', cron: '60 * * * *', timezone: 'UTC' }, 'minute'],
    [{ type: 'every', every: 'P1DT1H', anchor: '2026-01-01T00:00Z' }, 'Calendar units'],
    [{ type: 'at', at: 'tomorrow' }, 'not a date'],
  ])('refuses what was never parsed: %j', (schedule, message) => {
    expect(() => compileSchedule(schedule)).toThrow(message)
  })

  test('a rule that a gap swallows each time ends instead of searching for ever', () => {
    const never = { type: 'cron', cron: '30 2 * 3 7L', timezone: 'Europe/Berlin', gap: 'skip' } as const
    expect(nextInstantMs(compileSchedule(never), Date.UTC(2026, 0, 1))).toBeNull()
  })
})
