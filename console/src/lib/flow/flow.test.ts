import type { Limit } from '@meridian/sdk'
import { describe, expect, it } from 'vitest'
import { changesOf, draftOf, limitOf, missingIn } from './draft.ts'
import { allowWords, classWords, fullWords, heldWords, scopeWords } from './words.ts'

const limit: Limit = {
  id: 'lim_1',
  projectId: 'prj_1',
  name: 'Per customer',
  scope: { type: 'queue', queue: 'reports' },
  key: 'body.customer.id',
  cost: null,
  concurrency: 2,
  rate: { count: 100, per: 'PT1H', burst: 10 },
  backlog: { max: 5_000, whenFull: 'drop-oldest' },
  pausedAt: null,
  pausedBy: null,
  pauseReason: null,
  pinnedAt: null,
  pinnedBy: null,
  createdAt: '2026-11-30T00:00:00.000Z',
  updatedAt: '2026-11-30T00:00:00.000Z',
  version: 1,
}

describe('a limit in words', () => {
  it('says what it holds for', () => {
    expect(scopeWords(limit, undefined)).toBe('runs of queue reports')
    expect(scopeWords({ scope: { type: 'host', host: '*.example.com' } }, undefined)).toBe('calls of *.example.com')
    expect(scopeWords({ scope: { type: 'job', jobId: 'job_1' } }, 'Invoices')).toBe('runs of Invoices')
  })

  it('says what it allows', () => {
    expect(allowWords(limit)).toEqual([
      '2 at once',
      '100 in 1 h, 10 of them at once',
      '5,000 may wait, then the oldest is dropped',
    ])
    expect(allowWords({ concurrency: null, rate: { count: 5, per: 'PT1S', burst: 5 }, backlog: null })).toEqual([
      '5 in 1 s',
    ])
  })

  it('says why it lets nothing through', () => {
    const usage = { room: 0, concurrency: 2, used: 2, tokens: 3 }
    expect(heldWords(usage, false)).toBe('Full')
    expect(heldWords({ ...usage, used: 0, tokens: 0 }, false)).toBe('Waits for a token')
    expect(heldWords({ ...usage, room: 1 }, false)).toBeUndefined()
    expect(heldWords({ ...usage, room: null }, true)).toBe('Paused')
  })
})

describe('a backlog in words', () => {
  it('tells what becomes of the next run once it is full', () => {
    const of = (whenFull: 'reject' | 'drop-oldest', waiting: number | null) =>
      fullWords({ backlog: { max: 2, whenFull } }, { backlog: waiting })
    expect(of('reject', 1)).toBeUndefined()
    expect(of('reject', 2)).toBe('the next is refused')
    expect(of('drop-oldest', 3)).toBe('the next ends the oldest')
    expect(of('reject', null)).toBeUndefined()
    expect(fullWords({ backlog: null }, { backlog: 2 })).toBeUndefined()
  })
})

describe('the class of a queue in words', () => {
  it('is told where it is not the usual one', () => {
    expect(classWords({ class: 'standard', preemptible: false })).toBeUndefined()
    expect(classWords({ class: 'critical', preemptible: false })).toBe('Critical')
    expect(classWords({ class: 'bulk', preemptible: true })).toBe('Bulk, put back for critical runs')
  })
})

describe('a limit that is being written', () => {
  it('keeps what it was', () => {
    expect(limitOf(draftOf(limit))).toMatchObject({ scope: limit.scope, key: limit.key, rate: limit.rate })
    expect(changesOf({ ...draftOf(limit), rateCount: undefined, concurrency: undefined })).toEqual({
      name: 'Per customer',
      concurrency: null,
      rate: null,
      backlog: limit.backlog,
    })
  })

  it('leaves out what is empty, and says what is missing', () => {
    const draft = { ...draftOf(undefined, 'reports'), name: ' x ' }
    expect(missingIn(draft)).toMatch(/what it allows/)
    expect(missingIn({ ...draft, name: '' })).toMatch(/name/)
    expect(missingIn({ ...draft, queue: '' })).toMatch(/queue/)
    const ready = { ...draft, rateCount: 10, ratePerMs: 1_000 }
    expect(missingIn(ready)).toBeUndefined()
    expect(limitOf(ready)).toEqual({
      name: 'x',
      scope: { type: 'queue', queue: 'reports' },
      key: null,
      cost: null,
      concurrency: null,
      rate: { count: 10, per: 'PT1S' },
      backlog: null,
    })
  })
})
