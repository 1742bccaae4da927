import type { Attempt, Why, WhyReason } from '@meridian/sdk'
import { describe, expect, it } from 'vitest'
import { whyWaiting } from './why.ts'

const now = Date.parse('2026-11-29T12:00:00Z')
const soon = '2026-11-29T12:04:00.000Z'
const why = (reasons: Partial<WhyReason>[], more: Partial<Why> = {}): Why => ({
  reasons: reasons.map(
    (reason): WhyReason => ({ code: 'not-due', detail: 'So.', evidence: {}, expectedAt: null, ...reason }),
  ),
  isWaiting: true,
  expectedAt: null,
  expiresAt: null,
  ...more,
})
const words = (answer: Why | undefined, attempts: Attempt[] = []) =>
  whyWaiting(answer, attempts, now).map(({ text }) => text)

describe('why a run is not running', () => {
  it('is its instant', () => {
    expect(words(why([{ evidence: { at: soon } }], { expectedAt: soon }))).toEqual(['It is due in 4 min.'])
  })

  it('is the pause before a retry', () => {
    const evidence = { attempt: 1, attemptsMax: 6, error: 'http-status', at: soon }
    expect(words(why([{ code: 'waits-for-retry', evidence }]), [{ httpStatus: 503 } as Attempt])).toEqual([
      'Attempt 1 failed. The target answered 503.',
      'Attempt 2, of at most 6, is due in 4 min.',
    ])
  })

  it('is a paused queue, with the reason given', () => {
    const evidence = { queue: 'reports', since: '2026-11-29T11:00:00.000Z', reason: 'moving' }
    const detail = 'The queue reports is paused.'
    expect(words(why([{ code: 'queue-paused', detail, evidence }]))).toEqual([
      'The queue reports is paused, since 1 h ago.',
      'The reason given: moving',
    ])
  })

  it('is a paused limit, with who paused it and where it is', () => {
    const evidence = { limitId: 'lim_1', by: 'usr_1', since: '2026-11-29T11:00:00.000Z' }
    expect(whyWaiting(why([{ code: 'limit-paused', detail: 'The limit x is paused.', evidence }]), [], now)).toEqual([
      { text: 'The limit x is paused, since 1 h ago.', runIds: [], limitId: 'lim_1', by: 'usr_1' },
    ])
  })

  it('is a full queue, with who holds it, and when it goes on', () => {
    const evidence = { ahead: 3, runIds: ['run_1'] }
    const detail = 'The queue reports is full: 2 of 2 at once.'
    const answer = why([{ code: 'queue-full', detail, evidence }], { expectedAt: soon, expiresAt: soon })
    expect(whyWaiting(answer, [], now)).toEqual([
      { text: `${detail} 3 others come before it.`, runIds: ['run_1'], limitId: undefined },
      { text: 'It is expected to go on in 4 min.', runIds: [] },
      { text: 'Should it still wait then, it expires in 4 min.', runIds: [] },
    ])
  })

  it('is nobody’s question once it runs, has ended, or nothing was told', () => {
    for (const code of ['running', 'succeeded', 'failed', 'deadline-passed'] as const) {
      expect(words(why([{ code }], { isWaiting: false }))).toEqual([])
    }
    expect(words(undefined)).toEqual([])
  })
})
