import { expect, test } from 'vitest'
import { createGroupCommit } from './group-commit.ts'

const away = new Error('away')

/** A store that remembers its flushes; each waits for `open()`. */
function store(isBad: (row: number) => boolean = () => false, gapMs = 0) {
  const flushes: number[][] = []
  let gate = Promise.withResolvers<void>()
  const group = createGroupCommit<number, string>({
    flush: async (rows) => {
      flushes.push(rows)
      await gate.promise
      if (rows.includes(-1)) throw away
      if (rows.some(isBad)) throw new Error('a row is bad')
      return rows.map((row) => `row ${row}`)
    },
    isUnavailable: (error) => error === away,
    rowsMax: 5,
    weigh: (row) => row,
    weightMax: 100,
    gapMs,
  })
  const submitAll = (rows: number[]) => Promise.allSettled(rows.map((row) => group.submit(row)))
  const open = () => {
    gate.resolve()
    gate = Promise.withResolvers()
    gate.resolve()
  }
  return { flushes, group, open, submitAll }
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 5))

test('what arrives together leaves together; what arrives during a flush leaves when it returns', async () => {
  const { flushes, group, open, submitAll } = store()
  const first = submitAll([1, 2])
  await turn()
  const second = submitAll([3, 4, 5])
  await turn()
  expect(flushes).toEqual([[1, 2]])
  expect(group.pending).toBe(5)
  open()
  expect((await first).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
  await second
  expect(flushes).toEqual([
    [1, 2],
    [3, 4, 5],
  ])
  await group.drained()
  expect(group.pending).toBe(0)
})

test('where several rows come in the time of a flush, what comes soon after it shares the next', async () => {
  const { flushes, open, submitAll, group } = store(undefined, 200)
  open()
  await submitAll([1])
  await submitAll([2])
  expect(flushes).toEqual([[1], [2]])
  await submitAll([3, 4])
  const next = [submitAll([5])]
  await turn()
  next.push(submitAll([6]))
  expect(group.pending).toBe(2)
  await Promise.all(next)
  expect(flushes.slice(2)).toEqual([
    [3, 4],
    [5, 6],
  ])
})

test('each row gets its own result, in whatever flush it was', async () => {
  const { open, submitAll, flushes } = store()
  open()
  const rows = Array.from({ length: 23 }, (_, index) => index)
  const results = await submitAll(rows)
  expect(results).toEqual(rows.map((row) => ({ status: 'fulfilled', value: `row ${row}` })))
  expect(flushes.every((flush) => flush.length <= 5)).toBe(true)
})

test('a flush carries no more than it may weigh, and one heavy row goes alone', async () => {
  const { open, submitAll, flushes } = store()
  open()
  await submitAll([60, 60, 30, 500, 1])
  expect(flushes).toEqual([[60], [60, 30], [500], [1]])
})

test('a bad row fails alone, the rest of its flush is written', async () => {
  const { open, submitAll } = store((row) => row === 2)
  open()
  const results = await submitAll([1, 2, 3])
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

test('when the store is away every row is told so, and none is tried again', async () => {
  const { open, submitAll, flushes } = store()
  open()
  const results = await submitAll([1, -1, 3])
  expect(results.every((result) => result.status === 'rejected' && result.reason === away)).toBe(true)
  expect(flushes).toHaveLength(1)
})
