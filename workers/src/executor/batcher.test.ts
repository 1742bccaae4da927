import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Batcher, type BatcherOptions } from './batcher.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** A batcher whose writes end when they are let go. */
function held(options: Partial<BatcherOptions<number>> = {}) {
  const writes: { batch: number[]; end(): void; fail(): void }[] = []
  const errors: unknown[] = []
  const batcher = new Batcher<number>({
    size: 3,
    sizeMax: 5,
    waitMs: 20,
    inFlightMax: 2,
    onError: (error) => void errors.push(error),
    write: (batch) =>
      new Promise((resolve, reject) => writes.push({ batch, end: resolve, fail: () => reject(new Error('away')) })),
    ...options,
  })
  const add = (...items: number[]): void => {
    for (const item of items) batcher.add(item)
  }
  const tick = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)
  return { batcher, writes, errors, add, tick, batches: () => writes.map((write) => write.batch) }
}

test('a full batch goes at once, a smaller one after its wait', async () => {
  const { add, tick, batches, batcher } = held()
  add(1, 2, 3, 4)
  expect(batches()).toEqual([[1, 2, 3]])
  await tick(19)
  expect(batches()).toHaveLength(1)
  await tick(1)
  expect(batches()).toEqual([[1, 2, 3], [4]])
  expect(batcher.backlog).toBe(4)
})

test('where several come, a batch waits for more, unless it is awaited', async () => {
  const { add, tick, batches, batcher } = held({ size: 100, sizeMax: 100, inFlightMax: 3, gather: { from: 3, ms: 60 } })
  add(1, 2)
  await tick(20)
  expect(batches()).toEqual([[1, 2]])
  add(3, 4, 5)
  await tick(59)
  expect(batches()).toHaveLength(1)
  add(6)
  await tick(1)
  expect(batches()[1]).toEqual([3, 4, 5, 6])
  batcher.isAwaited = true
  add(7, 8, 9)
  await tick(20)
  expect(batches()[2]).toEqual([7, 8, 9])
})

test('no more writes than allowed are on their way; what comes meanwhile gathers', async () => {
  const { add, tick, writes, batches, batcher } = held()
  add(1, 2, 3, 4, 5, 6)
  add(7, 8, 9, 10, 11, 12, 13)
  expect(batches()).toEqual([
    [1, 2, 3],
    [4, 5, 6],
  ])
  await tick(100)
  expect(batches()).toHaveLength(2)
  writes[0]?.end()
  await tick(0)
  expect(batches()[2]).toEqual([7, 8, 9, 10, 11])
  writes[1]?.end()
  await tick(20)
  expect(batches()[3]).toEqual([12, 13])
  for (const write of writes) write.end()
  await tick(0)
  expect(batcher.backlog).toBe(0)
})

test('what could not be written is written again, the very same, until it can be', async () => {
  vi.useRealTimers()
  const { add, writes, batches, errors, batcher } = held()
  add(1, 2, 3)
  for (let failure = 1; failure <= 2; failure++) {
    writes.at(-1)?.fail()
    while (writes.length <= failure) await new Promise(setImmediate)
  }
  expect(batches()).toEqual(Array.from({ length: 3 }, () => [1, 2, 3]))
  expect(errors).toHaveLength(2)
  expect(batcher.backlog).toBe(3)
  writes.at(-1)?.end()
  await batcher.drain()
  expect(batcher.backlog).toBe(0)
})

test('draining writes everything, also what is added meanwhile', async () => {
  const { add, tick, writes, batcher } = held()
  add(1)
  let isDrained = false
  const drained = batcher.drain().then(() => (isDrained = true))
  await tick(0)
  expect(writes).toHaveLength(1)
  add(2)
  writes[0]?.end()
  await tick(0)
  expect(isDrained).toBe(false)
  writes[1]?.end()
  await tick(20)
  writes.at(-1)?.end()
  await drained
  expect(writes.flatMap((write) => write.batch)).toEqual([1, 2])
  expect(await batcher.drain()).toBeUndefined()
})
