import { describe, expect, it } from 'vitest'
import type { RetryPolicy } from './retry-form.ts'
import { deadlineWords, expectWords, retryWords, ruleWords } from './rule-words.ts'

const usual: RetryPolicy = { limit: 5, delay: 'PT0.1S', maxDelay: 'PT1.6S', factor: 2, jitter: 0.2 }

describe('the rules of a job in words', () => {
  it.each<[Partial<RetryPolicy>, string]>([
    [{}, 'Up to 5 times, after 100 ms, then twice as long each time, at most 1.6 s'],
    [{ limit: 0 }, 'Never'],
    [{ limit: 1, strategy: 'fixed', delay: 'PT1M' }, 'Up to 1 time, each after 1 min'],
    [
      { strategy: 'linear', delay: 'PT10S', maxDelay: 'PT1M' },
      'Up to 5 times, after 10 s, then 10 s longer each time, at most 1 min',
    ],
    [{ limit: 3, delays: ['PT10S', 'PT1M', 'PT2H'] }, '3 times, after 10 s, 1 min and 2 h'],
    [
      { factor: 3, maxAge: 'PT24H' },
      'Up to 5 times, after 100 ms, then 3 times as long each time, at most 1.6 s; none later than 1 d after it was due',
    ],
  ])('retries %j', (policy, words) => {
    expect(retryWords({ ...usual, ...policy })).toBe(words)
  })

  it('what holds after some failures', () => {
    expect(ruleWords({ on: ['4xx'], retry: false })).toBe('After 4xx: not again')
    expect(ruleWords({ on: ['429', '503', 'timeout'], retry: true })).toBe(
      'After 429, 503 or timeout: again, in the same way',
    )
    expect(ruleWords({ on: ['429'], retry: true, limit: 2, delays: ['PT1M'] })).toBe(
      'After 429: up to 2 times, after 1 min',
    )
  })

  it('what an answer has to be', () => {
    expect(expectWords(undefined)).toEqual(['The status is 2xx'])
    const json = [
      { path: '$.a', equals: 'done' },
      { path: '$.b', exists: false },
    ]
    expect(expectWords({ status: ['2xx', '304'], json, notMatches: ['error'] })).toEqual([
      'The status is 2xx or 304',
      '$.a is "done"',
      'There is no $.b',
      'The body does not match error',
    ])
  })

  it('deadlines', () => {
    expect(deadlineWords({ startWithin: null, endWithin: null })).toBeUndefined()
    expect(deadlineWords({ startWithin: 'PT5M', endWithin: 'PT1H30M' })).toBe(
      'It has to begin within 5 min and end within 90 min after it was due, or it expires',
    )
  })
})
