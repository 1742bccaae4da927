import type { DeadLetterGroup } from '@meridian/sdk'
import { describe, expect, it } from 'vitest'
import { groupsOf, placesOf, readFilter } from './filter.ts'

const group = (fingerprint: string, more: Partial<DeadLetterGroup>): DeadLetterGroup => ({
  fingerprint,
  jobId: null,
  jobName: null,
  queue: 'default',
  status: 'failed',
  error: 'timeout',
  httpStatus: null,
  count: 9,
  quarantined: 0,
  firstFailedAt: '2026-11-29T12:00:00.000Z',
  lastFailedAt: '2026-11-29T12:00:00.000Z',
  lastRunId: 'run_1',
  ...more,
})
const groups = [
  group('a', { jobId: 'job_2', jobName: 'nightly', queue: 'reports' }),
  group('b', { jobId: 'job_1', jobName: 'hourly', quarantined: 2 }),
  group('c', { jobId: 'job_2', jobName: 'nightly', queue: 'reports', quarantined: 1 }),
  group('d', {}),
]
const shown = (query: string) =>
  groupsOf(groups, readFilter(new URLSearchParams(query))).map(({ fingerprint }) => fingerprint)

describe('which dead letters are looked at', () => {
  it('are all of them, or those that every filter is true of', () => {
    expect(shown('')).toEqual(['a', 'b', 'c', 'd'])
    expect(shown('job=job_2')).toEqual(['a', 'c'])
    expect(shown('queue=default')).toEqual(['b', 'd'])
    expect(shown('queue=reports&quarantined=yes')).toEqual(['c'])
  })

  it('are chosen among the jobs and queues that have some', () => {
    expect(placesOf(groups)).toEqual({
      jobs: [
        { value: 'job_1', label: 'hourly' },
        { value: 'job_2', label: 'nightly' },
      ],
      queues: [
        { value: 'default', label: 'default' },
        { value: 'reports', label: 'reports' },
      ],
    })
  })
})
