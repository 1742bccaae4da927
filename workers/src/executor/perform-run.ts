import { setTimeout as sleep } from 'node:timers/promises'
import { isAway, type Pool } from '@meridian/core/db/client'
import type { Claimed } from '@meridian/core/run/claim'
import { firstDueMs } from '@meridian/core/run/first-due'
import type { AttemptOutcome } from '@meridian/core/run/outcome'
import { nextDelay } from '@meridian/core/run/retry-policy'
import type { HttpMethod } from '@meridian/core/run/target'
import type { Cancellation } from '../outbound/cancellation.ts'
import type { Outbound } from '../outbound.ts'
import { performHttp } from '../perform/http.ts'
import type { ResponseKeeping } from '../perform/response.ts'
import type { DatabaseClock } from './database-clock.ts'
import type { OpenedRequest, Requests } from './requests.ts'

/** One attempt that has been made, and what follows from it. */
export interface Performed {
  run: Claimed
  outcome: AttemptOutcome
  /** First byte on the socket, by the database's clock; the start of the attempt when no byte was sent. */
  startedAtMs: number
  /** Milliseconds to the next try, or null: this attempt ends the run. */
  retryInMs: number | null
}

interface Means {
  engine: Pool
  outbound: Outbound
  keeping: ResponseKeeping
}

/** Opens the request of a run and performs one attempt. Always resolves: failing is an outcome. */
export async function perform(
  run: Claimed,
  cancellation: Cancellation,
  means: Means,
  requests: Requests,
  clock: DatabaseClock,
): Promise<Performed> {
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
): Promise<Performed> {
  const beganAtMs = clock.nowMs()
  let request: OpenedRequest
  try {
    request = requests.openNow(run) ?? (await openPatiently(run, cancellation, requests))
  } catch (error) {
    return {
      run,
      outcome: unreadable(error),
      startedAtMs: beganAtMs,
      retryInMs: run.attempt < run.attemptsMax ? 1_000 : null,
    }
  }
  const outcome = await performHttp(
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
      timeoutMs: request.timeoutMs,
      cancellation,
    },
    means.keeping,
  )
  const startedAtMs = outcome.sentAtMs === null ? beganAtMs : clock.fromWallMs(outcome.sentAtMs)
  let retryInMs =
    outcome.status === 'failed' && run.attempt < run.attemptsMax
      ? nextDelay(request.retry, run.attempt, Math.random(), outcome)
      : null
  const { maxAgeMs } = request.retry
  if (retryInMs !== null && maxAgeMs !== undefined) {
    const oldAtMs = (await firstDue(run, means.engine)) + maxAgeMs
    if (clock.nowMs() + retryInMs > oldAtMs) retryInMs = null
  }
  return { run, outcome, startedAtMs, retryInMs }
}

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

const unreadable = (error: unknown): AttemptOutcome => ({
  status: 'failed',
  errorClass: 'unreadable',
  detail: `The request could not be read: ${error instanceof Error ? error.message : String(error)}`,
  durationMs: 0,
  sentAtMs: null,
  phases: { sendMs: null, dnsMs: null, connectMs: null, firstByteMs: null },
  httpStatus: null,
  response: null,
  retryAfterMs: null,
})
