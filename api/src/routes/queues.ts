import { withIdempotency } from '@meridian/core/access/idempotency'
import type { Ctx } from '@meridian/core/db/context'
import { queueDepths } from '@meridian/core/flow/depths'
import { concurrencyValue, type Queue, queueNameValue, weightValue } from '@meridian/core/flow/queue'
import {
  createQueue,
  findQueue,
  getQueue,
  listQueues,
  pauseQueue,
  resumeQueue,
  updateQueue,
} from '@meridian/core/flow/queues'
import { queueUsage } from '@meridian/core/flow/usage'
import { pauseReasonValue } from '@meridian/core/job/job'
import { notFound } from '@meridian/core/kernel/errors'
import { z } from 'zod'
import { expectedVersion } from '../http/etag.ts'
import { needs, operation, Reply } from '../http/operation.ts'
import { pageOf, pageQuery, toPage, toPageRequest } from '../wire/page.ts'
import { queueClass, queueDeadLetters, queuePreemptible, queueToWire, queueWire } from '../wire/queue.ts'
import { queueUsageToWire, queueUsageWire } from '../wire/usage.ts'
import { naming } from '../wire/values.ts'

const queueParams = z.object({
  queueName: z
    .string()
    .transform((name) => {
      if (!queueNameValue.safeParse(name).success) throw notFound('queue')
      return name
    })
    .meta({ type: 'string', examples: ['default'] }),
})

async function withDepth(ctx: Ctx, queue: Queue): Promise<Reply<z.output<typeof queueWire>>> {
  // Who may change a queue may not be allowed to look into it.
  const depths = ctx.scopes.has('queues:read') ? await queueDepths(ctx, [queue.id]) : new Map()
  return new Reply(queueToWire(queue, depths.get(queue.id)), { version: queue.version })
}

const create = operation({
  id: 'createQueue',
  method: 'post',
  path: '/v1/queues',
  tag: 'Queues',
  summary: 'Create a queue with limits of its own',
  description: 'Only needed for limits: a queue is made when its name is first used.',
  access: needs('queues:write'),
  body: z
    .strictObject({
      name: queueNameValue,
      concurrency: concurrencyValue.optional(),
      weight: weightValue.optional(),
      class: queueClass.optional(),
      preemptible: queuePreemptible.optional(),
      deadLetters: queueDeadLetters.optional(),
    })
    .meta({ id: 'NewQueue' }),
  example: { name: 'reports', concurrency: 20 },
  isCreate: true,
  answer: { status: 201, description: 'The queue.', schema: queueWire },
  problems: ['conflict', 'quota-exceeded'],
  async handle({ ctx, body, idempotency }) {
    const { answer, replayed } = await withIdempotency(ctx, idempotency, async (tx) => {
      const queue = await naming('que', createQueue(tx, body))
      return { subject: queue.id, answer: queueToWire(queue) }
    })
    return new Reply(answer, {
      version: answer.version,
      ...(replayed ? { headers: { 'idempotency-replayed': 'true' } } : {}),
    })
  },
})

const list = operation({
  id: 'listQueues',
  method: 'get',
  path: '/v1/queues',
  tag: 'Queues',
  summary: 'List queues with how full they are',
  access: needs('queues:read'),
  query: z.strictObject(pageQuery),
  answer: { status: 200, description: 'A page of queues, oldest first.', schema: pageOf(queueWire) },
  async handle({ ctx, query }) {
    const page = await listQueues(ctx, toPageRequest(query))
    const depths = await queueDepths(
      ctx,
      page.items.map(({ id }) => id),
    )
    return toPage(page, (queue) => queueToWire(queue, depths.get(queue.id)))
  },
})

const get = operation({
  id: 'getQueue',
  method: 'get',
  path: '/v1/queues/{queueName}',
  tag: 'Queues',
  summary: 'Get a queue',
  access: needs('queues:read'),
  params: queueParams,
  hasEtag: true,
  answer: { status: 200, description: 'The queue.', schema: queueWire },
  async handle({ ctx, params }) {
    const { id } = await findQueue(ctx, params.queueName)
    return withDepth(ctx, await getQueue(ctx, id))
  },
})

const usage = operation({
  id: 'getQueueUsage',
  method: 'get',
  path: '/v1/queues/{queueName}/usage',
  tag: 'Queues',
  summary: 'See who holds the slots of a queue, and who waits for one',
  description:
    'And the same of the organisation, whose slots its runs take as well. Limits beyond that tell their own.',
  access: needs('queues:read'),
  params: queueParams,
  answer: { status: 200, description: 'Who holds and who waits.', schema: queueUsageWire },
  async handle({ ctx, params }) {
    const { id } = await findQueue(ctx, params.queueName)
    return queueUsageToWire(await queueUsage(ctx, id))
  },
})

const update = operation({
  id: 'updateQueue',
  method: 'patch',
  path: '/v1/queues/{queueName}',
  tag: 'Queues',
  summary: 'Change the limits of a queue',
  access: needs('queues:write'),
  params: queueParams,
  body: z
    .strictObject({
      concurrency: concurrencyValue.optional(),
      weight: weightValue.optional(),
      class: queueClass.optional(),
      preemptible: queuePreemptible.optional(),
      deadLetters: queueDeadLetters.optional(),
    })
    .meta({ id: 'QueueChanges' }),
  example: { concurrency: 50 },
  isGuarded: true,
  answer: { status: 200, description: 'The queue.', schema: queueWire },
  async handle({ ctx, params, body, header, services }) {
    const { id, pool } = await findQueue(ctx, params.queueName)
    const queue = await updateQueue(ctx, id, { ...body, expectedVersion: expectedVersion(header('if-match')) })
    services.wake.forQueue(pool)
    return withDepth(ctx, queue)
  },
})

const pause = operation({
  id: 'pauseQueue',
  method: 'post',
  path: '/v1/queues/{queueName}/pause',
  tag: 'Queues',
  summary: 'Stop a queue from giving out runs',
  description: 'They wait; those on their way go on.',
  access: needs('queues:write'),
  params: queueParams,
  body: z.strictObject({ reason: pauseReasonValue.nullable().default(null) }).meta({ id: 'PauseQueue' }),
  isBodyOptional: true,
  example: { reason: 'The target is being moved.' },
  answer: { status: 200, description: 'The queue.', schema: queueWire },
  async handle({ ctx, params, body }) {
    const { id } = await findQueue(ctx, params.queueName)
    return withDepth(ctx, await pauseQueue(ctx, id, body.reason))
  },
})

const resume = operation({
  id: 'resumeQueue',
  method: 'post',
  path: '/v1/queues/{queueName}/resume',
  tag: 'Queues',
  summary: 'Let a queue give out runs again',
  access: needs('queues:write'),
  params: queueParams,
  answer: { status: 200, description: 'The queue.', schema: queueWire },
  async handle({ ctx, params, services }) {
    const { id, pool } = await findQueue(ctx, params.queueName)
    const queue = await resumeQueue(ctx, id)
    services.wake.forQueue(pool)
    return withDepth(ctx, queue)
  },
})

export const queueOperations = [create, list, get, usage, update, pause, resume]
