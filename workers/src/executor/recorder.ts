import type { Pool } from '@meridian/core/db/client'
import type { Uuid } from '@meridian/core/kernel/ids'
import type { Log } from '@meridian/core/kernel/log'
import type { Lease } from '@meridian/core/run/claim'
import { type ExecutorLogLine, writeExecutorLogs } from '@meridian/core/run/logs'
import { type AttemptOutcome, endingOf } from '@meridian/core/run/outcome'
import {
  type EndRecord,
  type RecordMeans,
  type RetryRecord,
  recordEnds,
  recordRetries,
} from '@meridian/core/run/record'
import { encodeResponse } from '@meridian/core/run/response-codec'
import type { KeyRing } from '@meridian/core/secret/key-ring'
import { Batcher } from './batcher.ts'
import type { Performed } from './perform-run.ts'

export interface RecorderOptions {
  engine: Pool
  keyRing: KeyRing
  poolId: number
  executorId: Uuid
  log: Log
  /** The runs are off this executor's hands: written, or found to be somebody else's. */
  onRecorded(leases: Lease[]): void
  /** A next try is due in so many milliseconds, at the earliest. */
  onRetry(delayMs: number): void
}

const batch = { size: 400, sizeMax: 800, waitMs: 20, fillMs: 100, gather: { from: 8, ms: 60 }, inFlightMax: 2 }

/** Writes how attempts went, in batches. Reports that came too late change nothing, and are counted in the log. */
export class Recorder {
  readonly #options: RecorderOptions
  readonly #ends: Batcher<EndRecord>
  readonly #retries: Batcher<RetryRecord>
  readonly #lines: Batcher<ExecutorLogLine>

  constructor(options: RecorderOptions) {
    this.#options = options
    const { engine, poolId, keyRing, log } = options
    const means: RecordMeans = {
      engine,
      keyRing,
      poolId,
      onLostResponse: (error, tenantId) =>
        log.warn({ err: error, tenantId }, 'could not seal responses; they are not kept'),
    }
    const onError = (error: unknown, records: unknown[]): void =>
      log.warn({ err: error, count: records.length }, 'could not record; trying again')
    this.#ends = new Batcher<EndRecord>({
      ...batch,
      onError,
      write: async (records) => this.#settle(records, await recordEnds(means, records)),
    })
    this.#retries = new Batcher<RetryRecord>({
      ...batch,
      onError,
      write: async (records) => {
        this.#settle(records, await recordRetries(means, records))
        options.onRetry(Math.min(...records.map((record) => record.delayMs)))
      },
    })
    this.#lines = new Batcher<ExecutorLogLine>({
      ...batch,
      waitMs: 100,
      inFlightMax: 1,
      onError,
      write: (lines) => writeExecutorLogs(engine, keyRing, lines),
    })
  }

  /** Whether runs wait for the slots of what is recorded. */
  get isAwaited(): boolean {
    return this.#ends.isAwaited
  }

  set isAwaited(isAwaited: boolean) {
    this.#ends.isAwaited = isAwaited
    this.#retries.isAwaited = isAwaited
  }

  get backlog(): number {
    return this.#ends.backlog + this.#retries.backlog
  }

  add(performed: Performed): void {
    const { run, outcome, startedAtMs, retryInMs } = performed
    if (outcome.status === 'failed') this.#explain(performed)
    const record = {
      lease: run,
      executorId: this.#options.executorId,
      startedAtMs,
      durationMs: outcome.durationMs,
      httpStatus: outcome.httpStatus,
      response: encodedResponse(outcome),
      responseObject: outcome.response?.storedAs ?? null,
    }
    if (outcome.status === 'succeeded') this.#ends.add({ ...record, status: 'succeeded', error: null })
    else if (retryInMs === null)
      this.#ends.add({ ...record, status: endingOf(outcome.errorClass), error: outcome.errorClass })
    else this.#retries.add({ ...record, projectId: run.projectId, error: outcome.errorClass, delayMs: retryInMs })
  }

  /** Nothing more is about to come: what there is need not wait for it. */
  flush(): void {
    this.#ends.flush()
    this.#retries.flush()
  }

  /** Resolves when everything is on disk. */
  async drain(): Promise<void> {
    await Promise.all([this.#ends.drain(), this.#retries.drain()])
    await this.#lines.drain()
  }

  #settle(records: (EndRecord | RetryRecord)[], written: Set<Uuid>): void {
    const stale = records.length - written.size
    if (stale > 0) this.#options.log.warn({ stale }, 'reports came too late and were refused')
    this.#options.onRecorded(records.map((record) => record.lease))
  }

  #explain({ run, outcome, beganAtMs, retryInMs }: Performed): void {
    if (outcome.status !== 'failed') return
    const ending = retryInMs === null ? 'No try is left.' : `Next try in ${(retryInMs / 1_000).toFixed(1)} s.`
    const { tenantId, projectId, jobId, id: runId, attempt } = run
    this.#options.log.info(
      {
        tenantId,
        projectId,
        jobId,
        runId,
        attempt,
        outcome: outcome.errorClass,
        httpStatus: outcome.httpStatus,
        durationMs: outcome.durationMs,
      },
      'attempt failed',
    )
    this.#lines.add({
      tenantId,
      runId,
      attempt,
      atMs: beganAtMs + outcome.durationMs,
      level: retryInMs === null ? 'error' : 'warn',
      message: `Attempt ${attempt} failed after ${outcome.durationMs} ms: ${outcome.detail} ${ending}`,
    })
  }
}

function encodedResponse({ status: ending, response }: AttemptOutcome): Buffer | null {
  // A success without a body has nothing to keep: its status is a column.
  if (response === null || (ending === 'succeeded' && response.body.length === 0)) return null
  const { status, headers, truncated, redirectedTo, body } = response
  return encodeResponse({ httpStatus: status, headers, truncated, redirectedTo, body })
}
