import { describe, expect, test } from 'vitest'
import {
  type ClockRule,
  foldRules,
  formatOffset,
  formatWall,
  gapRules,
  nativeZones,
  wallToInstants,
  type Zone,
} from './zone.ts'

function zoneOf(id: string): Zone {
  const zone = nativeZones.find(id)
  if (!zone) throw new Error(`no zone ${id}`)
  return zone
}

/** The instants of a wall-clock time, in minutes after an hour of reference. */
function instants(id: string, wall: string, rule: ClockRule): string[] {
  const at = Temporal.PlainDateTime.from(wall).toZonedDateTime('UTC').epochMilliseconds
  return wallToInstants(zoneOf(id), at, rule).map((ms) => new Date(ms).toISOString())
}

describe('names', () => {
  test('are those of the IANA database, in any case', () => {
    expect(zoneOf('europe/LONDON').id).toBe('Europe/London')
    expect(zoneOf('Europe/London')).toBe(zoneOf('europe/london'))
  })

  test.each([
    '',
    ' ',
    'Europe/London ',
    'Mars/Phobos',
    '+01:00',
    '-0500',
    'Z',
    '2026-01-01T00:00Z',
    'localtime',
    '../etc/passwd',
    'A'.repeat(1e6),
  ])('%j is none', (id) => {
    expect(nativeZones.find(id)).toBeUndefined()
  })

  test('the data has a version', () => {
    expect(nativeZones.version).toMatch(/^20\d\d[a-z]/)
  })
})

describe('spans', () => {
  test('meet without a hole, and begin at the transition itself', () => {
    const zone = zoneOf('Europe/London')
    const summer = zone.spanAt(Date.UTC(2026, 5, 1))
    expect([summer.from, summer.until, summer.offset]).toEqual([
      Date.UTC(2026, 2, 29, 1),
      Date.UTC(2026, 9, 25, 1),
      3_600_000,
    ])
    expect(zone.spanAt(summer.from)).toEqual(summer)
    expect(zone.spanAt(summer.from - 1)).toMatchObject({ until: summer.from, offset: 0 })
    expect(zone.spanAt(summer.until)).toMatchObject({ from: summer.until, offset: 0 })
  })

  test('are unbounded where the clocks never change', () => {
    expect(zoneOf('UTC').spanAt(0)).toEqual({ from: -Infinity, until: Infinity, offset: 0 })
  })

  test('no zone changes its clocks twice within a day, which the clock rules rely on', () => {
    for (const id of Intl.supportedValuesOf('timeZone')) {
      const zone = zoneOf(id)
      let span = zone.spanAt(Date.UTC(1970, 0, 1))
      while (span.until < Date.UTC(2100, 0, 1)) {
        const next = zone.spanAt(span.until)
        expect(next.until - next.from).toBeGreaterThan(86_400_000)
        expect(next.offset).not.toBe(span.offset)
        span = next
      }
    }
  })
})

describe('wall-clock times', () => {
  const rules = gapRules.flatMap((gap) => foldRules.map((fold) => ({ gap, fold })))

  test.each(rules)('a time that exists once is one instant, whatever the rule: %j', (rule) => {
    expect(instants('Europe/London', '2026-07-01T09:00', rule)).toEqual(['2026-07-01T08:00:00.000Z'])
    expect(instants('Asia/Kolkata', '2026-07-01T09:00', rule)).toEqual(['2026-07-01T03:30:00.000Z'])
  })

  test.each([
    ['Europe/London', '2026-03-29T01:30', 'next', ['2026-03-29T01:00:00.000Z']],
    ['Europe/London', '2026-03-29T01:30', 'skip', []],
    ['Europe/London', '2026-03-29T01:30', 'shift', ['2026-03-29T01:30:00.000Z']],
    ['Europe/London', '2026-03-29T02:00', 'skip', ['2026-03-29T01:00:00.000Z']],
    ['Australia/Lord_Howe', '2023-10-01T02:15', 'next', ['2023-09-30T15:30:00.000Z']],
    ['Australia/Lord_Howe', '2023-10-01T02:15', 'shift', ['2023-09-30T15:45:00.000Z']],
    ['Pacific/Apia', '2011-12-30T09:00', 'next', ['2011-12-30T10:00:00.000Z']],
    ['Pacific/Apia', '2011-12-30T09:00', 'shift', ['2011-12-30T19:00:00.000Z']],
  ] as const)('%s %s is in a gap: %s', (id, wall, gap, expected) => {
    expect(instants(id, wall, { gap, fold: 'first' })).toEqual(expected)
  })

  test.each([
    ['Europe/London', '2026-10-25T01:30', 'first', ['2026-10-25T00:30:00.000Z']],
    ['Europe/London', '2026-10-25T01:30', 'second', ['2026-10-25T01:30:00.000Z']],
    ['Europe/London', '2026-10-25T01:30', 'both', ['2026-10-25T00:30:00.000Z', '2026-10-25T01:30:00.000Z']],
    ['Europe/London', '2026-10-25T02:00', 'second', ['2026-10-25T02:00:00.000Z']],
    ['Australia/Lord_Howe', '2026-04-05T01:45', 'both', ['2026-04-04T14:45:00.000Z', '2026-04-04T15:15:00.000Z']],
  ] as const)('%s %s happens twice: %s', (id, wall, fold, expected) => {
    expect(instants(id, wall, { gap: 'next', fold })).toEqual(expected)
  })
})

test('offsets and wall-clock times are written as short as they can be', () => {
  expect([0, 19_800_000, -12_600_000, -75_000].map(formatOffset)).toEqual(['+00:00', '+05:30', '-03:30', '-00:01:15'])
  expect([0, 250].map(formatWall)).toEqual(['1970-01-01T00:00:00', '1970-01-01T00:00:00.250'])
})
