import { expect, test } from 'vitest'
import { checkLedger } from './schedule-load.ts'

const job = { id: 'job', anchorMs: 0, everyMs: 1_000, firstMs: 1_000 }
const row = (from: number, count = 1) => ({
  nominalAt: new Date(from * 1_000).toISOString(),
  untilAt: new Date((from + count - 1) * 1_000).toISOString(),
  count,
  outcome: 'run' as const,
  reason: null,
  runId: null,
  isCaughtUp: false,
})
const faultsOf = (...rows: ReturnType<typeof row>[]) => {
  const { lost, extra, instants } = checkLedger(job, rows, 10_000)
  return [lost.length, extra.length, instants]
}

test('a whole ledger has no faults, shared entries or not', () => {
  expect(faultsOf(row(1), row(2, 7), row(9))).toEqual([0, 0, 9])
})

test('a gap, an end that comes too early, a doubled instant and a stranger are found', () => {
  expect(faultsOf(row(1), row(4, 6))).toEqual([2, 0, 7])
  expect(faultsOf(row(2, 8))).toEqual([1, 0, 8])
  expect(faultsOf(row(1, 6))).toEqual([3, 0, 6])
  expect(faultsOf(row(1, 5), row(5, 5))).toEqual([0, 1, 10])
  expect(faultsOf(row(1, 8), row(9.5))).toEqual([1, 1, 9])
  expect(checkLedger(job, [], 1_000)).toEqual({ lost: [], extra: [], instants: 0 })
})
