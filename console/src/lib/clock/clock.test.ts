import { expect, it } from 'vitest'
import { aheadWords, clockWords } from './clock.ts'

const now = '2031-06-01T00:00:00.000Z'

it('says whether a clock goes, and what it waits for', () => {
  expect(clockWords({ now, target: null, openRuns: 0 })).toBe('It stands still.')
  const target = '2031-06-02T06:00:00.000Z'
  expect(clockWords({ now, target, openRuns: 0 })).toBe('On its way to tomorrow 06:00.')
  expect(clockWords({ now, target, openRuns: 1 })).toMatch(/, waiting for a run to end\.$/)
  expect(clockWords({ now, target, openRuns: 3 })).toMatch(/, waiting for 3 runs to end\.$/)
})

it('counts from the clock, not from today', () => {
  expect(aheadWords('2031-06-01T06:25:00.000Z', now)).toBe('in 6 h 25 min')
})
