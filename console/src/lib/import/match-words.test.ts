import type { MatchCounts, MatchReport } from '@meridian/sdk'
import { expect, test } from 'vitest'
import { reportWords } from './match-words.ts'

const counts = (changes: Partial<MatchCounts> = {}): MatchCounts => ({
  matched: 0,
  late: 0,
  missing: 0,
  unexpected: 0,
  waiting: 0,
  failed: 0,
  ...changes,
})
const job = (lastPingAt: string | null) =>
  ({
    id: 'job_1',
    name: 'a',
    mode: 'shadow',
    line: 1,
    counts: counts(),
    lastPingAt,
    matches: [],
  }) as MatchReport['jobs'][number]

test('before the first ping it says what is missing', () => {
  expect(reportWords({ totals: counts({ missing: 3 }), jobs: [job(null)] })).toMatch(/^No ping has come yet/)
})

test('then how much of what was expected came', () => {
  const totals = counts({ matched: 8, late: 1, missing: 1, unexpected: 2 })
  expect(reportWords({ totals, jobs: [job('2026-01-01T00:00:00Z'), job(null)] })).toBe(
    '9 of 10 expected runs were told of, 1 of them late, 2 came when nothing was expected, 1 of 2 jobs never pinged.',
  )
})

test('an import whose jobs are gone says so', () => {
  expect(reportWords({ totals: counts(), jobs: [] })).toBe('None of its jobs is left.')
})
