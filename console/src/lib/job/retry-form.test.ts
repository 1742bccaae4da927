import { describe, expect, it } from 'vitest'
import { newRule, type RetryPolicy, retryFormOf, retryOf } from './retry-form.ts'

const usual: RetryPolicy = { limit: 5, delay: 'PT0.1S', maxDelay: 'PT1.6S', factor: 2, jitter: 0.2 }

describe('the form of a retry policy', () => {
  it.each<[string, RetryPolicy]>([
    ['the usual one', usual],
    ['exponential by name', { ...usual, strategy: 'exponential' }],
    ['linear', { ...usual, strategy: 'linear', delay: 'PT10S', maxDelay: 'PT5M' }],
    ['fixed, without chance', { ...usual, strategy: 'fixed', jitter: 0 }],
    ['a list', { ...usual, limit: 3, delays: ['PT0.5S', 'PT10S', 'PT24H'] }],
    ['with an age', { ...usual, maxAge: 'PT6H' }],
    ['with an expression', { ...usual, expression: 'status == 429 ? 60000 : stop' }],
    [
      'with rules',
      {
        ...usual,
        rules: [
          { on: ['429', '5xx'], retry: true, limit: 2, delays: ['PT1M'] },
          { on: ['timeout'], retry: true, strategy: 'fixed', delay: 'PT30S' },
          { on: ['dns-failed'], retry: true, delay: 'PT1S', jitter: 0.075 },
          { on: ['4xx'], retry: false },
        ],
      },
    ],
  ])('opens and saves %s unchanged', (_, retry) => {
    expect(retryOf(retryFormOf(retry), retry)).toEqual({ retry, faults: [] })
  })

  it('begins with what the API takes when nothing is said', () => {
    expect(retryOf(retryFormOf(undefined), undefined)).toEqual({ retry: usual, faults: [] })
  })

  it('reads pauses as people write them, and counts them', () => {
    const form = { ...retryFormOf(undefined), kind: 'list' as const, delays: '30, 5 min; 2h' }
    expect(retryOf(form, undefined).retry).toMatchObject({ limit: 3, delays: ['PT30S', 'PT5M', 'PT2H'] })
  })

  it.each([
    ['soon', /soon/],
    ['10 s, 5 parsecs', /5 parsecs/],
    [' , ', /one after the other/],
  ])('says what is wrong with the pauses %j', (delays, detail) => {
    const form = { ...retryFormOf(undefined), kind: 'list' as const, delays }
    const fault = { pointer: '/retry/delays', detail: expect.stringMatching(detail) }
    expect(retryOf(form, undefined).faults).toEqual([fault])
  })

  it('wants to know what a rule is about', () => {
    const form = { ...retryFormOf(undefined), rules: [{ ...newRule, on: '404' }, newRule] }
    expect(retryOf(form, undefined)).toMatchObject({
      retry: { rules: [{ on: ['404'], retry: false }, { on: [] }] },
      faults: [{ pointer: '/retry/rules/1/on' }],
    })
  })
})
