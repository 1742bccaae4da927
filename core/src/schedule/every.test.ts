import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { calendarRule } from './every.ts'
import { compileSchedule, nextInstantMs, nextOccurrences } from './occurrences.ts'
import type { Schedule } from './schedule.ts'

const instant = (text: string) => Temporal.Instant.from(text)
const fires = (schedule: Schedule, after: string, count: number) =>
  nextOccurrences(schedule, instant(after), count).map(({ nominalAt }) => nominalAt.toString())
const notes = (schedule: Schedule, after: string) =>
  nextOccurrences(schedule, instant(after), 1).flatMap((occurrence) => occurrence.notes)

describe('every in calendar units', () => {
  const timezone = 'Europe/Berlin'
  const walls = (every: string, anchor: string, after: string, count: number) =>
    nextOccurrences({ type: 'every', every, anchor, timezone }, instant(after), count).map(({ local }) => local)

  test('keeps the wall clock through both clock changes', () => {
    const daily = { type: 'every', every: 'P1D', anchor: '2026-03-01T09:00', timezone } as const
    expect(fires(daily, '2026-03-28T00:00:00Z', 2)).toEqual(['2026-03-28T08:00:00Z', '2026-03-29T07:00:00Z'])
    expect(fires(daily, '2026-10-24T00:00:00Z', 2)).toEqual(['2026-10-24T07:00:00Z', '2026-10-25T08:00:00Z'])
  })

  test('has the gap and fold rules of cron, and its default', () => {
    const daily = { type: 'every', every: 'P1D', anchor: '2026-01-01T02:30', timezone } as const
    const march = '2026-03-28T12:00:00Z'
    expect(fires(daily, march, 1)).toEqual(['2026-03-29T01:00:00Z'])
    expect(notes(daily, march)).toEqual(['gap: 02:30 does not exist on 2026-03-29, runs at 03:00'])
    expect(fires({ ...daily, gap: 'skip' }, march, 1)).toEqual(['2026-03-30T00:30:00Z'])
    expect(fires({ ...daily, gap: 'shift' }, march, 1)).toEqual(['2026-03-29T01:30:00Z'])
    const october = '2026-10-24T12:00:00Z'
    expect(fires(daily, october, 1)).toEqual(['2026-10-25T00:30:00Z'])
    expect(fires({ ...daily, fold: 'second' }, october, 1)).toEqual(['2026-10-25T01:30:00Z'])
    expect(fires({ ...daily, fold: 'both' }, october, 2)).toEqual(['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z'])
  })

  test('a month from the 31st is the last day of a short month, and does not stay there', () => {
    expect(walls('P1M', '2026-01-31T09:00', '2026-01-01T00:00:00Z', 5)).toEqual([
      '2026-01-31T09:00:00',
      '2026-02-28T09:00:00',
      '2026-03-31T09:00:00',
      '2026-04-30T09:00:00',
      '2026-05-31T09:00:00',
    ])
    expect(walls('P1Y', '2024-02-29T09:00', '2026-01-01T00:00:00Z', 3)).toEqual([
      '2026-02-28T09:00:00',
      '2027-02-28T09:00:00',
      '2028-02-29T09:00:00',
    ])
  })

  test('counts weeks and mixed units from its anchor', () => {
    expect(walls('P2W', '2026-01-05T09:00', '2026-06-01T00:00:00Z', 2)).toEqual([
      '2026-06-08T09:00:00',
      '2026-06-22T09:00:00',
    ])
    expect(walls('P1M1D', '2026-01-31T09:00', '2026-01-31T12:00:00Z', 3)).toEqual([
      '2026-03-01T09:00:00',
      '2026-04-02T09:00:00',
      '2026-05-03T09:00:00',
    ])
  })

  test('without anchor counts from the creation, to the millisecond', () => {
    expect(fires({ type: 'every', every: 'P1D', timezone }, '2026-03-28T08:00:00.123Z', 1)).toEqual([
      '2026-03-29T07:00:00.123Z',
    ])
  })

  test('ends with the year 9999', () => {
    const compiled = compileSchedule({ type: 'every', every: 'P10Y', anchor: '9985-01-01T00:00Z' })
    expect(nextInstantMs(compiled, Date.UTC(9990, 0))).toBe(Date.UTC(9995, 0))
    expect(nextInstantMs(compiled, Date.UTC(9995, 0))).toBeNull()
  })

  test('is the nth date that Temporal counts, asked from anywhere', () => {
    const [from, until] = [Date.UTC(1960, 0), Date.UTC(2160, 0)]
    fc.assert(
      fc.property(
        fc.record({ months: fc.nat(14), days: fc.nat(40) }).filter(({ months, days }) => months + days > 0),
        fc.integer({ min: from, max: until }),
        fc.nat(2_000),
        fc.integer({ min: -1, max: 1 }),
        ({ months, days }, anchorWall, n, by) => {
          const anchor = Temporal.Instant.fromEpochMilliseconds(anchorWall).toZonedDateTimeISO('UTC').toPlainDateTime()
          const nth = (index: number) =>
            anchor
              .add({ months: index * months })
              .add({ days: index * days })
              .toZonedDateTime('UTC').epochMilliseconds
          const expected = by < 0 ? nth(n) : nth(n + 1)
          expect(calendarRule({ months, days }, anchorWall).next(nth(n) + by)).toBe(expected)
        },
      ),
      { seed: 20_261_129, numRuns: 2_000 },
    )
  })
})
