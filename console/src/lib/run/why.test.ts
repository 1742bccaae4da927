import type { Attempt, Queue, Run } from '@meridian/sdk'
import { describe, expect, it } from 'vitest'
import { whyWaiting } from './why.ts'

const now = Date.parse('2026-11-29T12:00:00Z')
const run = (status: Run['status']): Run =>
  ({ status, queue: 'reports', dueAt: '2026-11-29T12:04:00.000Z', attempt: 0, attemptsMax: 6 }) as Run
const queue = (changes: Partial<Queue> = {}): Queue => ({
  id: 'que_1',
  name: 'reports',
  concurrency: 2,
  weight: 1,
  createdAt: '2026-11-01T00:00:00.000Z',
  updatedAt: '2026-11-01T00:00:00.000Z',
  version: 1,
  pausedAt: null,
  pausedBy: null,
  pauseReason: null,
  depth: { scheduled: 0, ready: 1, queued: 0, running: 0, isLowerBound: false },
  ...changes,
})

describe('why a run is not running', () => {
  it('is its instant', () => {
    expect(whyWaiting(run('scheduled'), [], undefined, now)).toEqual(['It is due in 4 min.'])
  })

  it('is the pause before a retry', () => {
    const failed = { attempt: 1, error: 'http-status', httpStatus: 503, retryAt: '2026-11-29T12:04:00.000Z' } as Attempt
    expect(whyWaiting(run('scheduled'), [failed], undefined, now)).toEqual([
      'Attempt 1 failed. The target answered 503.',
      'Attempt 2, of at most 6, is due in 4 min.',
    ])
  })

  it('is a paused queue, with the reason', () => {
    const paused = queue({ pausedAt: '2026-11-29T10:00:00.000Z', pauseReason: 'Moving the target' })
    expect(whyWaiting(run('ready'), [], paused, now)).toEqual([
      'The queue reports is paused, since 2 h ago.',
      'The reason given: Moving the target',
    ])
  })

  it('is a full queue, with how many wait', () => {
    const full = queue({ depth: { scheduled: 0, ready: 13, queued: 1, running: 1, isLowerBound: false } })
    expect(whyWaiting(run('ready'), [], full, now)).toEqual([
      'The queue reports is full: 2 of 2 at once. 12 others wait with it.',
    ])
  })

  it('is the executors when the queue has room', () => {
    expect(whyWaiting(run('ready'), [], queue(), now)).toEqual([
      'It is due and waits for a free executor. The queue reports has room: 0 of 2.',
    ])
  })

  it.each(['running', 'succeeded', 'failed', 'cancelled', 'expired', 'skipped'] as const)(
    'is nothing for %s',
    (status) => {
      expect(whyWaiting(run(status), [], queue(), now)).toEqual([])
    },
  )
})
