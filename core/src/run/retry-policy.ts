import { z } from 'zod'
import { type Backoff, backoffDelay } from '../kernel/backoff.ts'
import { durationMs, durationValue } from '../kernel/duration.ts'
import type { AttemptOutcome, ErrorClass } from './outcome.ts'

/** The wire value of a retry policy: `limit` further tries after the first. */
export const retryPolicyValue = z.strictObject({
  limit: z.int().min(0).max(100).default(5),
  delay: durationValue('PT0.001S', 'PT24H').default('PT0.1S'),
  factor: z.number().min(1).max(10).default(2),
  maxDelay: durationValue('PT0.001S', 'PT24H')
    .default('PT1.6S')
    .meta({ description: 'No delay is longer than this. A longer `delay` raises it.' }),
  jitter: z
    .number()
    .min(0)
    .max(1)
    .default(0.2)
    .meta({ description: 'A delay may be shorter by up to this share, so that a crowd does not come back at once.' }),
})
export type RetryPolicyValue = z.output<typeof retryPolicyValue>

export interface RetryPolicy extends Backoff {
  limit: number
}

/** The parsed form of a wire policy. */
export function toRetryPolicy({ limit, delay, factor, maxDelay, jitter }: RetryPolicyValue): RetryPolicy {
  const baseMs = durationMs(delay) ?? 0
  return { limit, baseMs, factor, capMs: Math.max(baseMs, durationMs(maxDelay) ?? 0), jitter }
}

/** What holds where nothing else was asked for. */
export const defaultRetryPolicy: RetryPolicy = toRetryPolicy(retryPolicyValue.parse({}))

const passing: ReadonlySet<ErrorClass> = new Set([
  'timeout',
  'connect-failed',
  'tls-failed',
  'reset',
  'protocol-error',
  'dns-failed',
])
const passingStatuses: ReadonlySet<number> = new Set([408, 425, 429])

export type Failure = Pick<Extract<AttemptOutcome, { status: 'failed' }>, 'errorClass' | 'httpStatus' | 'retryAfterMs'>

/** Whether trying again can help: not when the target said no, when the destination is barred, or after a cancel. */
export function isRetryable({ errorClass, httpStatus, retryAfterMs }: Failure): boolean {
  if (errorClass !== 'http-status') return passing.has(errorClass)
  const status = httpStatus ?? 0
  if (status >= 300 && status < 400) return retryAfterMs !== null
  return status >= 500 || passingStatuses.has(status)
}

const askedMaxMs = 86_400_000
const askedSpread = 0.1

/**
 * Milliseconds from the end of the `attempt`-th try (1, 2, ...) to the next, or `null` when there is none.
 * A target that asked for a time (`Retry-After`) is given it, up to a day, and up to a tenth more so that a crowd
 * does not come back at one instant; otherwise the policy's back-off holds. `random` is in [0, 1).
 */
export function nextDelay(policy: RetryPolicy, attempt: number, random: number, failure: Failure): number | null {
  if (attempt > policy.limit || !isRetryable(failure)) return null
  // "Now" is not a time to wait: then the policy decides, or a target could have us hammer it.
  if (failure.retryAfterMs === null || failure.retryAfterMs <= 0) return backoffDelay(policy, attempt, random)
  const askedMs = Math.min(askedMaxMs, Math.ceil(failure.retryAfterMs))
  return askedMs + Math.floor(askedMs * askedSpread * random)
}
