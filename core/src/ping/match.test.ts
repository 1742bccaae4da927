import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type MatchRules, matchPings, type PingAt } from './match.ts'

const minute = 60_000
const rules: MatchRules = { earlyMs: 5_000, lateMs: minute, graceMs: 15 * minute, nowMs: 1_000 * minute }
const start = (atMs: number): PingAt => ({ atMs, kind: 'start' })
const finish = (atMs: number): PingAt => ({ atMs, kind: 'finish' })
const fail = (atMs: number): PingAt => ({ atMs, kind: 'fail' })
const told = (expected: number[], pings: PingAt[], changes: Partial<MatchRules> = {}): string[] =>
  matchPings(expected, pings, { ...rules, ...changes }).map(
    ({ expectedAtMs, pingAtMs, outcome, hasFailed }) =>
      `${outcome} ${expectedAtMs === null ? '-' : expectedAtMs / minute} ${pingAtMs === null ? '-' : pingAtMs / minute}${hasFailed ? ' failed' : ''}`,
  )

describe('a match report', () => {
  test('knows what came in time, late, and never', () => {
    expect(told([0, 60 * minute, 120 * minute], [start(0), finish(minute), start(65 * minute)])).toEqual([
      'matched 0 0',
      'late 60 65',
      'missing 120 -',
    ])
  })

  test('takes an end without a start for a run, and a failure for the run that it ends', () => {
    expect(told([0, 60 * minute], [finish(0), start(60 * minute), fail(61 * minute)])).toEqual([
      'matched 0 0',
      'matched 60 60 failed',
    ])
  })

  test('finds a run that nobody expected: the zone of the old machine was another', () => {
    expect(told([60 * minute], [start(0), finish(minute)])).toEqual(['unexpected - 0', 'missing 60 -'])
  })

  test('gives up what was left out, not everything behind it', () => {
    const each = [0, 1, 2, 3, 4].map((n) => n * minute)
    expect(told(each, [start(0), start(3 * minute), start(4 * minute)])).toEqual([
      'matched 0 0',
      'missing 1 -',
      'missing 2 -',
      'matched 3 3',
      'matched 4 4',
    ])
  })

  test('waits until the grace is over', () => {
    expect(told([0], [], { nowMs: 14 * minute })).toEqual(['waiting 0 -'])
    expect(told([0], [], { nowMs: 16 * minute })).toEqual(['missing 0 -'])
  })

  test('lets clocks differ by a few seconds', () => {
    expect(told([minute], [start(minute - 4_000)])).toEqual([`matched 1 ${(minute - 4_000) / minute}`])
    expect(told([minute], [start(minute - 6_000)])[0]).toMatch(/^unexpected/)
  })
})

test('each instant has one outcome and each run is used once, whatever came', () => {
  const times = fc.uniqueArray(fc.nat(3_000 * 1_000), { maxLength: 40 }).map((all) => all.sort((a, b) => a - b))
  const kinds = fc.constantFrom('start', 'finish', 'fail')
  fc.assert(
    fc.property(
      times,
      times.chain((all) => fc.tuple(...all.map((atMs) => fc.record({ atMs: fc.constant(atMs), kind: kinds })))),
      (expected, pings) => {
        const matches = matchPings(expected, pings as PingAt[], rules)
        expect(matches.flatMap(({ expectedAtMs }) => expectedAtMs ?? [])).toEqual(expected)
        const used = matches.flatMap(({ pingAtMs }) => pingAtMs ?? [])
        expect(new Set(used).size).toBe(used.length)
        for (const { expectedAtMs, pingAtMs, outcome } of matches) {
          expect(outcome === 'unexpected').toBe(expectedAtMs === null)
          if (expectedAtMs === null || pingAtMs === null) continue
          expect(pingAtMs - expectedAtMs).toBeGreaterThanOrEqual(-rules.earlyMs)
          expect(pingAtMs - expectedAtMs).toBeLessThanOrEqual(rules.graceMs)
        }
      },
    ),
  )
})

test('an old system that runs each instant within the grace is matched throughout', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 90 }),
      fc.integer({ min: 1, max: 50 }),
      fc.nat(50_000),
      (every, count, delay) => {
        const expected = Array.from({ length: count }, (_, index) => index * every * minute)
        const matches = matchPings(
          expected,
          expected.map((at) => start(at + delay)),
          rules,
        )
        expect(matches.every(({ outcome }) => outcome === 'matched')).toBe(true)
      },
    ),
  )
})
