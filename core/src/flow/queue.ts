import { and, eq, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Tx } from '../db/context.ts'
import { limits, queues } from '../db/schema.ts'
import { notFound } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { type QueueClass, queueClasses } from './classes.ts'

/** Where runs wait, and how many of them may be on their way at once. */
export interface Queue {
  id: Uuid
  projectId: Uuid
  name: string
  /** The most of its runs that may be queued or running at once. */
  concurrency: number
  weight: number
  /** Which of a pool's slots its runs have a right to. */
  class: QueueClass
  /** Whether its running runs may be put back for critical ones; of bulk queues only. */
  preemptible: boolean
  /** Whether runs that fail or expire are kept as dead letters; `drop` holds whatever their jobs say. */
  deadLetters: 'keep' | 'drop'
  pausedAt: Date | null
  /** As the audit trail writes actors: `key:<uuid>`, `user:<uuid>` or `system`. */
  pausedBy: string | null
  pauseReason: string | null
  createdAt: Date
  updatedAt: Date
  /** Raised by every change; what `expectedVersion` is held against. */
  version: number
}

export const queueNamePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
export const queueNameValue = z
  .string()
  .regex(queueNamePattern, 'must be 1 to 64 letters, digits, dots, underscores or dashes')
export const concurrencyValue = z.int().min(1).max(100_000)
export const weightValue = z.number().min(0.01).max(1_000)
export const queueClassValue = z.enum(queueClasses)

/** The name of the queue that a run without one goes to. */
export const defaultQueue = 'default'

export const queueColumns = {
  id: queues.id,
  projectId: queues.projectId,
  name: queues.name,
  concurrency: limits.concurrency,
  weight: limits.weight,
  class: sql<QueueClass>`(array['critical', 'standard', 'bulk'])[${limits.class} + 1]`,
  preemptible: limits.preemptible,
  deadLetters: queues.deadLetters,
  pausedAt: queues.pausedAt,
  pausedBy: queues.pausedBy,
  pauseReason: queues.pauseReason,
  createdAt: queues.createdAt,
  updatedAt: queues.updatedAt,
  version: queues.version,
}

/** How a queue's row finds the one that admission reads. */
export const limitsOfQueue = and(eq(limits.tenantId, queues.tenantId), eq(limits.queueId, queues.id))

/** The queue of the caller's project, locked against other editors. Throws `not-found`. */
export async function lockQueue(tx: Tx, id: Uuid): Promise<Queue> {
  const [queue] = await tx.db
    .select(queueColumns)
    .from(queues)
    .innerJoin(limits, limitsOfQueue)
    .where(and(eq(queues.tenantId, tx.tenantId), eq(queues.projectId, tx.projectId), eq(queues.id, id)))
    .for('update', { of: queues })
  if (queue === undefined) throw notFound('queue')
  return queue
}
