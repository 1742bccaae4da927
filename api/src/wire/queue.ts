import type { QueueDepth } from '@meridian/core/flow/depths'
import { type Queue, queueClassValue } from '@meridian/core/flow/queue'
import { toWireId } from '@meridian/core/kernel/ids'
import { z } from 'zod'
import { actor, instant, toActorOrNull, toInstant, toInstantOrNull, wireId } from './values.ts'

export const queueDeadLetters = z.enum(['keep', 'drop']).meta({
  description:
    'Whether runs that fail or expire are kept until somebody handles them; `drop` holds whatever their jobs say.',
})

export const queueClass = queueClassValue.meta({
  description:
    'Which slots of the executors its runs have a right to: `critical` has some of its own, `bulk` takes what is left.',
})

export const queuePreemptible = z.boolean().meta({
  description:
    'Whether its running runs may be put back to wait when critical ones find no slot; no attempt is spent. Of `bulk` queues only.',
})

const depthWire = z
  .strictObject({
    scheduled: z.int().meta({ description: 'Due later.' }),
    ready: z.int().meta({ description: 'Due, waiting for a slot.' }),
    queued: z.int().meta({ description: 'On their way to an executor.' }),
    running: z.int(),
    isLowerBound: z.boolean().meta({ description: 'Counting stopped: there may be more scheduled or ready ones.' }),
  })
  .meta({ id: 'QueueDepth' })

export const queueWire = z
  .strictObject({
    id: wireId('que'),
    name: z.string(),
    concurrency: z.int().meta({ description: 'The most of its runs that may be on their way at once.' }),
    weight: z.number(),
    class: queueClass,
    preemptible: queuePreemptible,
    deadLetters: queueDeadLetters,
    pausedAt: instant.nullable(),
    pausedBy: actor.nullable(),
    pauseReason: z.string().nullable(),
    depth: depthWire,
    createdAt: instant,
    updatedAt: instant,
    version: z.int(),
  })
  .meta({ id: 'Queue' })

const empty: QueueDepth = { scheduled: 0, ready: 0, queued: 0, running: 0, isLowerBound: false }

export const queueToWire = (queue: Queue, depth: QueueDepth = empty): z.output<typeof queueWire> => ({
  id: toWireId('que', queue.id),
  name: queue.name,
  concurrency: queue.concurrency,
  weight: queue.weight,
  class: queue.class,
  preemptible: queue.preemptible,
  deadLetters: queue.deadLetters,
  pausedAt: toInstantOrNull(queue.pausedAt),
  pausedBy: toActorOrNull(queue.pausedBy),
  pauseReason: queue.pauseReason,
  depth,
  createdAt: toInstant(queue.createdAt),
  updatedAt: toInstant(queue.updatedAt),
  version: queue.version,
})
