import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withRead } from '../db/context.ts'
import { seeBytes } from '../flow/cel.ts'
import { archived } from '../job/internal.ts'
import { AppError, notFound } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { KeyRules } from './create-key.ts'
import { deadlinesOf } from './deadline.ts'
import type { Metadata } from './details.ts'
import { readRequest, readRun } from './get.ts'
import { takeLane } from './lane.ts'
import { type IntakeRow, toIntakeRow } from './prepare.ts'
import { bodyBytes, decodeRequest, encodeRequest } from './request-codec.ts'

/** What a caller may change when a known request is started again. */
export interface StartOptions extends KeyRules {
  tags?: readonly string[] | undefined
  metadata?: Metadata | undefined
  /** Replaces the body, when given. */
  body?: unknown
  dueAt?: Date | undefined
  idempotencyKey?: string | undefined
  fingerprint?: Buffer | undefined
}

type JobRow = [string, number, string, Buffer, number, boolean, string[]]

/**
 * Prepares a run of a job by hand, beside its schedule: for `acceptRuns`, or for `acceptMinding` with an overlap rule. A paused job may be run. Throws
 * `not-found`, and `invalid-transition` for an archived one.
 */
export async function prepareJobRun(ctx: Ctx, jobId: Uuid, options: StartOptions): Promise<IntakeRow> {
  requireScope(ctx, 'runs:write')
  const [queue, version, state, target, priority, isArchived, tags] = await withRead(ctx, (tx) => readJob(tx, jobId))
  if (state === 'deleted') throw notFound('job')
  if (isArchived) throw archived()
  const request = decodeRequest(await ctx.keyRing.open(ctx.tenantId, jobId, target))
  const row = await toIntakeRow(ctx, {
    ...options,
    ...deadlinesOf(request),
    queue,
    priority,
    asks: request,
    attemptsMax: request.retry.limit + 1,
    source: 'manual',
    job: { id: jobId, version, tags },
  })
  const body = options.body === undefined ? request.body : bodyBytes(options.body)
  // What is performed with others has a request of its own, whatever it is.
  if (options.body !== undefined || options.batch !== undefined) row.request = encodeRequest(request, body)
  return takeLane(ctx, row, { ...request, body: () => seeBytes(body) })
}

async function readJob(tx: Tx, jobId: Uuid): Promise<JobRow> {
  const rows = await runNamed<JobRow>(
    tx.client,
    'job_to_run',
    `select q.name, j.version, j.state, v.target, coalesce((v.definition->>'priority')::int, 3), j.archived_at is not null, j.tags
     from jobs j join job_versions v on v.tenant_id = j.tenant_id and v.job_id = j.id and v.version = j.version
     join queues q on q.tenant_id = j.tenant_id and q.id = j.queue_id
     where j.tenant_id = $1 and j.project_id = $2 and j.id = $3`,
    [tx.tenantId, tx.projectId, jobId],
  )
  if (rows[0] === undefined) throw notFound('job')
  return rows[0]
}

/**
 * Prepares a new run that does what an earlier one did, with the same request or another body. The earlier one stays
 * as it ended. Throws `not-found`, or `conflict` while the earlier run is still open.
 */
export async function prepareReplay(ctx: Ctx, id: Uuid, options: StartOptions): Promise<IntakeRow> {
  requireScope(ctx, 'runs:write')
  await ctx.keyRing.load(ctx.tenantId)
  const { run, encoded } = await withRead(ctx, async (tx) => ({
    run: await readRun(tx, id),
    encoded: await readRequest(tx, id),
  }))
  if (run.finishedAt === null) {
    throw new AppError('conflict', `The run has not ended: it is ${run.status}. Cancel it first, or wait.`, {
      current: { status: run.status },
    })
  }
  const request = decodeRequest(encoded)
  const row = await toIntakeRow(ctx, {
    ...options,
    ...deadlinesOf(request),
    queue: run.queueName,
    priority: run.priority,
    asks: request,
    attemptsMax: request.retry.limit + 1,
    source: 'replay',
    tags: options.tags ?? run.tags,
    metadata: options.metadata ?? run.metadata,
  })
  row.jobId = run.jobId
  row.jobVersion = run.jobVersion
  row.replayOf = id
  // A copy of its own: the earlier run's payload goes with that run's retention.
  const body = options.body === undefined ? request.body : bodyBytes(options.body)
  row.request = encodeRequest(request, body)
  return takeLane(ctx, row, { ...request, body: () => seeBytes(body) })
}
