import { actorText } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { testClockNowMs, virtualPool } from '../clock/virtual.ts'
import { type Ctx, withRead } from '../db/context.ts'
import type { Lane } from '../flow/lanes.ts'
import { defaultQueue } from '../flow/queue.ts'
import { type QueuePlace, resolveQueue } from '../flow/queues.ts'
import { AppError, notFound, validationFailed } from '../kernel/errors.ts'
import { type Uuid, uuidv7 } from '../kernel/ids.ts'
import { createKeyOf, type KeyRules } from './create-key.ts'
import { type Deadlines, deadlinesOf } from './deadline.ts'
import { detailsOf, type Metadata, type RunDetails } from './details.ts'
import { laneFor, limitsOf } from './lane.ts'
import { bodyBytes, encodeRequest, type RunRequest, toRequest } from './request-codec.ts'
import { defaultRetryPolicy, type RetryPolicy } from './retry-policy.ts'
import { defaultPriority, type RunSource } from './run.ts'
import { type Target, toldEnds } from './target.ts'

/** An ad hoc run as a caller asks for it. */
export interface NewRun extends Deadlines, KeyRules {
  target: Target
  /** Name of a queue of the project; made when it is new. */
  queue?: string | undefined
  /** 1 (first) to 5. */
  priority?: number | undefined
  /** Now, when absent or past. */
  dueAt?: Date | undefined
  retry?: RetryPolicy | undefined
  tags?: readonly string[] | undefined
  metadata?: Metadata | undefined
  idempotencyKey?: string | undefined
  /** SHA-256 of the request, needed with a key. */
  fingerprint?: Buffer | undefined
}

/** A run ready to be written: checked, its queue known, its request encoded. It is sealed when it is written. */
export interface IntakeRow extends Deadlines {
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
  /** What `encodeRequest` gave. Null: the target of the job's version as it stands. */
  request: Buffer | null
  /** The limits it minds beside those of its queue; null: none. */
  lane: Lane | null
  source: RunSource
  jobId: Uuid | null
  jobVersion: number | null
  replayOf: Uuid | null
  idempotencyKey: string | null
  fingerprint: Buffer | null
  actor: string
  requestId: string | null
  /** What few runs have. */
  details: RunDetails | undefined
  jobTags: readonly string[]
}

type IntakeInput = Pick<
  NewRun,
  'queue' | 'priority' | 'dueAt' | 'tags' | 'metadata' | 'idempotencyKey' | 'fingerprint'
> &
  Deadlines &
  KeyRules & {
    /** What the run asks for. */
    asks: RunRequest
    attemptsMax: number
    source: RunSource
    job?: { id: Uuid; version: number; tags: readonly string[] }
    callbackOf?: Uuid
  }

/** What every way of starting a run has in common. */
export async function toIntakeRow(ctx: Ctx, input: IntakeInput): Promise<IntakeRow> {
  const queue = await resolveQueue(ctx, input.queue ?? defaultQueue)
  return intakeRow(ctx, input, queue, await virtualNowMs(ctx, queue))
}

/** What the test clock says that the queue's project lives by; null where it is the real one. */
const virtualNowMs = async (ctx: Ctx, { pool }: QueuePlace): Promise<number | null> =>
  pool === virtualPool ? await withRead(ctx, testClockNowMs) : null

function intakeRow(ctx: Ctx, input: IntakeInput, queue: QueuePlace, clockMs: number | null): IntakeRow {
  const waits = input.debounce !== undefined || input.batch !== undefined
  if (waits && input.dueAt !== undefined)
    throw validationFailed([{ pointer: '/dueAt', detail: 'must not be given beside debounce or batch' }])
  const jobId = input.job?.id ?? null
  const askedMs = input.dueAt?.getTime() ?? null
  // Null: now. In a project with a test clock, now is what that clock says.
  const dueAtMs = clockMs === null ? askedMs : Math.max(askedMs ?? clockMs, clockMs)
  const { tags = [], metadata = {}, asks: request } = input
  const makeId = (): Uuid => uuidv7(ctx.clock.nowMs())
  const places = { projectId: ctx.projectId, queueId: queue.id, jobId, request, makeId }
  const nowMs = clockMs === null || dueAtMs === null ? {} : { nowMs: dueAtMs }
  const key = createKeyOf(input, { ...places, ...nowMs })
  // The version of a job says by itself who is told.
  const tells = jobId === null ? toldEnds(request.callbacks) : []
  return {
    tenantId: ctx.tenantId,
    projectId: ctx.projectId,
    id: uuidv7(ctx.clock.nowMs()),
    queueId: queue.id,
    queueName: input.queue ?? defaultQueue,
    pool: queue.pool,
    priority: input.priority ?? defaultPriority,
    attemptsMax: input.attemptsMax,
    dueAtMs,
    request: null,
    lane: null,
    source: input.source,
    jobId,
    jobVersion: input.job?.version ?? null,
    replayOf: null,
    idempotencyKey: input.idempotencyKey ?? null,
    fingerprint: input.fingerprint ?? null,
    actor: actorText(ctx.actor),
    requestId: ctx.requestId,
    details: detailsOf({
      tags,
      metadata,
      tells,
      ...(key === undefined ? {} : { key }),
      ...(input.callbackOf === undefined ? {} : { callbackOf: input.callbackOf }),
    }),
    jobTags: input.job?.tags ?? [],
    ...deadlinesOf(input),
  }
}

/**
 * Prepares ad hoc runs for `acceptRuns`: the caller may start runs, the queues exist, the tenant's key is at hand. What
 * they have in common is asked for once. Answers in order: by its error what can't be accepted, or was refused before. Nothing
 * is written yet, so rows of many callers can go into one flush.
 */
export async function prepareRuns(ctx: Ctx, inputs: readonly (NewRun | AppError)[]): Promise<(IntakeRow | AppError)[]> {
  requireScope(ctx, 'runs:write')
  await ctx.keyRing.load(ctx.tenantId)
  const limits = await limitsOf(ctx)
  const places = new Map<string, { queue: QueuePlace; clockMs: number | null } | AppError>()
  for (const input of inputs) {
    if (input instanceof AppError) continue
    const { queue: name = defaultQueue } = input
    if (places.has(name)) continue
    try {
      const queue = await resolveQueue(ctx, name)
      places.set(name, { queue, clockMs: await virtualNowMs(ctx, queue) })
    } catch (error) {
      places.set(name, refusal(error))
    }
  }
  return inputs.map((input) => {
    if (input instanceof AppError) return input
    const place = places.get(input.queue ?? defaultQueue)
    if (place === undefined || place instanceof AppError) return place ?? notFound('queue')
    try {
      const { target, retry = defaultRetryPolicy } = input
      const asks = toRequest(target, retry, deadlinesOf(input))
      const asked: IntakeInput = { ...input, asks, attemptsMax: retry.limit + 1, source: 'api' }
      const row = intakeRow(ctx, asked, place.queue, place.clockMs)
      row.request = encodeRequest(asks, bodyBytes(target.body))
      row.lane = laneFor(limits, row, { ...target, body: () => target.body })
      return row
    } catch (error) {
      return refusal(error)
    }
  })
}

/** What is wrong with one run. Throws what says nothing about it: then none can be accepted. */
function refusal(error: unknown): AppError {
  if (error instanceof AppError && error.code !== 'dependency-unavailable') return error
  throw error
}

/** Prepares one. Throws what it is refused for. */
export async function prepareRun(ctx: Ctx, input: NewRun): Promise<IntakeRow> {
  const [row] = await prepareRuns(ctx, [input])
  if (row === undefined || row instanceof AppError) throw row ?? notFound('queue')
  return row
}
