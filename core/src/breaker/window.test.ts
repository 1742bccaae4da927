import { expect, test } from 'vitest'
import { FailureWindow } from './window.ts'

const limits = { failures: 4, failureShare: 0.5 }

function windowOf(...attempts: [isFailure: boolean, atMs: number][]): FailureWindow {
  const window = new FailureWindow(10, 0)
  for (const [isFailure, atMs] of attempts) window.count(isFailure, atMs)
  return window
}

test('so many failures within the window are over the limit, one fewer is not', () => {
  const failures: [boolean, number][] = [0, 1, 2, 3].map((atMs) => [true, atMs])
  expect(windowOf(...failures).isOver(limits)).toBe(true)
  expect(windowOf(...failures.slice(1)).isOver(limits)).toBe(false)
})

test('a host that mostly answers is not over it, however often it fails', () => {
  const attempts = Array.from({ length: 100 }, (_, index): [boolean, number] => [index % 3 === 0, index])
  expect(windowOf(...attempts).isOver(limits)).toBe(false)
})

test('what is a window old has gone, what is younger than half of one has not', () => {
  const window = windowOf([true, 4_900], [true, 4_901], [true, 4_902], [true, 9_900])
  expect(window.failures).toBe(4)
  window.count(true, 14_899)
  expect(window.failures).toBe(2)
  expect(window.isClean(14_899)).toBe(false)
  expect(window.isClean(30_000)).toBe(true)
})
