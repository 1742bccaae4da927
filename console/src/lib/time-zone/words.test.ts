import { expect, test } from 'vitest'
import { changeWords, moveOf, reportWords } from './words.ts'

const report = {
  version: '2027a',
  current: '2026c',
  from: '2026-11-30T00:00:00.000Z',
  until: '2027-12-01T00:00:00.000Z',
  schedules: 41,
  moved: 0,
  uncompared: 0,
}

test('a report says what moves, and what was not looked at', () => {
  expect(reportWords(report)).toBe(
    '2027a moves nothing within a year: 41 schedules have the same instants as with 2026c.',
  )
  expect(reportWords({ ...report, moved: 3 })).toMatch(
    /^2027a moves 3 of 41 schedules within a year\. Nothing is changed/,
  )
  expect(reportWords({ ...report, uncompared: 1 })).toMatch(/1 schedule with too many instants was not compared\.$/)
})

test('a schedule says how many of its instants move', () => {
  expect([
    changeWords({ removed: 1, added: 1 }),
    changeWords({ removed: 1_217, added: 1_217 }),
    changeWords({ removed: 2, added: 1 }),
    changeWords({}),
  ]).toEqual(['1 instant moves', '1,217 instants move', '2 lost, 1 new', ''])
  const line = { jobId: 'job_1', jobName: 'a', timezone: 'UTC', removed: 0, added: 0, before: [], after: [] }
  expect(moveOf({ ...line, problem: null }).problem).toBeUndefined()
  expect(moveOf({ ...line, problem: 'No such zone' }).problem).toBe('No such zone')
})
