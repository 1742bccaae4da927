import { describe, expect, it } from 'vitest'
import { axisOf, loadOf, outline } from './columns.ts'
import { ticksOf } from './ticks.ts'
import { readView } from './view.ts'
import { adviceWords, perMinute, rateWords, runningWords, shareWords } from './words.ts'

const minute = 60_000
const from = '2026-12-05T08:03:00.000Z'
const series = (starts: number[], running: number[] = starts.map(() => 0)) => ({ capacity: 4, starts, running })
const forecastOf = (starts: number[], running?: number[]) => ({
  from,
  bucketSeconds: 60,
  total: series(starts, running),
})

describe('the axis of a forecast', () => {
  it('has columns on round times, of which the first may have begun', () => {
    const axis = axisOf(forecastOf(new Array<number>(10).fill(0)), 5 * minute)
    expect(axis).toEqual({
      from: Date.parse('2026-12-05T08:00:00Z'),
      to: Date.parse('2026-12-05T08:15:00Z'),
      columnMs: 5 * minute,
      count: 3,
      sliceMs: minute,
    })
  })

  it('is labelled by hours for a day and by days beyond, as the clocks of the zone show them', () => {
    const day = { from: Date.parse('2026-12-05T08:00:00Z'), to: Date.parse('2026-12-06T08:00:00Z') }
    expect(ticksOf(day, 'Europe/Berlin').map(({ label }) => label)).toContain('12:00')
    const month = { from: Date.parse('2026-03-25T08:00:00Z'), to: Date.parse('2026-04-20T08:00:00Z') }
    const ticks = ticksOf(month, 'Europe/Berlin')
    expect(ticks[0]).toEqual({ label: '26 Mar', at: Date.parse('2026-03-25T23:00:00Z') })
    // Midnight is an hour earlier by UTC after the clocks went forward.
    expect(ticks[2]).toEqual({ label: '1 Apr', at: Date.parse('2026-03-31T22:00:00Z') })
  })
})

describe('a series', () => {
  it('keeps the busiest slice of each column, and tells the busiest of all', () => {
    const forecast = forecastOf([1, 9, 2, 0, 3, 4, 0, 0, 0, 7], [0, 0.5, 2.5, 0, 0, 0, 0, 0, 0, 1])
    const axis = axisOf(forecast, 5 * minute)
    const load = loadOf(forecast.total, axis, Date.parse(from))
    expect(load.starts).toEqual([9, 4, 7])
    expect(load.running).toEqual([0.5, 2.5, 1])
    expect(load.sum).toBe(26)
    expect(load.most).toEqual({ at: Date.parse('2026-12-05T08:04:00Z'), count: 9 })
    expect(load.fullest).toEqual({ at: Date.parse('2026-12-05T08:05:00Z'), running: 2.5 })
  })

  it('is drawn as one outline, with what is nothing left out', () => {
    expect(outline([0, 0.5, 0.5, 1, 0, 0.25])).toBe('M1 1V0.5H3V0H4V1ZM5 1V0.75H6V1Z')
    expect(outline([0, 0])).toBe('')
  })
})

describe('what a forecast says', () => {
  it('reads what is to be seen from the address, and falls back to a day by queue', () => {
    expect(readView(new URLSearchParams('next=30d&by=host&name=a.example'))).toMatchObject({
      span: { name: '30d' },
      by: 'host',
      name: 'a.example',
    })
    expect(readView(new URLSearchParams('next=9y&by=moon'))).toMatchObject({ span: { name: '24h' }, by: 'queue' })
  })

  it('counts in words', () => {
    expect(rateWords(1, minute)).toBe('1 start a minute')
    expect(rateWords(1_204, 60 * minute)).toBe('1,204 starts an hour')
    expect(runningWords(0.04)).toBe('< 0.1')
    expect(runningWords(2.46)).toBe('2.5')
    expect(runningWords(1_204.4)).toBe('1,204')
    expect(shareWords(3, null)).toBeUndefined()
    expect(shareWords(0.02, 10_000)).toBe('< 1 %')
    expect(shareWords(30, 20)).toBe('150 %')
    expect(adviceWords({ suggestion: { window: 'PT30M', perMinute: 8 } })).toBe(
      'Spread over 30 min, about 8 start each minute.',
    )
    expect(adviceWords({ suggestion: null })).toContain('blackout')
    expect(perMinute(214, 'PT30M')).toBe(8)
  })
})
