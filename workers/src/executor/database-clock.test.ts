import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { DatabaseClock } from './database-clock.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'Date'] }))
afterEach(() => void vi.useRealTimers())

/** Asks a database whose clock is `offsetMs` ahead, with so long to it and back from it. */
function ask(clock: DatabaseClock, offsetMs: number, thereMs: number, backMs: number): void {
  const askedAtMs = DatabaseClock.localMs()
  vi.advanceTimersByTime(thereMs)
  const databaseMs = DatabaseClock.localMs() + offsetMs
  vi.advanceTimersByTime(backMs)
  clock.observe(askedAtMs, DatabaseClock.localMs(), databaseMs)
}
const errorOf = (clock: DatabaseClock, offsetMs: number): number => clock.nowMs() - (DatabaseClock.localMs() + offsetMs)

test('is never ahead of the database, and behind it by no more than the way back', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -900_000, max: 900_000 }),
      fc.array(
        fc.record({
          there: fc.integer({ min: 0, max: 200 }),
          back: fc.integer({ min: 0, max: 200 }),
          pause: fc.integer({ min: 0, max: 90_000 }),
        }),
        { minLength: 1, maxLength: 20 },
      ),
      (offsetMs, answers) => {
        const clock = new DatabaseClock()
        for (const { there, back, pause } of answers) {
          ask(clock, offsetMs, there, back)
          vi.advanceTimersByTime(pause)
          expect(errorOf(clock, offsetMs)).toBeLessThanOrEqual(0.01)
          expect(errorOf(clock, offsetMs)).toBeGreaterThanOrEqual(-200.01)
        }
      },
    ),
  )
})

test('believes the quickest answer, but none for longer than a minute', () => {
  const clock = new DatabaseClock()
  ask(clock, 0, 1, 1)
  ask(clock, 0, 50, 50)
  expect(errorOf(clock, 0)).toBeCloseTo(-1)
  vi.advanceTimersByTime(61_000)
  ask(clock, 0, 50, 50)
  expect(errorOf(clock, 0)).toBeCloseTo(-50)
})

test('follows at once when either clock was set, or this machine slept', () => {
  for (const jumpMs of [3_600_000, -3_600_000, 500, -500]) {
    const clock = new DatabaseClock()
    ask(clock, 0, 1, 1)
    ask(clock, jumpMs, 40, 40)
    expect(errorOf(clock, jumpMs)).toBeCloseTo(-40)
  }
})

test('an instant of the wall clock is an instant of the database', () => {
  const clock = new DatabaseClock()
  ask(clock, 5_000, 0, 0)
  expect(clock.fromWallMs(Date.now())).toBeCloseTo(DatabaseClock.localMs() + 5_000, 0)
})
