import type { ImportEntry } from '@meridian/sdk'
import { describe, expect, test } from 'vitest'
import { changesOf, isSame, makeWords, planWords, rowsOf, sharedChanges, tellingOf, wallWords } from './rows.ts'

const entry = (changes: Partial<ImportEntry> = {}): ImportEntry => ({
  line: 1,
  text: '* * * * * x',
  externalId: 'crontab:x',
  name: 'x',
  description: null,
  status: 'ready',
  isPaused: false,
  command: 'x',
  request: null,
  schedule: null,
  words: null,
  overlap: 'allow',
  differences: [],
  warnings: [],
  theirs: [],
  ours: [],
  comparedCount: 0,
  problems: [],
  jobId: null,
  outcome: null,
  ...changes,
})
const instant = (at: string) => ({ at, local: at, notes: [] })

test('rows are in the order of the lines, whatever they are', () => {
  const rows = rowsOf({
    entries: [entry({ line: 3 }), entry({ line: 9 })],
    notes: [{ line: 1, text: 'MAILTO=a', detail: '' }],
    problems: [{ line: 5, detail: '' }],
  })
  expect(rows.map(({ line, kind }) => `${line} ${kind}`)).toEqual(['1 note', '3 entry', '5 problem', '9 entry'])
})

describe('a plan in words', () => {
  test('counts what becomes of its lines', () => {
    const entries = [
      entry(),
      entry({ status: 'needs-target' }),
      entry({ status: 'needs-target' }),
      entry({ status: 'refused' }),
    ]
    expect(planWords({ entries, problems: [] })).toBe(
      '1 line becomes a job, 2 commands need a target, 1 can’t be taken over.',
    )
  })

  test('tells new jobs from those that there are', () => {
    const known = entry({ jobId: 'job_1' })
    const again = { entries: [entry(), known, known], problems: [] }
    expect(planWords(again)).toBe('1 line becomes a job, 2 bring jobs up to date.')
    expect(makeWords(again, 'shadow')).toBe('Make 1 job in shadow, update 2 jobs')
    expect(planWords({ ...again, entries: [known] })).toBe('1 brings a job up to date.')
    expect(makeWords({ ...again, entries: [known] }, 'live')).toBe('Update 1 job')
    expect(makeWords({ entries: [], problems: [] }, 'live')).toBe('Make the jobs')
  })

  test('of nothing says so', () => expect(planWords({ entries: [], problems: [] })).toBe('0 lines become jobs.'))
})

test('the two sides are the same, not the same, or unknown', () => {
  expect(isSame({ theirs: [instant('a')], ours: [instant('a')] })).toBe(true)
  expect(isSame({ theirs: [instant('a')], ours: [instant('b')] })).toBe(false)
  expect(isSame({ theirs: null, ours: [instant('b')] })).toBeUndefined()
})

test('what is kept is no change', () => {
  const differences = [
    { code: 'zone' as const, isChange: false, detail: 'a' },
    { code: 'mail' as const, isChange: true, detail: 'b' },
  ]
  expect(changesOf(entry({ differences })).map(({ detail }) => detail)).toEqual(['b'])
})

test('what differs in every line is said once, and each line says its own', () => {
  const mail = { code: 'mail' as const, isChange: true, detail: 'mailed' }
  const late = { code: 'phase' as const, isChange: true, detail: 'late' }
  const days = { code: 'days' as const, isChange: false, detail: 'either' }
  const entries = [
    entry({ differences: [mail, late] }),
    entry({ differences: [mail, days] }),
    entry({ status: 'refused' }),
  ]
  const shared = sharedChanges(entries)
  expect(shared).toEqual([{ detail: 'mailed', count: 2, isEvery: true }])
  expect(entries.map((each) => tellingOf(each, shared).map(({ detail }) => detail))).toEqual([['late'], ['either'], []])
  expect(sharedChanges(entries.slice(0, 1))).toEqual([])
  const most = [1, 2, 3].map(() => entry({ differences: [mail] }))
  expect(sharedChanges([...most, entry()])).toEqual([{ detail: 'mailed', count: 3, isEvery: false }])
  expect(sharedChanges([...most, ...most.map(() => entry()), entry()])).toEqual([])
})

test('a warning stands beside a change', () => {
  const late = { code: 'phase' as const, isChange: true, detail: 'late' }
  const telling = tellingOf(entry({ differences: [late], warnings: ['not every 45 minutes'] }), [])
  expect(telling.map(({ detail }) => detail)).toEqual(['late', 'not every 45 minutes'])
})

test('a wall clock says its year only when it is another', () => {
  const now = Date.parse('2026-11-30T00:00:00Z')
  expect(wallWords('2026-12-01T06:25:00', now)).toBe('Tue 1 Dec 06:25')
  expect(wallWords('2028-02-29T00:00:30', now)).toBe('Tue 29 Feb 2028 00:00:30')
})
