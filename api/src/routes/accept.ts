import { hash } from 'node:crypto'
import type { Ctx } from '@meridian/core/db/context'
import { defaultQueue, queueNameValue } from '@meridian/core/flow/queue'
import { findQueue } from '@meridian/core/flow/queues'
import { AppError, validationFailed } from '@meridian/core/kernel/errors'
import { uuidv7 } from '@meridian/core/kernel/ids'
import type { IntakeResult } from '@meridian/core/run/accept'
import { batchValue, debounceValue, deduplicationValue, shownKeyOf } from '@meridian/core/run/create-key'
import { deadlineFields, toDeadlines } from '@meridian/core/run/deadline'
import { labelFields } from '@meridian/core/run/details'
import { type IntakeRow, type NewRun, prepareRun, prepareRuns } from '@meridian/core/run/prepare'
import { toRetryPolicy } from '@meridian/core/run/retry-policy'
import { defaultPriority, type Run } from '@meridian/core/run/run'
import { z } from 'zod'
import { createdRun, existingRun, isFound, shownRun } from '../http/created-run.ts'
import type { Services } from '../http/env.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { needs, operation, Reply } from '../http/operation.ts'
import { toProblem } from '../http/problems.ts'
import { requireCallable } from '../http/target-guard.ts'
import { atPointer, fieldProblems } from '../http/validate.ts'
import { retryPolicy, target } from '../wire/components.ts'
import { problemWire } from '../wire/problem.ts'
import { runToWire, runWire } from '../wire/run.ts'
import { dryRunFlag, instantInput } from '../wire/values.ts'

const newRun = z
  .strictObject({
    target,
    queue: queueNameValue
      .optional()
      .meta({ description: 'Made when the project has none of that name. `default`, when absent.' }),
    priority: z.int().min(1).max(5).default(defaultPriority).meta({ description: '1 is served first, 5 last.' }),
    dueAt: instantInput.optional().meta({ description: 'When it is to run. At once, when absent or past.' }),
    retry: retryPolicy.optional(),
    tags: labelFields.tags,
    metadata: labelFields.metadata,
    deduplication: deduplicationValue.optional(),
    debounce: debounceValue.optional(),
    batch: batchValue.optional(),
    startWithin: deadlineFields.startWithin.optional(),
    endWithin: deadlineFields.endWithin.optional(),
  })
  .meta({ id: 'NewRun' })
type NewRunBody = z.output<typeof newRun>

const example = { target: { type: 'http', url: 'https://example.com/hooks/nightly', body: { hello: 'world' } } }

const batchMax = 1_000

const dryRunQuery = z.strictObject({ dryRun: dryRunFlag('Checks everything, writes nothing, answers 200 as if.') })

/** Throws `validation-failed` for a target that must not be called. */
function toNewRun(services: Services, body: NewRunBody, idempotency: Idempotency | null): NewRun {
  requireCallable(services, body.target, '/target')
  const { target, queue, priority, dueAt, retry, tags, metadata, deduplication, debounce, batch } = body
  return {
    target,
    queue,
    priority,
    dueAt,
    retry: retry && toRetryPolicy(retry),
    tags,
    metadata,
    deduplication,
    debounce,
    batch,
    ...toDeadlines(body),
    idempotencyKey: idempotency?.key,
    fingerprint: idempotency?.fingerprint,
  }
}

const prepare = ({ ctx, body, idempotency, services }: PrepareInput): Promise<IntakeRow> =>
  prepareRun(ctx, toNewRun(services, body, idempotency))

interface PrepareInput {
  ctx: Ctx
  body: NewRunBody
  idempotency: Idempotency | null
  services: Services
}

const create = operation({
  id: 'createRun',
  method: 'post',
  path: '/v1/runs',
  tag: 'Runs',
  summary: 'Start a run, now or later',
  description: 'An answer of 201 means that the run is on disk. With `dryRun=true` nothing is written.',
  access: needs('runs:write'),
  query: dryRunQuery,
  body: newRun,
  example,
  isCreate: true,
  answer: { status: 201, description: 'The run.', schema: runWire },
  otherwise: { status: 200, description: `A dry run: what it would have been. ${existingRun.description}` },
  async handle({ ctx, query, body, idempotency, services }) {
    if (query.dryRun) return new Reply(runToWire(await rehearse({ ctx, body, idempotency, services })), { status: 200 })
    return createdRun(services, ctx, await services.intake.accept(await prepare({ ctx, body, idempotency, services })))
  },
})

/** What a create would answer. Everything is done but the write; a queue that does not exist yet is not made. */
async function rehearse(input: PrepareInput): Promise<Run> {
  const { ctx, body, services } = input
  const queueName = body.queue ?? defaultQueue
  const isKnown = await findQueue(ctx, queueName).then(
    () => true,
    (error: unknown) => {
      if (error instanceof AppError && error.code === 'not-found') return false
      throw error
    },
  )
  if (isKnown) await prepare(input)
  else requireCallable(services, body.target, '/target')
  const now = new Date(ctx.clock.nowMs())
  const dueAt = body.dueAt ?? now
  return {
    id: uuidv7(now.getTime()),
    projectId: ctx.projectId,
    jobId: null,
    jobVersion: null,
    queueId: '',
    queueName,
    status: dueAt > now ? 'scheduled' : 'ready',
    source: 'api',
    priority: body.priority,
    attempt: 0,
    attemptsMax: (body.retry?.limit ?? retryPolicy.parse({}).limit) + 1,
    fence: 0,
    createdAt: now,
    dueAt,
    nominalAt: null,
    startedAt: null,
    finishedAt: null,
    durationMs: null,
    latenessMs: null,
    httpStatus: null,
    error: null,
    replayOf: null,
    tags: [...new Set(body.tags)].toSorted(),
    metadata: body.metadata,
    createKey: shownKeyOf(body),
    callbackOf: null,
    batchRunId: null,
  }
}

const testTarget = operation({
  id: 'testTarget',
  method: 'post',
  path: '/v1/targets/test',
  tag: 'Runs',
  summary: 'Call a target once, now',
  description: 'An ad hoc run without retries that is served first. Read its outcome as that of any run.',
  access: needs('runs:write'),
  body: z.strictObject({ target }).meta({ id: 'TestTarget' }),
  example,
  isCreate: true,
  answer: { status: 201, description: 'The run.', schema: runWire },
  async handle({ ctx, body, idempotency, services }) {
    const once = newRun.parse({ target: body.target, priority: 1, retry: { limit: 0 } })
    const { run } = await services.intake.accept(await prepare({ ctx, body: once, idempotency, services }))
    return runToWire(run)
  },
})

const refusedRun = z
  .strictObject({ status: z.literal('refused'), problem: problemWire })
  .meta({ id: 'RefusedRun', description: 'A row that was not accepted. The others were.' })

// Each row is parsed by itself, so that a bad one is answered and does not spoil the rest.
const batchRow = z
  .unknown()
  .transform((value) => newRun.safeParse(value, { reportInput: true }))
  .meta({ $ref: '#/components/schemas/NewRun' })

const createBatch = operation({
  id: 'createRuns',
  method: 'post',
  path: '/v1/runs/batch',
  tag: 'Runs',
  summary: 'Start up to 1,000 runs',
  description:
    'Answers each row in its place: the run, or why it was refused. All accepted rows are on disk. It tells one event and leaves one audit line.',
  access: needs('runs:write'),
  body: z.strictObject({ runs: z.array(batchRow).min(1).max(batchMax) }).meta({ id: 'NewRuns' }),
  example: { runs: [example] },
  isCreate: true,
  answer: {
    status: 200,
    description: 'One answer a row.',
    schema: z.strictObject({ data: z.array(z.union([runWire, refusedRun])) }),
  },
  async handle({ ctx, body, idempotency, services, requestId }) {
    const asked = body.runs.map((parsed, index): NewRun | AppError => {
      if (!parsed.success) return validationFailed(fieldProblems(parsed.error.issues))
      const own = idempotency && { ...idempotency, key: `${idempotency.key}\u001f${index}` }
      try {
        return toNewRun(services, parsed.data, own)
      } catch (error) {
        if (error instanceof AppError) return error
        throw error
      }
    })
    const rows = await prepareRuns(ctx, asked)
    const good = rows.filter((row): row is IntakeRow => !(row instanceof AppError))
    const digest = hash('sha256', good.map(({ id }) => id).join(''), 'hex')
    const results = good.length === 0 ? [] : await services.intake.acceptBatch(good, digest)
    throwMismatch(results)
    const found = new Map(
      await Promise.all(
        results.filter(isFound).map(async (result) => [result.run.id, await shownRun(services, ctx, result)] as const),
      ),
    )
    const occurrence = { docsBase: services.config.publicUrl, requestId }
    const refused = (index: number, error: AppError) => ({
      status: 'refused' as const,
      problem: toProblem(atPointer(`/runs/${index}`, error), occurrence),
    })
    const written = results.values()
    return {
      data: rows.map((row, index) => {
        if (row instanceof AppError) return refused(index, row)
        const { value: result } = written.next()
        if (result === undefined) throw new Error('a flush left a row without an answer')
        if (result.outcome === 'refused') return refused(index, result.error)
        return runToWire(found.get(result.run.id) ?? result.run)
      }),
    }
  },
})

/** All rows carry the print of the whole batch, so one mismatch means another batch. */
function throwMismatch(results: readonly IntakeResult[]): void {
  for (const result of results) {
    if (result.outcome === 'refused' && result.error.code === 'idempotency-mismatch') throw result.error
  }
}

export const acceptOperations = [create, createBatch, testTarget]
