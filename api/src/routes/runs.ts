import type { Ctx } from '@meridian/core/db/context'
import { listEventsAbout } from '@meridian/core/event/read'
import { findQueue } from '@meridian/core/flow/queues'
import { AppError, notFound } from '@meridian/core/kernel/errors'
import type { Uuid } from '@meridian/core/kernel/ids'
import { tagsValue, tagValue } from '@meridian/core/kernel/tag'
import { isStorable } from '@meridian/core/kernel/text'
import { cancelRun } from '@meridian/core/run/cancel'
import { getRun, getRunRequest, getRunResponse, listAttempts } from '@meridian/core/run/get'
import { listRuns, lookMax } from '@meridian/core/run/list'
import { appendRunLog, listRunLogs, logLineLevels } from '@meridian/core/run/logs'
import type { MetadataFact } from '@meridian/core/run/run-filter'
import { prepareReplay } from '@meridian/core/run/trigger'
import { z } from 'zod'
import { needs, operation } from '../http/operation.ts'
import { eventToWire, eventWire } from '../wire/event.ts'
import { pageOf, pageQuery, toPage, toPageRequest } from '../wire/page.ts'
import {
  attemptToWire,
  attemptWire,
  logLineToWire,
  logLineWire,
  runRequestToWire,
  runRequestWire,
  runResponseToWire,
  runResponseWire,
  runSource,
  runStatus,
  runToWire,
  runWire,
} from '../wire/run.ts'
import {
  idReference,
  instant,
  instantInput,
  listOf,
  pathId,
  repeated,
  toInstantOrNull,
  wholeNumber,
} from '../wire/values.ts'

const runParams = z.object({ runId: pathId('run') })
const everything = <Item, Wire>(items: readonly Item[], toWire: (item: Item) => Wire) => ({
  data: items.map(toWire),
  nextCursor: null,
})

const factsMax = 10

/** `name=value` of a run's metadata. The name ends at the first equals sign. */
const metadataFact = z
  .string()
  .max(1_100)
  .refine(isStorable)
  .transform((text, context): MetadataFact => {
    const at = text.indexOf('=')
    if (at > 0) return { name: text.slice(0, at), value: text.slice(at + 1) }
    context.addIssue({ code: 'custom', message: 'must be a name and a value, such as customer=acme' })
    return z.NEVER
  })
  .meta({ type: 'string', examples: ['customer=acme'] })

const list = operation({
  id: 'listRuns',
  method: 'get',
  path: '/v1/runs',
  tag: 'Runs',
  summary: 'List runs, newest first',
  access: needs('runs:read'),
  query: z.strictObject({
    ...pageQuery,
    status: listOf(runStatus).optional().meta({ description: 'One or more statuses.' }),
    jobId: idReference('job').optional(),
    queue: z.string().max(64).optional().meta({ description: 'Name of a queue.' }),
    source: runSource.optional(),
    tag: listOf(tagValue).optional().meta({ description: 'All of these: its own, or of its job.' }),
    metadata: repeated(metadataFact, factsMax).optional().meta({
      description:
        'All of these facts, each a name and a value: `customer=acme`. Numbers and truth values as they are written.',
    }),
    callbackOf: idReference('run').optional().meta({ description: 'Runs that tell the end of this one.' }),
    batchRunId: idReference('run').optional().meta({ description: 'Runs that this one performs together.' }),
    operationId: idReference('op').optional().meta({ description: 'Runs that an operation made, or is about.' }),
    createdFrom: instantInput.optional().meta({ description: 'Created at this instant or later.' }),
    createdTo: instantInput.optional().meta({ description: 'Created before this instant.' }),
  }),
  answer: {
    status: 200,
    description: 'A page of runs.',
    schema: pageOf(runWire).extend({
      lookedTo: instant.nullable().meta({
        description: `Set when the page is not full, or empty, though there may be more: a page looks at ${lookMax.toLocaleString('en-GB')} runs at most, here back to this instant. \`nextCursor\` goes on from there.`,
      }),
    }),
  },
  async handle({ ctx, query }) {
    const { queue, tag: tags, ...filter } = query
    const queueId = queue === undefined ? undefined : await queueIdOrNone(ctx, queue)
    if (queueId === null) return { data: [], nextCursor: null, lookedTo: null }
    const page = await listRuns(ctx, { ...filter, tags, queueId }, toPageRequest(query))
    return { ...toPage(page, runToWire), lookedTo: toInstantOrNull(page.lookedTo) }
  },
})

/** A filter on a queue that does not exist finds nothing; it is no error. */
async function queueIdOrNone(ctx: Ctx, name: string): Promise<Uuid | null> {
  try {
    return (await findQueue(ctx, name)).id
  } catch (error) {
    if (error instanceof AppError && error.code === 'not-found') return null
    throw error
  }
}

const get = operation({
  id: 'getRun',
  method: 'get',
  path: '/v1/runs/{runId}',
  tag: 'Runs',
  summary: 'Get a run as it stands now',
  access: needs('runs:read'),
  params: runParams,
  answer: { status: 200, description: 'The run.', schema: runWire },
  handle: async ({ ctx, params, services }) => runToWire(await services.runReads.get(ctx, params.runId)),
})

const cancel = operation({
  id: 'cancelRun',
  method: 'post',
  path: '/v1/runs/{runId}/cancel',
  tag: 'Runs',
  summary: 'Cancel a run',
  description:
    'Ends an open run wherever it stands. Cancelling a cancelled run changes nothing; one that ended otherwise is a conflict.',
  access: needs('runs:write'),
  params: runParams,
  answer: { status: 200, description: 'The run, cancelled.', schema: runWire },
  problems: ['invalid-transition'],
  async handle({ ctx, params, services }) {
    const cancelled = await cancelRun(ctx, params.runId)
    services.wake.forCancel(cancelled)
    return runToWire(cancelled.run)
  },
})

const replay = operation({
  id: 'replayRun',
  method: 'post',
  path: '/v1/runs/{runId}/replay',
  tag: 'Runs',
  summary: 'Run again what a run did',
  description: 'A new run with the same request, or with another body. The earlier run stays as it ended.',
  access: needs('runs:write'),
  params: runParams,
  body: z
    .strictObject({
      body: z.unknown().optional().meta({ description: 'Replaces the body of the request.' }),
      tags: tagsValue.optional().meta({ description: 'Left out: as the earlier run.' }),
    })
    .meta({ id: 'ReplayRun' }),
  isBodyOptional: true,
  example: {},
  isCreate: true,
  answer: { status: 201, description: 'The new run.', schema: runWire },
  problems: ['conflict'],
  async handle({ ctx, params, body, idempotency, services }) {
    const row = await prepareReplay(ctx, params.runId, {
      ...body,
      idempotencyKey: idempotency?.key,
      fingerprint: idempotency?.fingerprint,
    })
    return runToWire((await services.intake.accept(row)).run)
  },
})

const attempts = operation({
  id: 'listRunAttempts',
  method: 'get',
  path: '/v1/runs/{runId}/attempts',
  tag: 'Runs',
  summary: 'List the attempts of a run, first to last',
  access: needs('runs:read'),
  params: runParams,
  answer: { status: 200, description: 'All attempts.', schema: pageOf(attemptWire) },
  handle: async ({ ctx, params }) => everything(await listAttempts(ctx, params.runId), attemptToWire),
})

const request = operation({
  id: 'getRunRequest',
  method: 'get',
  path: '/v1/runs/{runId}/request',
  tag: 'Runs',
  summary: 'Get what is sent to the target',
  access: needs('payloads:read'),
  params: runParams,
  answer: { status: 200, description: 'The request.', schema: runRequestWire },
  handle: async ({ ctx, params }) => runRequestToWire(await getRunRequest(ctx, params.runId)),
})

const response = operation({
  id: 'getRunResponse',
  method: 'get',
  path: '/v1/runs/{runId}/response',
  tag: 'Runs',
  summary: 'Get what the target answered',
  description: 'Of the last attempt, or of an earlier one. Not found while there is no response.',
  access: needs('payloads:read'),
  params: runParams,
  query: z.strictObject({ attempt: wholeNumber(1, 32_767).optional() }),
  answer: { status: 200, description: 'The response.', schema: runResponseWire },
  async handle({ ctx, params, query }) {
    const view = await getRunResponse(ctx, params.runId, query.attempt)
    if (view === null) throw notFound('response')
    return runResponseToWire(view)
  },
})

const events = operation({
  id: 'listRunEvents',
  method: 'get',
  path: '/v1/runs/{runId}/events',
  tag: 'Runs',
  summary: 'List what happened to a run, oldest first',
  access: needs('runs:read'),
  params: runParams,
  answer: { status: 200, description: 'All events.', schema: pageOf(eventWire) },
  async handle({ ctx, params }) {
    await getRun(ctx, params.runId)
    return everything(await listEventsAbout(ctx, params.runId), eventToWire)
  },
})

const logs = operation({
  id: 'listRunLogs',
  method: 'get',
  path: '/v1/runs/{runId}/logs',
  tag: 'Runs',
  summary: "List the lines of a run's log, oldest first",
  access: needs('payloads:read'),
  params: runParams,
  query: z.strictObject(pageQuery),
  answer: { status: 200, description: 'A page of lines.', schema: pageOf(logLineWire) },
  handle: async ({ ctx, params, query }) =>
    toPage(await listRunLogs(ctx, params.runId, toPageRequest(query)), logLineToWire),
})

const newLogLine = z
  .strictObject({
    level: z.enum(logLineLevels).default('info'),
    message: z.string().min(1).max(16_384),
    attempt: z.int().min(1).max(32_767).optional().meta({ description: 'The present attempt, when absent.' }),
  })
  .meta({ id: 'NewLogLine' })

const addLogs = operation({
  id: 'addRunLogs',
  method: 'post',
  path: '/v1/runs/{runId}/logs',
  tag: 'Runs',
  summary: "Add lines to a run's log",
  access: needs('runs:write'),
  params: runParams,
  body: z.strictObject({ lines: z.array(newLogLine).max(1_000).default([]) }).meta({ id: 'NewLogLines' }),
  example: { lines: [{ level: 'info', message: 'halfway there' }] },
  answer: { status: 201, description: 'The lines as they are kept.', schema: pageOf(logLineWire) },
  handle: async ({ ctx, params, body }) => everything(await appendRunLog(ctx, params.runId, body.lines), logLineToWire),
})

export const runOperations = [list, get, cancel, replay, attempts, request, response, events, logs, addLogs]
