import { withIdempotency } from '@meridian/core/access/idempotency'
import type { Ctx } from '@meridian/core/db/context'
import { forgetLimits } from '@meridian/core/flow/lanes'
import type { Limit, LimitScope } from '@meridian/core/flow/limit'
import {
  createLimit,
  deleteLimit,
  getLimit,
  listLimits,
  pauseLimit,
  pinLimit,
  resumeLimit,
  updateLimit,
} from '@meridian/core/flow/limits'
import { queueNames, queuePools, resolveQueue } from '@meridian/core/flow/queues'
import { limitUsage } from '@meridian/core/flow/usage'
import { pauseReasonValue } from '@meridian/core/job/job'
import { z } from 'zod'
import type { Services } from '../http/env.ts'
import { expectedVersion } from '../http/etag.ts'
import { needs, operation, Reply } from '../http/operation.ts'
import { expressions, limitNameValue, limitToWire, limitWire, scopeInput, settings, toRate } from '../wire/limit.ts'
import { pageOf, pageQuery, toPage, toPageRequest } from '../wire/page.ts'
import { limitUsageToWire, limitUsageWire } from '../wire/usage.ts'
import { naming, pathId } from '../wire/values.ts'

const limitParams = z.object({ limitId: pathId('lim') })

const newLimit = z
  .strictObject({
    name: limitNameValue,
    scope: scopeInput.default({ type: 'project' }),
    key: expressions.key.default(null),
    cost: expressions.cost.default(null),
    concurrency: settings.concurrency.default(null),
    rate: settings.rate.default(null),
    backlog: settings.backlog.default(null),
  })
  .meta({ id: 'NewLimit' })

/** What the limits of an answer call their queues. */
async function toWire(ctx: Ctx, limits: readonly Limit[]): Promise<z.output<typeof limitWire>[]> {
  const names = await queueNames(
    ctx,
    limits.flatMap(({ scope }) => (scope.type === 'queue' ? [scope.queueId] : [])),
  )
  return limits.map((limit) => limitToWire(limit, names))
}

async function answerOf(ctx: Ctx, limit: Limit): Promise<Reply<z.output<typeof limitWire>>> {
  const [wire] = await toWire(ctx, [limit])
  if (wire === undefined) throw new Error('a limit was not told')
  return new Reply(wire, { version: limit.version })
}

/** What waited may go on, wherever it does. */
async function wake(ctx: Ctx, services: Services): Promise<void> {
  for (const pool of await queuePools(ctx)) services.wake.forQueue(pool)
}

const create = operation({
  id: 'createLimit',
  method: 'post',
  path: '/v1/limits',
  tag: 'Limits',
  summary: 'Set a limit',
  description:
    'For a queue, a project or the organisation as a whole it holds at once, for what waits as well. By key, cost, job or host it holds for runs that are made from now on, whatever makes them.',
  access: needs('queues:write'),
  body: newLimit,
  example: {
    name: 'Per customer',
    scope: { type: 'queue', queue: 'reports' },
    key: 'body.customer.id',
    concurrency: 2,
    rate: { count: 100, per: 'PT1H' },
  },
  isCreate: true,
  answer: { status: 201, description: 'The limit.', schema: limitWire },
  problems: ['conflict', 'quota-exceeded'],
  async handle({ ctx, body, idempotency }) {
    const { answer, replayed } = await withIdempotency(ctx, idempotency, async (tx) => {
      const { scope, rate, ...rest } = body
      const wanted: LimitScope =
        scope.type === 'queue' ? { type: 'queue', queueId: (await resolveQueue(tx, scope.queue)).id } : scope
      const limit = await naming('lim', createLimit(tx, { ...rest, scope: wanted, rate: rate && toRate(rate) }))
      const [wire] = await toWire(tx, [limit])
      if (wire === undefined) throw new Error('a limit was not told')
      return { subject: limit.id, answer: wire }
    })
    // Whatever was read meanwhile was read before it was true.
    forgetLimits(ctx.tenantId)
    return new Reply(answer, {
      version: answer.version,
      ...(replayed ? { headers: { 'idempotency-replayed': 'true' } } : {}),
    })
  },
})

const list = operation({
  id: 'listLimits',
  method: 'get',
  path: '/v1/limits',
  tag: 'Limits',
  summary: 'List limits, oldest first',
  description: 'Of the project and of the organisation. What queues allow by themselves is told with them.',
  access: needs('queues:read'),
  query: z.strictObject(pageQuery),
  answer: { status: 200, description: 'A page of limits.', schema: pageOf(limitWire) },
  async handle({ ctx, query }) {
    const page = await listLimits(ctx, toPageRequest(query))
    const wires = await toWire(ctx, page.items)
    return toPage({ ...page, items: wires }, (wire) => wire)
  },
})

const get = operation({
  id: 'getLimit',
  method: 'get',
  path: '/v1/limits/{limitId}',
  tag: 'Limits',
  summary: 'Get a limit',
  access: needs('queues:read'),
  params: limitParams,
  hasEtag: true,
  answer: { status: 200, description: 'The limit.', schema: limitWire },
  handle: async ({ ctx, params }) => answerOf(ctx, await getLimit(ctx, params.limitId)),
})

const usage = operation({
  id: 'getLimitUsage',
  method: 'get',
  path: '/v1/limits/{limitId}/usage',
  tag: 'Limits',
  summary: 'See who holds a limit, who waits for it, and when the next token comes',
  description:
    'With a key, one item for each value that runs have had within a day, in no order that means something; `key` asks for one of them.',
  access: needs('queues:read'),
  params: limitParams,
  query: z.strictObject({
    key: z.string().max(256).optional().meta({ description: 'Only this value of its key.' }),
    ...pageQuery,
  }),
  answer: { status: 200, description: 'A page of values.', schema: pageOf(limitUsageWire) },
  handle: async ({ ctx, params, query }) =>
    toPage(await limitUsage(ctx, params.limitId, { ...toPageRequest(query), key: query.key }), limitUsageToWire),
})

const update = operation({
  id: 'updateLimit',
  method: 'patch',
  path: '/v1/limits/{limitId}',
  tag: 'Limits',
  summary: 'Change what a limit allows',
  description: 'It holds for whatever waits as well. What it holds for, its key and its cost are for good.',
  access: needs('queues:write'),
  params: limitParams,
  body: z
    .strictObject({
      name: limitNameValue.optional(),
      concurrency: settings.concurrency.optional(),
      rate: settings.rate.optional(),
      backlog: settings.backlog.optional(),
    })
    .meta({ id: 'LimitChanges', description: 'What is left out stays; null lifts it.' }),
  example: { concurrency: 5, rate: null },
  isGuarded: true,
  answer: { status: 200, description: 'The limit.', schema: limitWire },
  problems: ['conflict'],
  async handle({ ctx, params, body, header, services }) {
    const { rate, ...rest } = body
    const limit = await naming(
      'lim',
      updateLimit(ctx, params.limitId, {
        ...rest,
        ...(rate === undefined ? {} : { rate: rate && toRate(rate) }),
        expectedVersion: expectedVersion(header('if-match')),
      }),
    )
    await wake(ctx, services)
    return answerOf(ctx, limit)
  },
})

const remove = operation({
  id: 'deleteLimit',
  method: 'delete',
  path: '/v1/limits/{limitId}',
  tag: 'Limits',
  summary: 'Lift a limit',
  description: 'What waited for it alone goes on.',
  access: needs('queues:write'),
  params: limitParams,
  isGuarded: true,
  answer: { status: 204, description: 'It is gone.' },
  async handle({ ctx, params, header, services }) {
    await deleteLimit(ctx, params.limitId, { expectedVersion: expectedVersion(header('if-match')) })
    await wake(ctx, services)
  },
})

const pause = operation({
  id: 'pauseLimit',
  method: 'post',
  path: '/v1/limits/{limitId}/pause',
  tag: 'Limits',
  summary: 'Let nothing through a limit',
  description: 'Runs that mind it wait; those on their way go on.',
  access: needs('queues:write'),
  params: limitParams,
  body: z.strictObject({ reason: pauseReasonValue.nullable().default(null) }).meta({ id: 'PauseLimit' }),
  isBodyOptional: true,
  example: { reason: 'The partner moves its systems.' },
  answer: { status: 200, description: 'The limit.', schema: limitWire },
  handle: async ({ ctx, params, body }) => answerOf(ctx, await pauseLimit(ctx, params.limitId, body.reason)),
})

const resume = operation({
  id: 'resumeLimit',
  method: 'post',
  path: '/v1/limits/{limitId}/resume',
  tag: 'Limits',
  summary: 'Let runs through a limit again',
  access: needs('queues:write'),
  params: limitParams,
  answer: { status: 200, description: 'The limit.', schema: limitWire },
  async handle({ ctx, params, services }) {
    const limit = await resumeLimit(ctx, params.limitId)
    await wake(ctx, services)
    return answerOf(ctx, limit)
  },
})

const pinning = (isPinned: boolean) =>
  operation({
    id: isPinned ? 'pinLimit' : 'unpinLimit',
    method: 'post',
    path: `/v1/limits/{limitId}/${isPinned ? 'pin' : 'unpin'}`,
    tag: 'Limits',
    summary: isPinned ? 'Keep a limit from being changed by its tenant' : 'Let a tenant change a limit again',
    description: 'For operators: no role and no key that a tenant makes can do it.',
    access: needs('limits:pin'),
    params: limitParams,
    answer: { status: 200, description: 'The limit.', schema: limitWire },
    handle: async ({ ctx, params }) => answerOf(ctx, await pinLimit(ctx, params.limitId, isPinned)),
  })

export const limitOperations = [create, list, get, usage, update, remove, pause, resume, pinning(true), pinning(false)]
