import { withIdempotency } from '@meridian/core/access/idempotency'
import { pauseReasonValue } from '@meridian/core/job/job'
import { backfillFields } from '@meridian/core/operation/backfill'
import { redriveFields } from '@meridian/core/operation/bulk-dead-letters'
import { editChangesValue } from '@meridian/core/operation/bulk-jobs'
import { openRunFilterValue } from '@meridian/core/operation/cancel-runs'
import {
  createOperation,
  type NewOperation,
  planOperation,
  rateValue,
  undoOperation,
} from '@meridian/core/operation/create'
import { getOperation, listOperationItems, listOperations } from '@meridian/core/operation/get'
import { itemStates, operationStates } from '@meridian/core/operation/operation'
import { repairFields } from '@meridian/core/operation/repair-jobs'
import { abortOperation, pauseOperation, resumeOperation } from '@meridian/core/operation/set-state'
import { z } from 'zod'
import { needs, operation, Reply } from '../http/operation.ts'
import { letterFilterInput } from '../wire/dead-letter.ts'
import {
  jobFilterInput,
  operationItemToWire,
  operationItemWire,
  operationKind,
  operationToWire,
  operationWire,
} from '../wire/operation.ts'
import { pageOf, pageQuery, toPage, toPageRequest } from '../wire/page.ts'
import { dryRunFlag, idReference, instantInput, listOf, naming, pathId } from '../wire/values.ts'

const operationParams = z.object({ operationId: pathId('op') })

const rate = rateValue.default(null).meta({ description: 'The most things a second; null: as fast as it goes.' })
const filter = jobFilterInput

const newOperation = z
  .discriminatedUnion('kind', [
    z
      .strictObject({ kind: z.literal('jobs.pause'), filter, reason: pauseReasonValue.nullable().default(null), rate })
      .meta({ id: 'PauseJobs' }),
    z.strictObject({ kind: z.literal('jobs.resume'), filter, rate }).meta({ id: 'ResumeJobs' }),
    z
      .strictObject({
        kind: z.literal('jobs.edit'),
        filter,
        changes: editChangesValue.meta({ id: 'BulkChanges' }),
        rate,
      })
      .meta({ id: 'EditJobs' }),
    z
      .strictObject({
        kind: z.literal('jobs.backfill'),
        ...backfillFields,
        jobId: idReference('job'),
        from: instantInput.meta({ description: 'The first instant, inclusive.' }),
        to: instantInput.meta({ description: 'Exclusive. What is not past yet is left to the schedule.' }),
        rate,
      })
      .meta({ id: 'BackfillJob' }),
    z.strictObject({ kind: z.literal('jobs.repair'), ...repairFields, filter, rate }).meta({ id: 'RepairJobs' }),
    z
      .strictObject({
        kind: z.literal('runs.cancel'),
        filter: openRunFilterValue
          .extend({
            ids: z.array(idReference('run')).min(1).max(1_000).optional(),
            jobId: idReference('job').optional(),
            dueFrom: instantInput.optional().meta({ description: 'Due at this instant or later.' }),
            dueTo: instantInput.optional().meta({ description: 'Due before this instant.' }),
          })
          .meta({
            id: 'OpenRunFilter',
            description: 'Which open runs: everything that is given has to be true of one.',
          }),
        rate,
      })
      .meta({ id: 'CancelRuns' }),
    z
      .strictObject({ kind: z.literal('dead-letters.redrive'), ...redriveFields, filter: letterFilterInput, rate })
      .meta({ id: 'RedriveDeadLetters' }),
    z
      .strictObject({ kind: z.literal('dead-letters.discard'), filter: letterFilterInput, rate })
      .meta({ id: 'DiscardDeadLetters' }),
  ])
  .meta({ id: 'NewOperation' })

const toNewOperation = ({ kind, rate: pace, ...plan }: z.output<typeof newOperation>): NewOperation => ({
  kind,
  plan,
  rate: pace,
})

const create = operation({
  id: 'createOperation',
  method: 'post',
  path: '/v1/operations',
  tag: 'Operations',
  summary: 'Do something to many things',
  description:
    'What it is about is counted and written down now, workers do it; follow it by its id, or live. With `dryRun=true` it is only counted.',
  access: needs('operations:write'),
  query: z.strictObject({ dryRun: dryRunFlag('Counts what it would do, and writes nothing.') }),
  body: newOperation,
  example: { kind: 'jobs.pause', filter: { tags: ['invoices'] }, reason: 'The target is being moved.' },
  isCreate: true,
  answer: { status: 201, description: 'The operation.', schema: operationWire },
  otherwise: { status: 200, description: 'A dry run: what it would do.' },
  async handle({ ctx, query, body, idempotency }) {
    const input = toNewOperation(body)
    if (query.dryRun) return new Reply(operationToWire(await planOperation(ctx, input)), { status: 200 })
    const { answer, replayed } = await withIdempotency(ctx, idempotency, async (tx) => {
      const made = await createOperation(tx, input)
      return { subject: made.id, answer: operationToWire(made) }
    })
    return new Reply(answer, replayed ? { headers: { 'idempotency-replayed': 'true' } } : {})
  },
})

const list = operation({
  id: 'listOperations',
  method: 'get',
  path: '/v1/operations',
  tag: 'Operations',
  summary: 'List operations, newest first',
  access: needs('operations:read'),
  query: z.strictObject({
    ...pageQuery,
    state: listOf(z.enum(operationStates).exclude(['planned'])).optional(),
    kind: operationKind.optional(),
  }),
  answer: { status: 200, description: 'A page of operations.', schema: pageOf(operationWire) },
  async handle({ ctx, query: { limit, cursor, ...filters } }) {
    return toPage(await listOperations(ctx, filters, toPageRequest({ limit, cursor })), operationToWire)
  },
})

const get = operation({
  id: 'getOperation',
  method: 'get',
  path: '/v1/operations/{operationId}',
  tag: 'Operations',
  summary: 'Get an operation, with its progress',
  access: needs('operations:read'),
  params: operationParams,
  answer: { status: 200, description: 'The operation.', schema: operationWire },
  handle: async ({ ctx, params }) => operationToWire(await getOperation(ctx, params.operationId)),
})

const listItems = operation({
  id: 'listOperationItems',
  method: 'get',
  path: '/v1/operations/{operationId}/items',
  tag: 'Operations',
  summary: 'List the things of an operation, and how each went',
  access: needs('operations:read'),
  params: operationParams,
  query: z.strictObject({ ...pageQuery, state: z.enum(itemStates).optional() }),
  answer: { status: 200, description: 'A page of things, in its order.', schema: pageOf(operationItemWire) },
  async handle({ ctx, params, query }) {
    const { kind } = await getOperation(ctx, params.operationId)
    return toPage(await listOperationItems(ctx, params.operationId, query), operationItemToWire(kind))
  },
})

const pause = operation({
  id: 'pauseOperation',
  method: 'post',
  path: '/v1/operations/{operationId}/pause',
  tag: 'Operations',
  summary: 'Hold an operation',
  description: 'When this answers, nothing more is done until it is resumed.',
  access: needs('operations:write'),
  params: operationParams,
  answer: { status: 200, description: 'The operation.', schema: operationWire },
  problems: ['invalid-transition'],
  handle: async ({ ctx, params }) => operationToWire(await pauseOperation(ctx, params.operationId)),
})

const resume = operation({
  id: 'resumeOperation',
  method: 'post',
  path: '/v1/operations/{operationId}/resume',
  tag: 'Operations',
  summary: 'Let a held operation go on',
  access: needs('operations:write'),
  params: operationParams,
  answer: { status: 200, description: 'The operation.', schema: operationWire },
  problems: ['invalid-transition'],
  handle: async ({ ctx, params }) => operationToWire(await resumeOperation(ctx, params.operationId)),
})

const abort = operation({
  id: 'abortOperation',
  method: 'post',
  path: '/v1/operations/{operationId}/abort',
  tag: 'Operations',
  summary: 'End an operation for good',
  description: 'When this answers, nothing more is done. What was done stays, and can be undone.',
  access: needs('operations:write'),
  params: operationParams,
  answer: { status: 200, description: 'The operation.', schema: operationWire },
  problems: ['invalid-transition'],
  handle: async ({ ctx, params }) => operationToWire(await abortOperation(ctx, params.operationId)),
})

const undo = operation({
  id: 'undoOperation',
  method: 'post',
  path: '/v1/operations/{operationId}/undo',
  tag: 'Operations',
  summary: 'Take back what an ended operation did',
  description: 'As an operation of its own, last things first. What somebody has changed since is left alone.',
  access: needs('operations:write'),
  params: operationParams,
  answer: { status: 201, description: 'The operation that takes it back.', schema: operationWire },
  problems: ['conflict', 'invalid-transition'],
  handle: async ({ ctx, params }) => operationToWire(await naming('op', undoOperation(ctx, params.operationId))),
})

export const bulkOperations = [create, list, get, listItems, pause, resume, abort, undo]
