import { setTimeout as sleep } from 'node:timers/promises'
import { isAway, type Pool } from '@meridian/core/db/client'
import type { Claimed } from '@meridian/core/run/claim'
import { firstDueMs } from '@meridian/core/run/first-due'
import type { AttemptOutcome, ErrorClass } from '@meridian/core/run/outcome'
import { nextDelay } from '@meridian/core/run/retry-policy'
import type { HttpMethod } from '@meridian/core/run/target'
import type { Cancellation } from '../outbound/cancellation.ts'
import type { Urgency } from '../outbound/exchange.ts'
import type { Outbound } from '../outbound.ts'
import { performHttp } from '../perform/http.ts'
import type { ResponseKeeping } from '../perform/response.ts'
import type { Breakers } from './breakers.ts'
import type { DatabaseClock } from './database-clock.ts'
import type { OpenedRequest, Requests } from './requests.ts'

/** One attempt that has been made, and what follows from it. */
export interface Performed {
  run: Claimed
  outcome: AttemptOutcome
  /** First byte on the socket, by the database's clock; when it was taken in hand, when no byte was sent; null: it was not to begin any more. */
  startedAtMs: number | null
  /** When it was taken in hand, by the same clock. */
  beganAtMs: number
  /** Milliseconds to the next try, or null: this attempt ends the run. */
  retryInMs: number | null
}

interface Means {
  engine: Pool
  breakers: Breakers
  outbound: Outbound
  keeping: ResponseKeeping
  /** How it came, unless by road. */
  urgency?: Urgency
}

/**
 * Opens the request of a run and performs one attempt. Always resolves: failing is an outcome. Null: it was not to be
 * performed, for its host's breaker holds it or it is somebody else's by now.
 */
export async function perform(
  run: Claimed,
  cancellation: Cancellation,
  means: Means,
  requests: Requests,
  clock: DatabaseClock,
): Promise<Performed | null> {
  const release = requests.reserve(run)
  if (release === null) return attempt(run, cancellation, means, requests, clock)
  const giveBack = await release
  try {
    return await attempt(run, cancellation, means, requests, clock)
  } finally {
    giveBack()
  }
}

async function attempt(
  run: Claimed,
  cancellation: Cancellation,
  means: Means,
  requests: Requests,
  clock: DatabaseClock,
): Promise<Performed | null> {
  const beganAtMs = clock.nowMs()
  let request: OpenedRequest
  try {
    request = requests.openNow(run) ?? (await openPatiently(run, cancellation, requests))
  } catch (error) {
    return {
      run,
      outcome: unsent(
        'unreadable',
        `The request could not be read: ${error instanceof Error ? error.message : String(error)}`,
      ),
      startedAtMs: beganAtMs,
      beganAtMs,
      retryInMs: run.attempt < run.attemptsMax ? 1_000 : null,
    }
  }
  const { startWithinMs, endWithinMs } = request
  if (startWithinMs !== undefined && run.attempt === 1 && beganAtMs > run.dueAtMs + startWithinMs)
    return expired(run, 'start-deadline', beganAtMs)
  const endByMs = endWithinMs === undefined ? null : (await firstDue(run, means.engine)) + endWithinMs
  if (endByMs !== null && beganAtMs >= endByMs) return expired(run, 'end-deadline', beganAtMs)
  const mayCall = means.breakers.ask(run, request.url)
  if (mayCall !== null && !(await mayCall)) return null
  const timeoutMs = endByMs === null ? request.timeoutMs : Math.min(request.timeoutMs, endByMs - beganAtMs)
  let outcome = await performHttp(
    means.outbound,
    {
      tenantId: run.tenantId,
      runId: run.id,
      attempt: run.attempt,
      fence: run.fence,
      nominalAtMs: run.nominalAtMs,
      dueAtMs: run.dueAtMs,
      method: request.method as HttpMethod,
      url: request.url,
      headers: request.headers,
      body: request.body,
      timeoutMs,
      expect: request.expect,
      cancellation,
      urgency: means.urgency,
    },
    means.keeping,
  )
  if (timeoutMs < request.timeoutMs && outcome.status === 'failed' && outcome.errorClass === 'timeout')
    outcome = { ...outcome, errorClass: 'end-deadline', detail: sentences['end-deadline'] }
  const heard = means.breakers.observe(run, request.url, outcome)
  if (heard !== null) await heard
  const startedAtMs = outcome.sentAtMs === null ? beganAtMs : clock.fromWallMs(outcome.sentAtMs)
  let retryInMs =
    outcome.status === 'failed' && run.attempt < run.attemptsMax
      ? nextDelay(request.retry, run.attempt, Math.random(), outcome)
      : null
  const { maxAgeMs } = request.retry
  if (retryInMs !== null && (maxAgeMs !== undefined || endByMs !== null)) {
    const oldAtMs = maxAgeMs === undefined ? Infinity : (await firstDue(run, means.engine)) + maxAgeMs
    if (clock.nowMs() + retryInMs > Math.min(oldAtMs, endByMs ?? Infinity)) retryInMs = null
  }
  return { run, outcome, startedAtMs, beganAtMs, retryInMs }
}

const sentences = {
  'start-deadline': 'It had to begin earlier.',
  'end-deadline': 'It had to end by now.',
}

const expired = (run: Claimed, deadline: keyof typeof sentences, beganAtMs: number): Performed => ({
  run,
  outcome: unsent(deadline, sentences[deadline]),
  startedAtMs: null,
  beganAtMs,
  retryInMs: null,
})

/** A database that is away is no reason to give the run up: then it counts from this attempt. */
const firstDue = (run: Claimed, engine: Pool): Promise<number> => firstDueMs(engine, run).catch(() => run.dueAtMs)

const reopenMs = 200

/** A database that is away is nothing the run can help: it waits, and no attempt is spent. */
async function openPatiently(run: Claimed, cancellation: Cancellation, requests: Requests): Promise<OpenedRequest> {
  for (;;) {
    try {
      return await requests.open(run)
    } catch (error) {
      if (cancellation.cancelled || !isAway(error)) throw error
      await sleep(reopenMs)
    }
  }
}

const unsent = (errorClass: ErrorClass, detail: string): AttemptOutcome => ({
  status: 'failed',
  errorClass,
  detail,
  durationMs: 0,
  sentAtMs: null,
  phases: { sendMs: null, dnsMs: null, connectMs: null, firstByteMs: null },
  httpStatus: null,
  response: null,
  retryAfterMs: null,
})
