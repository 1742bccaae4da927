import fc from 'fast-check'
import { expect, test } from 'vitest'
import { backoffDelay } from './backoff.ts'

const day = 86_400_000

test('a second doubling up to a day: whole, positive, capped and nondecreasing for ten thousand attempts', () => {
  let previous = 0
  for (let attempt = 1; attempt <= 10_000; attempt++) {
    const delay = backoffDelay({ baseMs: 1_000, factor: 2, capMs: day, jitter: 0 }, attempt, 0.5)
    expect(Number.isInteger(delay)).toBe(true)
    expect(delay).toBeGreaterThanOrEqual(Math.max(1, previous))
    expect(delay).toBeLessThanOrEqual(day)
    previous = delay
  }
  expect(previous).toBe(day)
})

test('O-34: attempt 66 with a cap of an hour waits an hour, where a shift would have wrapped around to none', () => {
  expect(backoffDelay({ baseMs: 1_000, factor: 2, capMs: 3_600_000, jitter: 0 }, 66, 0)).toBe(3_600_000)
})

test('jitter only ever shortens, by no more than its share', () => {
  const settings = fc.record({
    baseMs: fc.integer({ min: 1, max: day }),
    factor: fc.double({ min: 1, max: 10, noNaN: true }),
    capMs: fc.integer({ min: 1, max: day }),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  const unit = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  fc.assert(
    fc.property(settings, fc.integer({ min: 1, max: 10_000 }), unit, (backoff, attempt, random) => {
      const full = backoffDelay({ ...backoff, jitter: 0 }, attempt, random)
      const delay = backoffDelay(backoff, attempt, random)
      expect(Number.isInteger(delay)).toBe(true)
      expect(delay).toBeGreaterThan(0)
      expect(delay).toBeLessThanOrEqual(full)
      expect(delay).toBeGreaterThanOrEqual(Math.floor(full * (1 - backoff.jitter)))
    }),
  )
})
