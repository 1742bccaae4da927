import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { durationWords, parseIsoDuration, toIsoDuration } from './duration.ts'

describe('durationWords', () => {
  it.each([
    [0, '< 1 ms'],
    [84.4, '84 ms'],
    [999.4, '999 ms'],
    [1_240, '1.24 s'],
    [1_600, '1.6 s'],
    [30_000, '30 s'],
    [2_004, '2.00 s'],
    [9_999, '9.99 s'],
    [59_999, '59.9 s'],
    [60_000, '1 min'],
    [182_000, '3 min 2 s'],
    [3_599_999, '59 min 59 s'],
    [15_120_000, '4 h 12 min'],
    [86_400_000, '1 d'],
    [273_600_000, '3 d 4 h'],
    [863_999_999, '9 d 23 h'],
    [900_000_000, '10 d'],
    [-1_240, '1.24 s'],
  ])('%d ms is %s', (milliseconds, words) => {
    expect(durationWords(milliseconds)).toBe(words)
  })
})

describe('ISO-8601 durations', () => {
  it.each([
    ['PT30S', 30_000],
    ['PT0.1S', 100],
    ['PT1H30M', 5_400_000],
    ['P1DT2H', 93_600_000],
    ['P2W', 1_209_600_000],
  ])('%s is %d ms', (text, milliseconds) => {
    expect(parseIsoDuration(text)).toBe(milliseconds)
  })

  it.each(['', 'P', 'PT', 'P1M', '30', 'PT-1S', '30s', 'P1DT', 'pt1s'])('%j is not an exact duration', (text) => {
    expect(parseIsoDuration(text)).toBeUndefined()
  })

  it('come back as they were written', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10_000_000_000 }), (milliseconds) => {
        expect(parseIsoDuration(toIsoDuration(milliseconds))).toBeCloseTo(milliseconds, 3)
      }),
    )
  })
})
