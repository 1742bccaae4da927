import { z } from 'zod'
import { type Backoff, backoffDelay } from '../kernel/backoff.ts'
import { durationMs, durationValue } from '../kernel/duration.ts'
import { type AttemptOutcome, type AttemptResponse, type ErrorClass, errorClasses } from './outcome.ts'
import { expressedDelay, retryExpressionValue } from './retry-expression.ts'

const delayValue = durationValue('PT0.001S', 'PT24H')

const strategyValue = z.enum(['exponential', 'linear', 'fixed']).meta({
  description:
    'How delays grow: multiplied by `factor` each time (exponential, the default), by `delay` more each time (linear), or not (fixed).',
})
const delaysValue = z.array(delayValue).min(1).max(100).meta({
  description:
    'Each delay as it is, first to last. There are as many further tries as delays: `limit` is their number.',
})

const maxDelayMeta = { description: 'No delay is longer than this. A longer `delay` raises it.' }
const jitterMeta = {
  description: 'A delay may be shorter by up to this share, so that a crowd does not come back at once.',
}
const limitValue = z.int().min(0).max(100)
const factorValue = z.number().min(1).max(10)
const jitterValue = z.number().min(0).max(1)

const noFailures: readonly ErrorClass[] = ['http-status', 'cancelled', 'start-deadline', 'end-deadline']
const failureClasses: readonly string[] = errorClasses.filter((each) => !noFailures.includes(each))
const failureValue = z
  .string()
  .refine(
    (text) => /^[1-5](\d\d|xx)$/.test(text) || failureClasses.includes(text),
    `must be a status (429), a class of them (5xx), or one of ${failureClasses.join(', ')}`,
  )

const ruleValue = z
  .strictObject({
    on: z.array(failureValue).min(1).max(20).meta({
      description: 'Which failures it is about: statuses (`429`), classes of them (`5xx`), errors (`timeout`).',
    }),
    retry: z.boolean().default(true).meta({ description: 'false: such a failure ends the run.' }),
    limit: limitValue
      .optional()
      .meta({ description: 'No further try after so many attempts, when it fails like this.' }),
    strategy: strategyValue.optional(),
    delay: delayValue.optional(),
    factor: factorValue.optional(),
    maxDelay: delayValue.optional(),
    jitter: jitterValue.optional(),
    delays: z
      .array(delayValue)
      .min(1)
      .max(20)
      .optional()
      .meta({ description: 'Each delay as it is; the last one repeats.' }),
  })
  .refine(({ strategy, delays }) => strategy === undefined || delays === undefined, {
    path: ['strategy'],
    message: 'must not be given beside delays',
  })
  .meta({ id: 'RetryRule' })

/** The wire value of a retry policy: `limit` further tries after the first. */
export const retryPolicyValue = z
  .strictObject({
    limit: limitValue.default(5),
    strategy: strategyValue.optional(),
    delay: delayValue.default('PT0.1S'),
    factor: factorValue.default(2),
    maxDelay: delayValue.default('PT1.6S').meta(maxDelayMeta),
    jitter: jitterValue.default(0.2).meta(jitterMeta),
    delays: delaysValue.optional(),
    maxAge: durationValue('PT1S', 'PT8784H')
      .optional()
      .meta({ description: 'No further try begins later than this after the run was due.' }),
    rules: z
      .array(ruleValue)
      .max(10)
      .optional()
      .meta({ description: 'What holds for failures of one kind instead. The first rule that fits decides.' }),
    expression: retryExpressionValue.optional(),
  })
  .refine(({ strategy, delays }) => strategy === undefined || delays === undefined, {
    path: ['strategy'],
    message: 'must not be given beside delays',
  })
  // A list says by itself how often: everything else that counts tries reads the limit.
  .overwrite((policy) => (policy.delays === undefined ? policy : { ...policy, limit: policy.delays.length }))
export type RetryPolicyValue = z.output<typeof retryPolicyValue>

/** A rule of a policy: what holds for the failures that it names. */
interface RetryRule {
  on: readonly string[]
  retry: boolean
  limit?: number
  backoff: Backoff
}

export interface RetryPolicy extends Backoff {
  limit: number
  maxAgeMs?: number
  rules?: readonly RetryRule[]
  /** CEL: it decides in the place of all of these but the limit and the age. */
  expression?: string
}

type BackoffValue = Pick<RetryPolicyValue, 'strategy' | 'delay' | 'factor' | 'maxDelay' | 'jitter' | 'delays'>

function toBackoff({ strategy, delay, factor, maxDelay, jitter, delays }: BackoffValue): Backoff {
  const baseMs = durationMs(delay) ?? 0
  return {
    baseMs,
    factor: strategy === 'fixed' ? 1 : factor,
    capMs: Math.max(baseMs, durationMs(maxDelay) ?? 0),
    jitter,
    ...(strategy === 'linear' ? { isLinear: true } : {}),
    ...(delays === undefined ? {} : { listMs: delays.map((each) => durationMs(each) ?? 0) }),
  }
}

/** A rule that sets how delays grow is no longer bound by the policy's list; the rest it takes from the policy. */
function toRule(policy: RetryPolicyValue, rule: NonNullable<RetryPolicyValue['rules']>[number]): RetryRule {
  const growsByItself = rule.delay !== undefined || rule.strategy !== undefined
  return {
    on: rule.on,
    retry: rule.retry,
    ...(rule.limit === undefined ? {} : { limit: rule.limit }),
    backoff: toBackoff({
      strategy: rule.strategy ?? policy.strategy,
      delay: rule.delay ?? policy.delay,
      factor: rule.factor ?? policy.factor,
      maxDelay: rule.maxDelay ?? policy.maxDelay,
      jitter: rule.jitter ?? policy.jitter,
      delays: rule.delays ?? (growsByItself ? undefined : policy.delays),
    }),
  }
}

/** The parsed form of a wire policy. */
export function toRetryPolicy(policy: RetryPolicyValue): RetryPolicy {
  const { limit, maxAge, rules, expression } = policy
  return {
    limit,
    ...toBackoff(policy),
    ...(maxAge === undefined ? {} : { maxAgeMs: durationMs(maxAge) ?? 0 }),
    ...(rules === undefined ? {} : { rules: rules.map((rule) => toRule(policy, rule)) }),
    ...(expression === undefined ? {} : { expression }),
  }
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
  'unexpected-response',
])
const passingStatuses: ReadonlySet<number> = new Set([408, 425, 429])

export type Failure = Pick<
  Extract<AttemptOutcome, { status: 'failed' }>,
  'errorClass' | 'httpStatus' | 'retryAfterMs' | 'forbidsRetry'
> & { response?: AttemptResponse | null }

/** Whether trying again can help: not when the target said no, when the destination is barred, or after a cancel. */
export function isRetryable({ errorClass, httpStatus, retryAfterMs }: Failure): boolean {
  if (errorClass !== 'http-status') return passing.has(errorClass)
  const status = httpStatus ?? 0
  if (status >= 300 && status < 400) return retryAfterMs !== null
  return status >= 500 || passingStatuses.has(status)
}

function ruleFor({ rules }: RetryPolicy, { errorClass, httpStatus }: Failure): RetryRule | undefined {
  if (rules === undefined) return undefined
  const status = String(httpStatus ?? '')
  const names = errorClass === 'http-status' ? [status, `${status[0]}xx`] : [errorClass]
  return rules.find(({ on }) => names.some((name) => on.includes(name)))
}

const askedMaxMs = 86_400_000
const askedSpread = 0.1

/**
 * Milliseconds from the end of the `attempt`-th try (1, 2, ...) to the next, or `null` when there is none.
 * A target that forbids a further try is obeyed. The policy's expression decides, within its limit; without one, or where
 * it can't be told what it gives, a target that asked for a time (`Retry-After` and its like) is given it, up to a day, and
 * up to a tenth more so that a crowd does not come back at one instant; otherwise the policy's back-off holds, or that of
 * its rule for such a failure. `random` is in [0, 1).
 */
export function nextDelay(policy: RetryPolicy, attempt: number, random: number, failure: Failure): number | null {
  if (failure.forbidsRetry === true || attempt > policy.limit) return null
  const delayMs = ruledDelay(policy, attempt, random, failure)
  if (policy.expression === undefined || !mayBeTold(failure.errorClass)) return delayMs
  const expressed = expressedDelay(policy.expression, failure, { attempt, delayMs })
  return expressed === undefined ? delayMs : expressed
}

/** No expression brings back what was cancelled, or is too late. */
const mayBeTold = (errorClass: ErrorClass): boolean => errorClass === 'http-status' || !noFailures.includes(errorClass)

function ruledDelay(policy: RetryPolicy, attempt: number, random: number, failure: Failure): number | null {
  const rule = ruleFor(policy, failure)
  const mayRetry = rule === undefined ? isRetryable(failure) : rule.retry
  if (!mayRetry || attempt > (rule?.limit ?? policy.limit)) return null
  // "Now" is not a time to wait: then the policy decides, or a target could have us hammer it.
  if (failure.retryAfterMs === null || failure.retryAfterMs <= 0) {
    return backoffDelay(rule?.backoff ?? policy, attempt, random)
  }
  const askedMs = Math.min(askedMaxMs, Math.ceil(failure.retryAfterMs))
  return askedMs + Math.floor(askedMs * askedSpread * random)
}
