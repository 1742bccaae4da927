import { createLog } from '@meridian/core/kernel/log'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Pass, startLoop } from './loop.ts'

const log = createLog({ service: 'test', level: 'silent' })

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** A loop whose passes end as scripted (then idle), and the instants at which they began. */
function scripted(script: (Pass | Error)[] = []) {
  const began: number[] = []
  const passes: Pass[] = []
  const startedAt = performance.now()
  const loop = startLoop({
    name: 'test',
    idleMs: 1_000,
    log,
    async runOnce() {
      began.push(performance.now() - startedAt)
      const next = script.shift() ?? 'idle'
      if (next instanceof Error) throw next
      return next
    },
    onPass: (pass) => void passes.push(pass),
  })
  return { loop, began, passes }
}

test('looks again at once after a full batch, after the usual wait when idle, and after the wait it was told', async () => {
  const { loop, began, passes } = scripted(['more', 'more', { sleepMs: 30 }, 'idle'])
  await vi.advanceTimersByTimeAsync(2_500)
  expect(began).toEqual([0, 0, 0, 30, 1_030, 2_030])
  expect(passes).toEqual(['more', 'more', { sleepMs: 30 }, 'idle', 'idle', 'idle'])
  await loop.stop()
})

test('a wake brings the next look forward', async () => {
  const { loop, began } = scripted()
  await vi.advanceTimersByTimeAsync(200)
  loop.wake()
  await vi.advanceTimersByTimeAsync(1_100)
  expect(began).toEqual([0, 200, 1_200])
  await loop.stop()
})

test('a wake during a pass is not lost', async () => {
  let passes = 0
  const { promise: entered, resolve: enter } = Promise.withResolvers<void>()
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const loop = startLoop({
    name: 'test',
    idleMs: 1_000,
    log,
    async runOnce() {
      enter()
      if (++passes === 1) await gate
      return 'idle'
    },
  })
  await entered
  loop.wake()
  open()
  await vi.advanceTimersByTimeAsync(0)
  expect(passes).toBe(2)
  await loop.stop()
})

test('a wake at an instant brings the next look there, and no later one pushes it back', async () => {
  const { loop, began } = scripted()
  await vi.advanceTimersByTimeAsync(100)
  loop.wakeAt(performance.now() + 300)
  loop.wakeAt(performance.now() + 200)
  loop.wakeAt(performance.now() + 800)
  await vi.advanceTimersByTimeAsync(500)
  expect(began).toEqual([0, 300])
  loop.wakeAt(performance.now() - 5)
  await vi.advanceTimersByTimeAsync(0)
  expect(began).toEqual([0, 300, 600])
  await loop.stop()
})

test('a wake at an instant that comes during a pass brings the next look there, not before', async () => {
  const began: number[] = []
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const loop = startLoop({
    name: 'test',
    idleMs: 1_000,
    log,
    async runOnce() {
      began.push(performance.now())
      if (began.length === 1) await gate
      return 'idle'
    },
  })
  const startedAt = performance.now()
  loop.wakeAt(startedAt + 300)
  loop.wakeAt(startedAt + 200)
  await vi.advanceTimersByTimeAsync(100)
  open()
  await vi.advanceTimersByTimeAsync(99)
  expect(began).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(began.map((at) => at - startedAt)).toEqual([0, 200])
  await loop.stop()
})

test('errors are waited out, longer each time, wakes or not; one good pass ends that', async () => {
  const broken = Array.from({ length: 8 }, () => new Error('the database is away'))
  const { loop, began, passes } = scripted(broken)
  for (let elapsed = 0; elapsed < 30_000; elapsed += 10) {
    loop.wake()
    loop.wakeAt(performance.now() + 1)
    await vi.advanceTimersByTimeAsync(10)
    if (passes.length > 0) break
  }
  const waits = began.slice(1).map((at, index) => at - (began[index] ?? 0))
  expect(waits).toHaveLength(8)
  for (const [index, wait] of waits.entries()) {
    const full = Math.min(5_000, 100 * 2 ** index)
    expect(wait).toBeGreaterThanOrEqual(full * 0.7 - 1)
    expect(wait).toBeLessThanOrEqual(full + 11)
  }
  const looks = began.length
  loop.wake()
  await vi.advanceTimersByTimeAsync(0)
  expect(began.length).toBeGreaterThan(looks)
  await loop.stop()
})

test('stopping ends a wait at once, waits for a pass under way, and tells it', async () => {
  const idle = scripted()
  await vi.advanceTimersByTimeAsync(10)
  await idle.loop.stop()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(idle.began).toEqual([0])

  let aborted = false
  const loop = startLoop({
    name: 'test',
    idleMs: 1_000,
    log,
    runOnce: (signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          aborted = true
          resolve('more')
        })
      }),
  })
  await loop.stop()
  expect(aborted).toBe(true)
})
