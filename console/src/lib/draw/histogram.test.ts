import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { binSize, rangeBetween, readRange } from './histogram.ts'

const now = Date.parse('2026-11-29T12:00:00Z')
const hour = 3_600_000
const read = (query: string) => readRange(new URLSearchParams(query), now)

describe('readRange', () => {
  it('is the last 24 hours when nothing is said', () => {
    expect(read('')).toEqual({ preset: '24h', range: { from: now - 24 * hour, to: now } })
  })

  it('reads a preset and a fixed range', () => {
    expect(read('last=1h')).toEqual({ preset: '1h', range: { from: now - hour, to: now } })
    expect(read('from=2026-11-01T00:00:00Z&to=2026-11-02T00:00:00Z')).toEqual({
      preset: undefined,
      range: { from: Date.parse('2026-11-01T00:00:00Z'), to: Date.parse('2026-11-02T00:00:00Z') },
    })
  })

  it.each([
    'last=99y',
    'from=yesterday&to=now',
    'from=2026-11-02T00:00:00Z&to=2026-11-01T00:00:00Z',
    'from=2026-11-02T00:00:00Z',
  ])('falls back for %s', (query) => {
    expect(read(query).preset).toBe('24h')
  })
})

describe('binSize', () => {
  it.each([
    [hour, 60_000],
    [24 * hour, 30 * 60_000],
    [7 * 24 * hour, 3 * hour],
    [30 * 24 * hour, 12 * hour],
  ])('of %d ms is %d ms', (length, size) => {
    expect(binSize({ from: now - length, to: now })).toBe(size)
  })

  it('never gives more bins than asked for', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 * 365 * 24 * hour }), (length) => {
        expect(length / binSize({ from: now - length, to: now })).toBeLessThanOrEqual(60)
      }),
    )
  })
})

describe('rangeBetween', () => {
  it('does not mind the direction of the drag', () => {
    const [first, second] = [
      { from: 0, to: 10 },
      { from: 20, to: 30 },
    ]
    expect(rangeBetween(first, second)).toEqual({ from: 0, to: 30 })
    expect(rangeBetween(second, first)).toEqual({ from: 0, to: 30 })
  })
})
