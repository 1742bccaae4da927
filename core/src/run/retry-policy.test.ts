import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { errorClasses } from './outcome.ts'
import {
  defaultRetryPolicy,
  type Failure,
  isRetryable,
  nextDelay,
  retryPolicyValue,
  toRetryPolicy,
} from './retry-policy.ts'

const policy = defaultRetryPolicy
const failure: Failure = { errorClass: 'http-status', httpStatus: 500, retryAfterMs: null }
const unit = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

describe('the policy', () => {
  test('by default tries five times more, from 100 ms doubling to 1.6 s', () => {
    const delays = [1, 2, 3, 4, 5, 6].map((attempt) => nextDelay({ ...policy, jitter: 0 }, attempt, 0.5, failure))
    expect(delays).toEqual([100, 200, 400, 800, 1_600, null])
  })

  test('with a limit of 0 never tries again', () => {
    expect(nextDelay({ ...policy, limit: 0 }, 1, 0.5, failure)).toBeNull()
  })

  test('a delay longer than the longest raises the longest', () => {
    expect(nextDelay(toRetryPolicy(retryPolicyValue.parse({ delay: 'PT1M', jitter: 0 })), 3, 0, failure)).toBe(60_000)
  })

  test.each([
    { limit: 101 },
    { limit: -1 },
    { limit: 1.5 },
    { factor: 0.5 },
    { delay: 'PT0S' },
    { maxDelay: 'PT25H' },
    { jitter: 1.1 },
    { other: 1 },
  ])('%j is refused', (value) => expect(retryPolicyValue.safeParse(value).success).toBe(false))

  test('a second doubling up to a day stays whole, positive and capped for ten thousand attempts, whatever the chance', () => {
    const long = { limit: 10_000, baseMs: 1_000, factor: 2, capMs: 86_400_000, jitter: 0.2 }
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), unit, (attempt, random) => {
        const delay = nextDelay(long, attempt, random, failure) ?? 0
        const full = nextDelay({ ...long, jitter: 0 }, attempt, random, failure) ?? 0
        expect(Number.isInteger(delay) && delay > 0 && delay <= 86_400_000).toBe(true)
        expect(delay).toBeGreaterThanOrEqual(Math.floor(full * 0.8))
        expect(delay).toBeLessThanOrEqual(full)
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('a time the target asked for', () => {
  test.each([429, 503, 500])('is kept with status %d, and passed by no more than a tenth', (httpStatus) => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 86_400_000 }), unit, (retryAfterMs, random) => {
        const delay = nextDelay(policy, 1, random, { ...failure, httpStatus, retryAfterMs }) ?? 0
        expect(Number.isInteger(delay)).toBe(true)
        expect(delay).toBeGreaterThanOrEqual(retryAfterMs)
        expect(delay).toBeLessThanOrEqual(retryAfterMs * 1.1)
      }),
    )
  })

  test('is kept up to a day', () => {
    expect(nextDelay(policy, 1, 0, { ...failure, httpStatus: 429, retryAfterMs: 30 * 86_400_000 })).toBe(86_400_000)
  })

  test('of now or of the past leaves it to the policy', () => {
    for (const retryAfterMs of [0, -5_000]) expect(nextDelay(policy, 1, 0, { ...failure, retryAfterMs })).toBe(100)
  })

  test('does not lift the limit', () => {
    expect(nextDelay(policy, 6, 0, { ...failure, httpStatus: 429, retryAfterMs: 1_000 })).toBeNull()
  })
})

describe('trying again', () => {
  test.each([408, 425, 429, 500, 502, 503, 504, 599])('helps after %d', (httpStatus) => {
    expect(isRetryable({ ...failure, httpStatus })).toBe(true)
  })
  test.each([301, 304, 400, 401, 403, 404, 405, 409, 410, 413, 422, 451])('does not help after %d', (httpStatus) => {
    expect(isRetryable({ ...failure, httpStatus })).toBe(false)
  })
  test('helps after a redirect that says when to come back', () => {
    expect(isRetryable({ ...failure, httpStatus: 302, retryAfterMs: 1_000 })).toBe(true)
  })
  test('helps after failures of the network, and after a response that was not as expected', () => {
    const retried = errorClasses.filter((errorClass) =>
      isRetryable({ errorClass, httpStatus: null, retryAfterMs: null }),
    )
    expect(retried).toEqual([
      'timeout',
      'connect-failed',
      'tls-failed',
      'reset',
      'protocol-error',
      'dns-failed',
      'unexpected-response',
    ])
  })
})

const parsed = (value: unknown) => toRetryPolicy(retryPolicyValue.parse(value))
const delaysOf = (value: Record<string, unknown>, more: Partial<Failure> = {}, attempts = 5) =>
  Array.from({ length: attempts }, (_, index) =>
    nextDelay(parsed({ jitter: 0, ...value }), index + 1, 0, { ...failure, ...more }),
  )

describe('delays', () => {
  test('of a fixed strategy stay', () => {
    expect(delaysOf({ strategy: 'fixed', delay: 'PT2S', limit: 3 })).toEqual([2_000, 2_000, 2_000, null, null])
  })
  test('of a linear strategy grow by as much each time, up to the longest', () => {
    const policy = { strategy: 'linear', delay: 'PT2S', maxDelay: 'PT5S', limit: 4 }
    expect(delaysOf(policy)).toEqual([2_000, 4_000, 5_000, 5_000, null])
  })
  test('of a list are as they are written, and it says how many there are', () => {
    expect(delaysOf({ delays: ['PT1S', 'PT1M', 'PT5M'], limit: 1 })).toEqual([1_000, 60_000, 300_000, null, null])
    expect(retryPolicyValue.parse({ delays: ['PT1S', 'PT1M', 'PT5M'] }).limit).toBe(3)
  })
  test('of a list are spread like others', () => {
    expect(nextDelay(parsed({ delays: ['PT10S'], jitter: 0.5 }), 1, 0.5, failure)).toBe(7_500)
  })
})

describe('a rule', () => {
  test('decides for the failures it names: statuses, classes of them, errors', () => {
    const policy = { limit: 1, rules: [{ on: ['404', 'timeout'] }, { on: ['4xx', '5xx', 'dns-failed'], retry: false }] }
    const first = (more: Partial<Failure>) => delaysOf(policy, more, 1)[0]
    expect(first({ httpStatus: 404 })).toBe(100)
    expect(first({ errorClass: 'timeout', httpStatus: null })).toBe(100)
    expect(first({ httpStatus: 503 })).toBeNull()
    expect(first({ httpStatus: 429 })).toBeNull()
    expect(first({ errorClass: 'dns-failed', httpStatus: null })).toBeNull()
    expect(first({ errorClass: 'reset', httpStatus: null })).toBe(100)
  })
  test('has delays and a limit of its own, and what it leaves out from the policy', () => {
    const policy = {
      limit: 5,
      delay: 'PT1S',
      factor: 3,
      maxDelay: 'PT1H',
      rules: [{ on: ['429'], delay: 'PT1M', limit: 2 }],
    }
    expect(delaysOf(policy, { httpStatus: 429 })).toEqual([60_000, 180_000, null, null, null])
    expect(delaysOf(policy, { httpStatus: 500 }, 3)).toEqual([1_000, 3_000, 9_000])
  })
  test('leaves the list of its policy when it grows by itself', () => {
    const policy = {
      delays: ['PT1S', 'PT2S'],
      rules: [{ on: ['429'], strategy: 'fixed', delay: 'PT1M' }, { on: ['503'] }],
    }
    expect(delaysOf(policy, { httpStatus: 429 }, 3)).toEqual([60_000, 60_000, null])
    expect(delaysOf(policy, { httpStatus: 503 }, 3)).toEqual([1_000, 2_000, null])
  })
  test('does not lift the limit, and comes after the first that fits', () => {
    const policy = {
      limit: 1,
      rules: [
        { on: ['503'], limit: 9 },
        { on: ['503'], retry: false },
      ],
    }
    expect(delaysOf(policy, { httpStatus: 503 }, 2)).toEqual([100, null])
  })
  test('never brings a cancelled attempt back', () => {
    expect(retryPolicyValue.safeParse({ rules: [{ on: ['cancelled'] }] }).success).toBe(false)
  })
})

test('a target that forbids a further try is obeyed, whatever a rule says', () => {
  expect(delaysOf({ rules: [{ on: ['503'] }] }, { httpStatus: 503, forbidsRetry: true }, 1)).toEqual([null])
})

test.each([
  [{ delays: [] }, ['delays']],
  [{ delays: ['PT1S'], strategy: 'fixed' }, ['strategy']],
  [{ strategy: 'fibonacci' }, ['strategy']],
  [{ maxAge: 'P1D' }, ['maxAge']],
  [{ rules: [{ on: [] }] }, ['rules', 0, 'on']],
  [{ rules: [{ on: ['6xx'] }] }, ['rules', 0, 'on', 0]],
  [{ rules: [{ on: ['500'], delays: ['PT1S'], strategy: 'linear' }] }, ['rules', 0, 'strategy']],
])('%j is refused where it is wrong', (value, path) => {
  expect(retryPolicyValue.safeParse(value).error?.issues.map((issue) => issue.path)).toEqual([path])
})

describe('an expression', () => {
  const answer = (body: unknown, headers: Record<string, string> = {}): Partial<Failure> => ({
    httpStatus: 429,
    response: {
      ...{ status: 429, headers, body: Buffer.from(JSON.stringify(body)) },
      ...{ truncated: false, storedAs: null, redirectedTo: null },
    },
  })
  test('says how long to wait, from what the attempt met', () => {
    const expression = 'status == 429 ? attempt * 1000 : error == "timeout" ? 7 : stop'
    const policy = { limit: 3, expression }
    expect(delaysOf(policy, { httpStatus: 429 }, 4)).toEqual([1_000, 2_000, 3_000, null])
    expect(delaysOf(policy, { errorClass: 'timeout', httpStatus: null }, 1)).toEqual([7])
    expect(delaysOf(policy, { httpStatus: 503 }, 1)).toEqual([null])
    expect(delaysOf({ limit: 1, expression: 'status == 404 ? 5 : stop' }, { httpStatus: 404 }, 1)).toEqual([5])
  })
  test('sees the answer, and what the policy would wait', () => {
    const policy = { limit: 1, delay: 'PT1S', expression: 'body.?retryIn.orValue(3000)' }
    expect(delaysOf(policy, answer({ retryIn: 250.2 }), 1)).toEqual([251])
    expect(delaysOf(policy, answer({}), 1)).toEqual([3_000])
    expect(delaysOf({ limit: 1, expression: 'int(headers["x-wait"]) * 2' }, answer({}, { 'X-Wait': '40' }), 1)).toEqual(
      [80],
    )
    expect(delaysOf({ limit: 1, delay: 'PT1S', jitter: 0, expression: 'delay * 2' }, { httpStatus: 500 }, 1)).toEqual([
      2_000,
    ])
  })
  test('that can’t be told leaves it to the rest of the policy', () => {
    const policy = { limit: 1, delay: 'PT1S', expression: 'int(headers["x-wait"])' }
    expect(delaysOf(policy, answer({}), 1)).toEqual(delaysOf({ limit: 1, delay: 'PT1S' }, answer({}), 1))
    expect(delaysOf({ limit: 1, expression: 'body.text' }, answer({ text: 'soon' }), 1)).toEqual([100])
  })
  test('is bound by a day, by the target that forbids, and by what is over', () => {
    const policy = { limit: 3, expression: '1000000000' }
    expect(delaysOf(policy, { httpStatus: 500 }, 1)).toEqual([86_400_000])
    expect(delaysOf(policy, { httpStatus: 500, forbidsRetry: true }, 1)).toEqual([null])
    for (const errorClass of ['cancelled', 'end-deadline'] as const)
      expect(delaysOf(policy, { errorClass, httpStatus: null }, 1)).toEqual([null])
  })
  test.each(['attempt >', '"soon"', 'status == 500', 'unknown * 2', 'attempt ? 1 : 2'])(
    '%j is refused',
    (expression) => {
      expect(retryPolicyValue.safeParse({ expression }).error?.issues.map(({ path }) => path)).toEqual([['expression']])
    },
  )
})
