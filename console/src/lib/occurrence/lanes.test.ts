import { describe, expect, it } from 'vitest'
import { bandIn, laneAt, lanesOf, laneWords, placeIn, weeksOf } from './lanes.ts'

const berlin = 'Europe/Berlin'
const hour = 3_600_000

describe('lanesOf', () => {
  it('is a day a line, as long as the day is', () => {
    const lanes = lanesOf({ first: '2026-10-24', days: 3 }, berlin)
    expect(lanes.map((lane) => [laneWords(lane, berlin), (lane.to - lane.from) / hour])).toEqual([
      ['Sat 24 Oct', 24],
      ['Sun 25 Oct', 25],
      ['Mon 26 Oct', 24],
    ])
  })

  it('is an hour a line for one day', () => {
    expect(lanesOf({ first: '2026-03-29', days: 1 }, berlin)).toHaveLength(23)
    const [, , , , , , seventh] = lanesOf({ first: '2026-11-29', days: 1 }, berlin)
    expect(seventh && laneWords(seventh, berlin)).toBe('06:00–07:00')
  })
})

describe('placeIn', () => {
  const lanes = lanesOf({ first: '2026-10-24', days: 3 }, berlin)

  it('puts the same time of day in one column across a clock change', () => {
    const places = ['2026-10-24T10:00Z', '2026-10-25T11:00Z', '2026-10-26T11:00Z'].map((text) => {
      const lane = laneAt(lanes, Date.parse(text))
      return lane && placeIn(lane, Date.parse(text), berlin)
    })
    expect(places).toEqual([50, 50, 50])
  })

  it('is the share of the hour in an hour', () => {
    const [lane] = lanesOf({ first: '2026-11-29', days: 1 }, 'UTC')
    expect(lane && placeIn(lane, lane.from + hour / 4, 'UTC')).toBe(25)
  })
})

describe('bandIn', () => {
  const [first, second, third] = lanesOf({ first: '2026-11-27', days: 3 }, 'UTC')
  const stretch = { from: Date.parse('2026-11-27T18:00Z'), until: Date.parse('2026-11-29T06:00Z') }

  it('fills the lanes between its ends', () => {
    expect([first, second, third].map((lane) => lane && bandIn(lane, stretch, 'UTC'))).toEqual([
      { left: 75, width: 25 },
      { left: 0, width: 100 },
      { left: 0, width: 25 },
    ])
  })

  it('is not in a lane that it does not touch', () => {
    expect(second && bandIn(second, { from: stretch.from, until: stretch.from }, 'UTC')).toBeUndefined()
  })
})

describe('weeksOf', () => {
  it('begins on Monday and holds every day once', () => {
    const weeks = weeksOf({ first: '2026-11-01', days: 30 })
    expect(weeks[0]).toEqual([...Array.from({ length: 6 }, () => undefined), '2026-11-01'])
    expect(weeks.flat().filter(Boolean)).toHaveLength(30)
    expect(weeks.every((week) => week.length === 7)).toBe(true)
  })
})
