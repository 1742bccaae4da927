import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { durationWords, exactWords, parseIsoDuration, readDuration, toIsoDuration } from './duration.ts'

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

describe('durations as people type them', () => {
  it.each([
    ['30', 30_000],
    ['30 s', 30_000],
    ['1.5s', 1_500],
    ['250 ms', 250],
    ['5m', 300_000],
    ['5 min', 300_000],
    ['2 hours', 7_200_000],
    ['1d', 86_400_000],
    ['pt5m', 300_000],
    ['', undefined],
    ['soon', undefined],
    ['5 months', undefined],
    ['-5 s', undefined],
  ])('%j is %s ms', (text, milliseconds) => {
    expect(readDuration(text)).toBe(milliseconds)
  })

  it('are written back exactly', () => {
    expect([5_400_000, 86_400_000, 1_240, 100, 0].map(exactWords)).toEqual(['90 min', '1 d', '1.24 s', '100 ms', '0 s'])
    fc.assert(fc.property(fc.nat(), (milliseconds) => readDuration(exactWords(milliseconds)) === milliseconds))
  })
})
