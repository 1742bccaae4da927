import { describe, expect, it } from 'vitest'
import { everyText, everyUnits, everyWords, isCalendarUnit, parseEvery } from './every.ts'

describe('an interval', () => {
  it.each([
    ['PT15M', { count: 15, unit: 'minute' }],
    ['PT36H', { count: 36, unit: 'hour' }],
    ['PT1H30M', { count: 90, unit: 'minute' }],
    ['PT0.5S', { count: 0.5, unit: 'second' }],
    ['P1D', { count: 1, unit: 'day' }],
    ['P2W', { count: 2, unit: 'week' }],
    ['P3M', { count: 3, unit: 'month' }],
    ['P1Y', { count: 1, unit: 'year' }],
  ] as const)('%s is %j, both ways', (text, parts) => {
    expect(parseEvery(text)).toEqual(parts)
    expect(everyText(parts)).toBe(text)
  })

  it('of a day is not one of 24 hours', () => {
    expect(everyText({ count: 24, unit: 'hour' })).toBe('PT24H')
    expect(parseEvery('PT24H')).toEqual({ count: 24, unit: 'hour' })
    expect(everyUnits.filter(isCalendarUnit)).toEqual(['day', 'week', 'month', 'year'])
  })

  it.each(['P1M2D', 'P1DT2H', 'PT0S', '15 minutes', ''])('%j takes no single unit', (text) => {
    expect(parseEvery(text)).toBeUndefined()
  })

  it('is said in words', () => {
    expect(everyWords('P1D')).toBe('every day')
    expect(everyWords('PT90M')).toBe('every 90 minutes')
    expect(everyWords('P1M2D')).toBe('every P1M2D')
  })
})
