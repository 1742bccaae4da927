import { actorText } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { arrayLiteral, type Pool, runNamed, textArrayLiteral, toAppError } from '../db/client.ts'
import type { Ctx } from '../db/context.ts'
import { resolveQueue } from '../flow/queues.ts'
import { AppError } from '../kernel/errors.ts'
import { type Uuid, uuidv7 } from '../kernel/ids.ts'
import { type OverlapRule, overlapCodes } from './overlap.ts'
import { bodyBytes, encodeRequest } from './request-codec.ts'
import { type RetryPolicy, retryPolicyValue, toRetryPolicy } from './retry-policy.ts'
import { defaultPriority, type Run, type RunSource, runSources } from './run.ts'
import { type Target, targetTimeoutMs } from './target.ts'

/** An ad hoc run as a caller asks for it. */
export interface NewRun {
  target: Target
  /** Name of a queue of the project; made when it is new. */
  queue?: string | undefined
  /** 1 (first) to 5. */
  priority?: number | undefined
  /** Now, when absent or past. */
  dueAt?: Date | undefined
  retry?: RetryPolicy | undefined
  idempotencyKey?: string | undefined
  /** SHA-256 of the request, needed with a key. */
  fingerprint?: Buffer | undefined
}

/** A run ready to be written: checked, its queue known, its payload sealed. */
export interface IntakeRow {
  tenantId: Uuid
  projectId: Uuid
  id: Uuid
  queueId: Uuid
  queueName: string
  /** Where its queue is served: whom to wake. */
  pool: number
  priority: number
  attemptsMax: number
  dueAtMs: number | null
  /** Null: the target of the job's version as it stands. */
  payload: Buffer | null
  source: RunSource
  jobId: Uuid | null
  jobVersion: number | null
  replayOf: Uuid | null
  idempotencyKey: string | null
  fingerprint: Buffer | null
  actor: string
  requestId: string | null
}

/** How one row was answered. A replayed run is shown as it was when it was created. */
export type IntakeResult =
  | { outcome: 'accepted' | 'replayed'; run: Run; dueAtMs: number }
  | { outcome: 'refused'; error: AppError }

/** Five further tries, 100 ms doubling to 1.6 s. */
export const defaultRetryPolicy: RetryPolicy = toRetryPolicy(retryPolicyValue.parse({}))

/** What every way of starting a run has in common. */
export async function toIntakeRow(
  ctx: Ctx,
  input: Pick<NewRun, 'queue' | 'priority' | 'dueAt' | 'idempotencyKey' | 'fingerprint'> & {
    attemptsMax: number
    source: RunSource
  },
): Promise<IntakeRow> {
  const queueName = input.queue ?? 'default'
  const queue = await resolveQueue(ctx, queueName)
  return {
    tenantId: ctx.tenantId,
    projectId: ctx.projectId,
    id: uuidv7(ctx.clock.nowMs()),
    queueId: queue.id,
    queueName,
    pool: queue.pool,
    priority: input.priority ?? defaultPriority,
    attemptsMax: input.attemptsMax,
    dueAtMs: input.dueAt?.getTime() ?? null,
    payload: null,
    source: input.source,
    jobId: null,
    jobVersion: null,
    replayOf: null,
    idempotencyKey: input.idempotencyKey ?? null,
    fingerprint: input.fingerprint ?? null,
    actor: actorText(ctx.actor),
    requestId: ctx.requestId,
  }
}

/**
 * Prepares an ad hoc run for `acceptRuns`: the caller may start runs, the queue exists, the payload is sealed.
 * Nothing is written yet, so rows of many callers can go into one flush.
 */
export async function prepareRun(ctx: Ctx, input: NewRun): Promise<IntakeRow> {
  requireScope(ctx, 'runs:write')
  const retry = input.retry ?? defaultRetryPolicy
  const row = await toIntakeRow(ctx, { ...input, attemptsMax: retry.limit + 1, source: 'api' })
  const { target } = input
  const request = {
    method: target.method,
    url: target.url,
    headers: target.headers,
    timeoutMs: targetTimeoutMs(target),
    retry,
  }
  row.payload = await ctx.keyRing.seal(row.tenantId, row.id, encodeRequest(request, bodyBytes(target.body)))
  return row
}

type AcceptedRow = [number, number, Uuid, number, number, boolean]

const statement = 'select * from accept_runs($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18)'
const mindingStatement =
  'select * from accept_minding($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19::smallint)'

/**
 * Writes the runs of one flush in one transaction; returning means they are on disk. Each row is answered by itself,
 * in order. With `batch` all rows are of one caller and tell one event and one audit line, which carries `digest`.
 * Throws `dependency-unavailable` when the database is away; then nothing was written.
 */
export async function acceptRuns(pool: Pool, rows: IntakeRow[], batch: boolean, digest = ''): Promise<IntakeResult[]> {
  try {
    const values = [...columnsOf(rows), batch, digest]
    return toResults(rows, await runNamed<AcceptedRow>(pool, 'accept_runs', statement, values))
  } catch (error) {
    throw toAppError(error)
  }
}

/**
 * Writes one run of a job by hand that minds the job's other runs: a moment later its overlap rule decides whether it
 * runs, waits, or ends as skipped. Throws as `acceptRuns`.
 */
export async function acceptMinding(pool: Pool, row: IntakeRow, rule: OverlapRule): Promise<IntakeResult> {
  try {
    const values = [...columnsOf([row]), false, '', overlapCodes[rule]]
    const answers = await runNamed<AcceptedRow>(pool, 'accept_minding', mindingStatement, values)
    const [result] = toResults([row], answers)
    if (result === undefined) throw new Error('a run was not answered')
    return result
  } catch (error) {
    throw toAppError(error)
  }
}

function columnsOf(rows: IntakeRow[]): unknown[] {
  const column = (pick: (row: IntakeRow) => string | number | null): string => arrayLiteral(rows.map(pick))
  const base64 = (bytes: Buffer | null): string | null => bytes?.toString('base64') ?? null
  return [
    column((row) => row.tenantId),
    column((row) => row.projectId),
    column((row) => row.id),
    column((row) => row.queueId),
    column((row) => row.priority),
    column((row) => row.attemptsMax),
    column((row) => row.dueAtMs),
    column((row) => base64(row.payload)),
    column((row) => runSources.indexOf(row.source)),
    column((row) => row.jobId),
    column((row) => row.jobVersion),
    column((row) => row.replayOf),
    textArrayLiteral(rows.map((row) => row.idempotencyKey)),
    column((row) => base64(row.fingerprint)),
    column((row) => row.actor),
    textArrayLiteral(rows.map((row) => row.requestId)),
  ]
}

function toResults(rows: IntakeRow[], answers: AcceptedRow[]): IntakeResult[] {
  const results = new Array<IntakeResult>(rows.length)
  for (const answer of answers) {
    const row = rows[answer[0] - 1]
    if (row !== undefined) results[answer[0] - 1] = toResult(row, answer)
  }
  return results
}

function toResult(row: IntakeRow, [, outcome, id, dueAtMs, createdAtMs, isReady]: AcceptedRow): IntakeResult {
  if (outcome === 2) {
    return {
      outcome: 'refused',
      error: new AppError('idempotency-mismatch', 'This idempotency key was used for another request.'),
    }
  }
  if (outcome === 3) return { outcome: 'refused', error: new AppError('not-found', 'The queue is gone. Try again.') }
  const run: Run = {
    id,
    projectId: row.projectId,
    jobId: row.jobId,
    jobVersion: row.jobVersion,
    queueId: row.queueId,
    queueName: row.queueName,
    status: isReady ? 'ready' : 'scheduled',
    source: row.source,
    priority: row.priority,
    attempt: 0,
    attemptsMax: row.attemptsMax,
    fence: 0,
    createdAt: new Date(createdAtMs),
    dueAt: new Date(dueAtMs),
    nominalAt: null,
    startedAt: null,
    finishedAt: null,
    durationMs: null,
    latenessMs: null,
    httpStatus: null,
    error: null,
    replayOf: row.replayOf,
  }
  return { outcome: outcome === 0 ? 'accepted' : 'replayed', run, dueAtMs }
}
