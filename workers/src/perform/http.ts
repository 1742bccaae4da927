import type { Uuid } from '@meridian/core/kernel/ids'
import { type Expectation, isExpectedStatus, unmetExpectation } from '@meridian/core/run/expectation'
import type { AttemptOutcome, AttemptResponse, ErrorClass } from '@meridian/core/run/outcome'
import type { HttpMethod } from '@meridian/core/run/target'
import type { Cancellation } from '../outbound/cancellation.ts'
import type { ExchangeResult, Urgency } from '../outbound/exchange.ts'
import type { Outbound } from '../outbound.ts'
import { type AttemptIdentity, attemptHeaders } from './headers.ts'
import { followRedirect, type Hop, type Refusal, type Step } from './redirect.ts'
import { type ResponseKeeping, storeBeyondInline } from './response.ts'
import { askedDelayMs, forbidsRetry } from './retry.ts'

/** One attempt of a run, its payload opened. */
export interface HttpAttempt extends AttemptIdentity {
  tenantId: Uuid
  method: HttpMethod
  url: string
  headers: Readonly<Record<string, string>>
  body: Buffer | null
  /** For the whole attempt, redirects included. */
  timeoutMs: number
  /** What the response has to be; absent: a status of 2xx. */
  expect?: Expectation | undefined
  cancellation?: Cancellation
  urgency?: Urgency | undefined
}

const redirectsMax = 5
const tooManyRedirects: Refusal = {
  errorClass: 'too-many-redirects',
  detail: `The target redirected more than ${redirectsMax} times.`,
}

/**
 * Performs one attempt of a run over HTTP, following up to five redirects. Always resolves, at the latest a second
 * after the timeout: a 2xx answer, or the one that is expected, is a success; everything else a failure of a known class.
 */
export async function performHttp(
  outbound: Outbound,
  attempt: HttpAttempt,
  keeping: ResponseKeeping,
): Promise<AttemptOutcome> {
  const startedAt = performance.now()
  const leftMs = (): number => Math.max(0, attempt.timeoutMs - (performance.now() - startedAt))
  const { method, url, body } = attempt
  let hop: Hop = { method, url, body, headers: attemptHeaders(attempt, attempt.headers, body !== null) }
  let sentAtMs: number | null = null
  for (let redirects = 0; ; redirects++) {
    const result = await send(outbound, hop, redirects === 0 ? attempt.timeoutMs : leftMs(), attempt, keeping)
    sentAtMs ??= result.sentAtMs
    const step = nextStep(hop, result)
    if (step !== null && 'to' in step && redirects < redirectsMax) {
      hop = step.to
      continue
    }
    const response = toAttemptResponse(result, redirects === 0 ? null : hop.url)
    const barred = result.failure ?? (step === null ? null : 'to' in step ? tooManyRedirects : step.refusal)
    // Held against the whole body, before the store takes all but its beginning.
    const failure = barred ?? (response === null ? null : failureOf(response, attempt.expect))
    if (response !== null && response.body.length > keeping.inlineBytesMax)
      await storeBeyondInline(response, attempt, keeping, leftMs())
    return conclude(failure, result, response, { sentAtMs, durationMs: Math.round(performance.now() - startedAt) })
  }
}

function send(
  outbound: Outbound,
  hop: Hop,
  timeoutMs: number,
  attempt: HttpAttempt,
  keeping: ResponseKeeping,
): Promise<ExchangeResult> {
  const { method, url, body } = hop
  const { own, tenant } = hop.headers
  const headers = tenant.length === 0 ? own : own.concat(tenant)
  return outbound.request(
    { method, url, headers, body, timeoutMs, bodyBytesMax: keeping.keptBytesMax, urgency: attempt.urgency },
    attempt.cancellation,
  )
}

function nextStep(hop: Hop, { failure, response }: ExchangeResult): Step {
  return failure !== null || response === null ? null : followRedirect(hop, response.status, response.headers.location)
}

interface Failure {
  errorClass: ErrorClass
  detail: string
}

function failureOf(response: AttemptResponse, expect: Expectation | undefined): Failure | null {
  const { status } = response
  if (!isExpectedStatus(status, expect)) {
    const isSuccess = status >= 200 && status < 300
    return isSuccess
      ? { errorClass: 'unexpected-response', detail: `The target answered ${status}, which is not expected.` }
      : { errorClass: 'http-status', detail: `The target answered ${status}.` }
  }
  const detail = expect === undefined ? null : unmetExpectation(expect, response)
  return detail === null ? null : { errorClass: 'unexpected-response', detail }
}

function toAttemptResponse({ response }: ExchangeResult, redirectedTo: string | null): AttemptResponse | null {
  if (response === null) return null
  const { status, headers, body, truncated } = response
  return { status, headers, body, truncated, storedAs: null, redirectedTo }
}

function conclude(
  failure: Failure | null,
  { sendMs, firstByteMs, connection }: ExchangeResult,
  response: AttemptResponse | null,
  { sentAtMs, durationMs }: { sentAtMs: number | null; durationMs: number },
): AttemptOutcome {
  // A kept connection cost nothing; without a connection there is nothing to tell.
  const none = sendMs === null ? null : 0
  const phases = { sendMs, dnsMs: connection?.dnsMs ?? none, connectMs: connection?.connectMs ?? none, firstByteMs }
  const httpStatus = response?.status ?? 0
  const facts = { durationMs, sentAtMs, phases, httpStatus: httpStatus || null, response, retryAfterMs: null }
  if (failure === null) return { ...facts, status: 'succeeded' }
  const { errorClass, detail } = failure
  if (errorClass !== 'http-status' && errorClass !== 'unexpected-response')
    return { ...facts, status: 'failed', errorClass, detail }
  return {
    ...facts,
    status: 'failed',
    errorClass,
    detail,
    retryAfterMs: response && askedDelayMs(httpStatus, response.headers, Date.now()),
    ...(response !== null && forbidsRetry(response.headers) ? { forbidsRetry: true } : {}),
  }
}
