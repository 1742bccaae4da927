import type { Why, WhyReason } from '@meridian/sdk'
import { describe, expect, it } from 'vitest'
import { jobWhy } from './why.ts'

const clock = { now: Date.parse('2026-11-29T12:00:00Z'), zone: 'UTC' }
const words = (...reasons: Partial<WhyReason>[]) => {
  const whole = reasons.map(
    (reason): WhyReason => ({ code: 'not-due', detail: 'So.', evidence: {}, expectedAt: null, ...reason }),
  )
  return linesOf(whole).map(({ text }) => text)
}
const linesOf = (reasons: WhyReason[]) =>
  jobWhy({ reasons, isWaiting: true, expectedAt: null, expiresAt: null } satisfies Why, clock)

describe('why a job does not run', () => {
  it('is a blackout, by name, and when it runs next', () => {
    const evidence = { at: '2026-11-29T18:00:00.000Z', until: '2026-11-30T06:00:00.000Z', name: 'release freeze' }
    expect(words({ code: 'blackout', evidence, expectedAt: '2026-11-30T18:00:00.000Z' })).toEqual([
      'Its next instant, today 18:00, falls into the blackout release freeze, which ends tomorrow 06:00. It runs next tomorrow 18:00.',
    ])
  })

  it('is a calendar that leaves nothing', () => {
    const evidence = { at: '2026-11-29T18:00:00.000Z' }
    expect(words({ code: 'calendar', evidence })).toEqual([
      'Its next instant, today 18:00, is at a time that its calendars leave out. No later one is known.',
    ])
  })

  it('is what became of its last instant', () => {
    const evidence = { at: '2026-11-28T18:00:00.000Z', reason: 'overlap' }
    expect(words({ code: 'not-due' }, { code: 'last-skipped', evidence })).toEqual([
      'Its last instant was yesterday 18:00. Skipped: the run before was still going.',
    ])
  })

  it('is a scheduler that is behind, or whatever the API comes to say', () => {
    const detail = 'An instant has passed and is not written down yet.'
    expect(words({ code: 'scheduler-behind', detail, evidence: { at: '2026-11-29T11:59:00.000Z' } })).toEqual([
      'An instant has passed and is not written down yet: it was 1 min ago.',
    ])
    expect(words({ code: 'no-executor', detail: 'Nobody is there.' })).toEqual(['Nobody is there.'])
  })

  it('is a limit that lets no more wait, and which', () => {
    const detail = 'As many runs wait as the limit few lets wait, 2: the next one is refused.'
    const evidence = { limitId: 'lim_1', name: 'few', limit: 2, used: 2 }
    expect(linesOf([{ code: 'backlog-full', detail, evidence, expectedAt: null }])).toEqual([
      { text: detail, limitId: 'lim_1' },
    ])
  })

  it('is no question while all is as the header tells', () => {
    expect(words({ code: 'job-paused' }, { code: 'no-schedule' }, { code: 'running' }, { code: 'not-due' })).toEqual([])
  })
})
