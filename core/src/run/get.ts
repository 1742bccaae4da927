import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withRead } from '../db/context.ts'
import { AppError, notFound } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { BodyStore } from '../object/store.ts'
import { itemAt, openBlock } from '../secret/block.ts'
import type { Metadata } from './details.ts'
import { readBatch } from './read-batch.ts'
import { decodeRequest } from './request-codec.ts'
import { decodeResponse, type StoredResponse } from './response-codec.ts'
import { isFinal, type Run } from './run.ts'
import { clockSlack, selectRun, selectRunsById } from './select.ts'

/** The run as it stands now. Throws `not-found`, for another tenant's run too. */
export const getRun = (ctx: Ctx, id: Uuid): Promise<Run> => {
  requireScope(ctx, 'runs:read')
  return withRead(ctx, (tx) => readRun(tx, id))
}

/** Several runs of one project as they stand now; one that is not there is not in the answer. */
export const getRuns = (ctx: Ctx, ids: readonly Uuid[]): Promise<Map<Uuid, Run>> => {
  requireScope(ctx, 'runs:read')
  return withRead(ctx, (tx) => selectRunsById(tx.client, tx.tenantId, tx.projectId, ids))
}

/** The same inside a verb that has checked its own scope. */
export async function readRun(tx: Tx, id: Uuid): Promise<Run> {
  const run = await selectRun(tx.client, tx.tenantId, tx.projectId, id)
  if (run === null) throw notFound('run')
  return run
}

/** One try of a run. */
export interface Attempt {
  attempt: number
  fence: number
  status: 'running' | 'succeeded' | 'failed' | 'cancelled'
  dueAt: Date
  startedAt: Date | null
  finishedAt: Date | null
  durationMs: number | null
  httpStatus: number | null
  error: string | null
  /** When the next try is due, when there is one. */
  retryAt: Date | null
}

type AttemptRow = [number, number, Date, Date | null, Date, number | null, number | null, string, Date]

/** All tries of a run so far, first to last, with the one that is going on. */
export const listAttempts = (ctx: Ctx, id: Uuid): Promise<Attempt[]> => {
  requireScope(ctx, 'runs:read')
  return withRead(ctx, async (tx) => {
    const run = await readRun(tx, id)
    const rows = await runNamed<AttemptRow>(
      tx.client,
      'list_attempts',
      `select attempt, fence, due_at, started_at, ended_at, duration_ms, http_status, error, retry_at from attempts
       where tenant_id = $1 and run_id = $2 and ended_at >= $3::timestamptz - ${clockSlack} order by attempt, ended_at`,
      [tx.tenantId, id, run.createdAt],
    )
    const attempts = rows.map(
      ([attempt, fence, dueAt, startedAt, finishedAt, durationMs, httpStatus, error, retryAt]): Attempt => ({
        attempt,
        fence,
        status: 'failed',
        dueAt,
        startedAt,
        finishedAt,
        durationMs,
        httpStatus,
        error,
        retryAt,
      }),
    )
    const last = lastAttempt(run)
    return last === null ? attempts : [...attempts, last]
  })
}

/** The last attempt is told by the run itself: it is going on, or its end was the run's end. */
function lastAttempt(run: Run): Attempt | null {
  const { status } = run
  if (
    run.startedAt === null ||
    !(
      status === 'running' ||
      status === 'succeeded' ||
      status === 'failed' ||
      status === 'cancelled' ||
      status === 'expired'
    )
  )
    return null
  const { attempt, fence, dueAt, startedAt, finishedAt, durationMs, httpStatus, error } = run
  const facts = { attempt, fence, dueAt, startedAt, finishedAt, durationMs, httpStatus, error, retryAt: null }
  return { ...facts, status: status === 'expired' ? 'failed' : status }
}

/** A request or response as a person may read it. */
export interface RequestView {
  method: string
  url: string
  headers: Record<string, string>
  timeoutMs: number
  body: string | null
  bodyEncoding: 'utf8' | 'base64'
}

/** What is, or was, sent to the target. Needs `payloads:read`. */
export const getRunRequest = async (ctx: Ctx, id: Uuid): Promise<RequestView> => {
  requireScope(ctx, 'payloads:read')
  await ctx.keyRing.load(ctx.tenantId)
  return withRead(ctx, async (tx) => {
    const { method, url, headers, timeoutMs, body: own } = decodeRequest(await readRequest(tx, id))
    const { source } = await readRun(tx, id)
    const body = source === 'batch' ? await batchBody(tx, id) : own
    return { method, url, headers, timeoutMs, ...bodyText(body) }
  })
}

/** The tags and the metadata that a run was given, for as long as it is known what it was. */
export async function readLabels(tx: Tx, id: Uuid): Promise<Pick<Run, 'tags' | 'metadata'>> {
  const rows = await runNamed<[string[], Metadata | null]>(
    tx.client,
    'read_labels',
    'select tags, metadata from run_details where tenant_id = $1 and run_id = $2',
    [tx.tenantId, id],
  )
  return { tags: rows[0]?.[0] ?? [], metadata: rows[0]?.[1] ?? {} }
}

const batchBody = async (tx: Tx, id: Uuid): Promise<Buffer> =>
  Buffer.from(JSON.stringify(await readBatch(tx.client, tx.keyRing, { tenantId: tx.tenantId, id, waiting: false })))

type InputRow = [Uuid | null, Uuid | null, number, string, Buffer | null]

/** The encoded request of a run: its own, or that of the job's version. Call `keyRing.load` before the transaction. */
export async function readRequest(tx: Tx, id: Uuid): Promise<Buffer> {
  const rows = await runNamed<InputRow>(
    tx.client,
    'read_request',
    `select i.job_id, i.payload_block, i.payload_offset, i.keep_week, v.target from inputs i
     left join job_versions v on v.tenant_id = i.tenant_id and v.job_id = i.job_id and v.version = i.job_version
     where i.tenant_id = $1 and i.project_id = $2 and i.id = $3`,
    [tx.tenantId, tx.projectId, id],
  )
  const [jobId, blockId, offset, keepWeek, target] = rows[0] ?? [null, null, 0, '', null]
  if (blockId !== null) return itemAt(await readInputBlock(tx, blockId, keepWeek), offset)
  if (target !== null && jobId !== null) return tx.keyRing.open(tx.tenantId, jobId, target)
  throw notFound('run')
}

async function readInputBlock(tx: Tx, id: Uuid, keepWeek: string): Promise<Buffer> {
  const rows = await runNamed<[Buffer]>(
    tx.client,
    'input_block',
    'select sealed from input_blocks where tenant_id = $1 and id = $2 and keep_week >= $3',
    [tx.tenantId, id, keepWeek],
  )
  if (rows[0] === undefined) throw notFound('run')
  return openBlock(tx.keyRing, { tenantId: tx.tenantId, id, sealed: rows[0][0] })
}

export interface ResponseView {
  httpStatus: number
  headers: Record<string, string | string[]>
  body: string | null
  bodyEncoding: 'utf8' | 'base64'
  truncated: boolean
  redirectedTo: string | null
  /** Key in the object store, when the whole body lies there. */
  objectKey: string | null
}

/** A kept response, opened. */
interface KeptResponse {
  httpStatus: number
  response: StoredResponse | null
  objectKey: string | null
}

/** What the target answered; null when it answered nothing. Call `keyRing.load` before the transaction. */
export async function readResponse(tx: Tx, id: Uuid, attempt: number | undefined): Promise<KeptResponse | null> {
  const run = await readRun(tx, id)
  const ended = isFinal(run.status) && (attempt === undefined || attempt === run.attempt)
  const rows = await runNamed<[Uuid | null, number, string | null, number | null, Date]>(
    tx.client,
    ended ? 'run_response' : 'attempt_response',
    ended
      ? `select response_block, response_offset, response_object, http_status, ended_at from runs
         where tenant_id = $1 and project_id = $2 and id = $3 and ended_at >= $4::timestamptz - ${clockSlack} and ($5::int is null or true)`
      : `select response_block, response_offset, response_object, http_status, ended_at from attempts
         where tenant_id = $1 and ($2::uuid is not null) and run_id = $3 and ended_at >= $4::timestamptz - ${clockSlack} and ($5::int is null or attempt = $5)
         order by attempt desc limit 1`,
    [tx.tenantId, tx.projectId, id, run.createdAt, attempt ?? null],
  )
  if (rows[0] === undefined && attempt !== undefined) throw notFound('attempt')
  if (rows[0] === undefined) return null
  const [blockId, offset, objectKey, httpStatus, endedAt] = rows[0]
  if (httpStatus === null) return null
  const opened = blockId === null ? null : await readResponseBlock(tx, blockId, endedAt)
  return { httpStatus, response: opened && decodeResponse(itemAt(opened, offset)), objectKey }
}

/** A block of responses, opened. It was written by the statement that ended the attempt. */
async function readResponseBlock(tx: Tx, id: Uuid, endedAt: Date): Promise<Buffer> {
  const rows = await runNamed<[Buffer]>(
    tx.client,
    'response_block',
    `select sealed from response_blocks
     where tenant_id = $1 and id = $2 and ended_at between $3::timestamptz - ${clockSlack} and $3::timestamptz + ${clockSlack}`,
    [tx.tenantId, id, endedAt],
  )
  if (rows[0] === undefined) throw notFound('response')
  return openBlock(tx.keyRing, { tenantId: tx.tenantId, id, sealed: rows[0][0] })
}

/** What the target answered: at the run's end, or at an earlier attempt. Null when it answered nothing. Needs `payloads:read`. */
export const getRunResponse = async (ctx: Ctx, id: Uuid, attempt?: number): Promise<ResponseView | null> => {
  requireScope(ctx, 'payloads:read')
  await ctx.keyRing.load(ctx.tenantId)
  return withRead(ctx, async (tx) => {
    const kept = await readResponse(tx, id, attempt)
    if (kept === null) return null
    const { httpStatus, response, objectKey } = kept
    const { headers = {}, truncated = false, redirectedTo = null } = response ?? {}
    return { httpStatus, headers, truncated, redirectedTo, ...bodyText(response?.body ?? null), objectKey }
  })
}

/**
 * The bytes of a response's body, the whole of what is kept: from the object store when it was too long for the row.
 * Needs `payloads:read`. Throws `not-found` when there is none, `dependency-unavailable` when the store is away.
 */
export async function getRunResponseBody(
  ctx: Ctx,
  store: BodyStore | null,
  id: Uuid,
  attempt?: number,
): Promise<{ body: Buffer; contentType: string }> {
  requireScope(ctx, 'payloads:read')
  await ctx.keyRing.load(ctx.tenantId)
  const kept = await withRead(ctx, (tx) => readResponse(tx, id, attempt))
  if (kept === null || kept.response === null) throw notFound('response')
  const contentType = [kept.response.headers['content-type']].flat()[0] ?? 'application/octet-stream'
  if (kept.objectKey === null) return { body: kept.response.body, contentType }
  const body = store === null ? null : await store.get(ctx.tenantId, id, kept.objectKey)
  if (body === null) throw notFound('response')
  return { body, contentType }
}

/** Text when the bytes are UTF-8, else base64. */
function bodyText(body: Buffer | null): { body: string | null; bodyEncoding: 'utf8' | 'base64' } {
  if (body === null || body.length === 0) return { body: null, bodyEncoding: 'utf8' }
  try {
    return { body: new TextDecoder('utf-8', { fatal: true }).decode(body), bodyEncoding: 'utf8' }
  } catch {
    return { body: body.toString('base64'), bodyEncoding: 'base64' }
  }
}

/** The conflict that a verb answers when the run has ended. */
export const alreadyEnded = (run: Run): AppError =>
  new AppError('invalid-transition', `The run has already ended: it is ${run.status}.`, {
    current: { status: run.status, attempt: run.attempt },
  })
