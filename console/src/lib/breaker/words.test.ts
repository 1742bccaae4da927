import type { Breaker } from '@meridian/sdk'
import { expect, test } from 'vitest'
import { byUrgency, causeOf, ruleWords } from './words.ts'

const breaker = (changes: Partial<Breaker> = {}): Breaker => ({
  id: 'brk_1',
  host: 'api.example.com',
  state: 'open',
  since: '2026-11-30T10:00:00Z',
  openedAt: '2026-11-30T10:00:00Z',
  openedBy: null,
  reason: null,
  closedAt: null,
  closedBy: null,
  failures: 27,
  error: 'http-status',
  httpStatus: 503,
  probesFailed: 0,
  probeAt: null,
  probeRun: null,
  held: 0,
  ...changes,
})

test('those that hold most come first, those that are well again last', () => {
  const sorted = byUrgency([
    breaker({ host: 'well', state: 'closed' }),
    breaker({ host: 'draining', state: 'draining', held: 90 }),
    breaker({ host: 'few', held: 1 }),
    breaker({ host: 'many', state: 'half-open', held: 40 }),
    breaker({ host: 'new', since: '2026-11-30T11:00:00Z', held: 1 }),
  ])
  expect(sorted.map(({ host }) => host)).toEqual(['many', 'new', 'few', 'draining', 'well'])
})

test('the cause is the last failure, or the reason of whoever opened it', () => {
  expect(causeOf(breaker())).toBe('27 failures. The target answered 503.')
  expect(causeOf(breaker({ failures: 1 }))).toBe('The target answered 503.')
  expect(causeOf(breaker({ openedBy: 'user_1', reason: 'They move.' }))).toBe('They move.')
  expect(causeOf(breaker({ openedBy: 'user_1' }))).toBe('')
})

test('the rule says when hosts are left alone', () => {
  const rule = { isEnabled: true, failures: 20, failureShare: 0.5, windowSeconds: 30, version: 0 }
  expect(ruleWords(rule)).toContain('fails 20 times within 30 s, and in at least 50 % of its attempts')
  expect(ruleWords({ ...rule, isEnabled: false })).toContain('turned off')
})
