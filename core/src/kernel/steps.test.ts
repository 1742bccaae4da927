import { expect, test } from 'vitest'
import { runBetween, runThrough } from './steps.ts'

function* count(): Generator<undefined, number, undefined> {
  let steps = 0
  for (const until = performance.now() + 40; performance.now() < until; steps++) yield
  return steps
}

test('a long computation lets others have their turn', async () => {
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  expect(await runBetween(count())).toBeGreaterThan(0)
  clearInterval(timer)
  expect(turns).toBeGreaterThan(0)
})

test('all steps at once give the same', () => {
  expect(runThrough(count())).toBeGreaterThan(0)
})
