import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { TimerWheel } from './timer-wheel.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

test('a deadline is never early, and late by no more than two ticks, however far off', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 0, max: 3_000 }), fc.double({ min: 0, max: 40_000, noNaN: true })), {
        maxLength: 20,
      }),
      (plan) => {
        const wheel = new TimerWheel()
        const late: number[] = []
        for (const [pauseMs, delayMs] of plan) {
          const dueAt = performance.now() + delayMs
          wheel.set(delayMs, { expire: () => late.push(performance.now() - dueAt) })
          vi.advanceTimersByTime(pauseMs)
        }
        vi.advanceTimersByTime(41_000)
        expect(late).toHaveLength(plan.length)
        for (const ms of late) {
          expect(ms).toBeGreaterThanOrEqual(0)
          expect(ms).toBeLessThanOrEqual(40)
        }
        expect(wheel.size).toBe(0)
      },
    ),
    { numRuns: 50 },
  )
})

test('a cleared deadline never comes, and an empty wheel stands still', () => {
  const wheel = new TimerWheel()
  const expire = vi.fn<() => void>()
  const timers = [10, 100, 20_000].map((delayMs) => wheel.set(delayMs, { expire }))
  for (const timer of timers) {
    wheel.clear(timer)
    wheel.clear(timer)
  }
  vi.advanceTimersByTime(30_000)
  expect(expire).not.toHaveBeenCalled()
  expect([wheel.size, vi.getTimerCount()]).toEqual([0, 0])
})

test('a deadline may clear or set others of the same tick', () => {
  const wheel = new TimerWheel()
  const calls: string[] = []
  const second = { expire: () => calls.push('second') }
  wheel.set(5, {
    expire: () => {
      calls.push('first')
      wheel.clear(timer)
      wheel.set(0, { expire: () => calls.push('third') })
    },
  })
  const timer = wheel.set(5, second)
  vi.advanceTimersByTime(1_000)
  expect(calls).toEqual(['first', 'third'])
})

test('after a long stall all that were due come at once', () => {
  const wheel = new TimerWheel()
  const calls: number[] = []
  for (const delayMs of [15_000, 100, 9_000, 40_000]) wheel.set(delayMs, { expire: () => calls.push(delayMs) })
  // The clock moves on while no timer of the system fires: a process that was stopped for half a minute.
  const real = performance.now()
  vi.spyOn(performance, 'now').mockImplementation(() => real + 30_000)
  vi.advanceTimersToNextTimer()
  expect(calls.toSorted((a, b) => a - b)).toEqual([100, 9_000, 15_000])
  vi.restoreAllMocks()
})
