import type { JobSummary, Run } from '@meridian/sdk'
import { describe, expect, it } from 'vitest'
import { median } from './median.ts'
import { changedPaces, groupFailures, paces, pastCounts, rateOf, rateWords, stateLine } from './overview.ts'

const past = (succeeded: number, failed: number, other = 0) => [{ at: 0, succeeded, failed, other }]
const idle = { waiting: 0, running: 0, paused: 0 }

describe('the line that says how a project is', () => {
  it.each([
    [past(0, 0), idle, 'Nothing ran in the last 24 hours', 'quiet'],
    [past(0, 0, 3), idle, 'Nothing ran in the last 24 hours', 'quiet'],
    [past(1, 0), idle, 'The one run of the last 24 hours succeeded', 'succeeded'],
    [past(1_204, 0), idle, 'All 1,204 runs of the last 24 hours succeeded', 'succeeded'],
    [past(38, 3), idle, '3 of 41 runs of the last 24 hours failed', 'failed'],
    [
      past(41, 0),
      { waiting: 2, running: 1, paused: 1 },
      'All 41 runs of the last 24 hours succeeded · 1 running · 2 waiting · 1 job paused',
      'succeeded',
    ],
    [past(1, 0), { ...idle, still: 2 }, '2 things stand still · The one run of the last 24 hours succeeded', 'failed'],
  ])('%j, %j', (counts, now, text, meaning) => {
    expect(stateLine({ past: counts, ...now })).toEqual({ text, meaning })
  })
})

describe('pastCounts', () => {
  it('counts an expired run as failed and a skipped one as neither', () => {
    expect(
      pastCounts([
        {
          from: '2026-11-29T00:00:00.000Z',
          to: '',
          counts: { succeeded: 4, failed: 1, expired: 2, skipped: 3, cancelled: 1 },
        },
      ]),
    ).toEqual([{ at: Date.parse('2026-11-29T00:00:00.000Z'), succeeded: 4, failed: 3, other: 4 }])
  })
})

describe('groupFailures', () => {
  it('gathers by job and reason, the freshest group first', () => {
    const run = (id: string, jobId: string | null, error: string, httpStatus: number | null) =>
      ({ id, jobId, error, httpStatus }) as Run
    const groups = groupFailures([
      run('run_4', 'job_a', 'http-status', 503),
      run('run_3', 'job_b', 'timeout', null),
      run('run_2', 'job_a', 'http-status', 503),
      run('run_1', 'job_a', 'http-status', 500),
    ])
    expect(groups.map((group) => group.runs.map(({ id }) => id))).toEqual([['run_4', 'run_2'], ['run_3'], ['run_1']])
  })
})

describe('paces', () => {
  const job = (name: string, durations: (number | null)[]) =>
    ({
      name,
      recent: {
        runs: durations.map((durationMs) => ({ status: 'succeeded', durationMs })),
        succeeded: 0,
        failed: 0,
        successRate: null,
        week: { succeeded: 0, failed: 0, successRate: null },
      },
    }) as unknown as JobSummary

  it('put the slowest first and leave out what never ran', () => {
    const all = paces([job('quick', [10, 12, 11]), job('slow', [900]), job('never', []), job('unknown', [null])])
    expect(all.map((pace) => [pace.job.name, pace.medianMs, pace.change])).toEqual([
      ['slow', 900, undefined],
      ['quick', 11, undefined],
    ])
  })

  it('name a change only when there is enough before it', () => {
    const slower = job('slower', [200, 210, 190, 200, 205, 100, 100, 100, 100, 100])
    const steady = job('steady', [100, 110, 90, 100, 105, 100, 100, 100, 100, 100])
    const quicker = job('quicker', [20, 20, 20, 20, 20, 100, 100, 100, 100, 100])
    expect(changedPaces(paces([slower, steady, quicker])).map((pace) => [pace.job.name, pace.change])).toEqual([
      ['quicker', 0.2],
      ['slower', 2],
    ])
    expect(changedPaces(paces([job('few', [900, 1, 1, 1])]))).toEqual([])
  })
})

describe('median', () => {
  it('is the middle, or the mean of the two in the middle', () => {
    expect(median([3, 1, 2])).toBe(2)
    expect(median([4, 1, 2, 3])).toBe(2.5)
    expect(median([])).toBeUndefined()
  })
})

describe('rateOf', () => {
  it('is the share of what succeeded, and nothing where nothing ended', () => {
    const counts = [
      { succeeded: 9_999, failed: 0 },
      { succeeded: 0, failed: 1 },
    ]
    expect(rateWords(rateOf(counts) ?? 0)).toBe('99.9 %')
    expect(rateOf([])).toBeUndefined()
    expect(rateWords(1)).toBe('100 %')
  })
})
