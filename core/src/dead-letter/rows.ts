import { and, eq, gt, inArray, isNull, lt, lte, type SQL, sql } from 'drizzle-orm'
import type { Tx } from '../db/context.ts'
import { deadLetters, jobs, queues } from '../db/schema.ts'
import { notFound } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { type DeadLetter, failuresMax, type LetterFilter, type LetterState } from './dead-letter.ts'

/** The condition of a filter over the project's letters that are in that state; without one, in any. */
export function matchingLetters(tx: Tx, filter: LetterFilter, state: LetterState | undefined): SQL | undefined {
  const { ids, fingerprint, jobId, queue, error, isQuarantined } = filter
  return and(
    eq(deadLetters.tenantId, tx.tenantId),
    eq(deadLetters.projectId, tx.projectId),
    state === 'open' ? isNull(deadLetters.handledAt) : state && eq(deadLetters.handling, state),
    ids && inArray(deadLetters.runId, ids),
    fingerprint ? eq(deadLetters.fingerprint, fingerprint) : undefined,
    jobId ? eq(deadLetters.jobId, jobId) : undefined,
    queue ? inArray(deadLetters.queueId, queueOfName(tx, queue.replaceAll('\0', ''))) : undefined,
    error ? eq(deadLetters.error, error.replaceAll('\0', '')) : undefined,
    isQuarantined === undefined ? undefined : (isQuarantined ? gt : lte)(deadLetters.failures, failuresMax),
  )
}

const queueOfName = (tx: Tx, name: string) =>
  tx.db
    .select({ id: queues.id })
    .from(queues)
    .where(and(eq(queues.tenantId, tx.tenantId), eq(queues.projectId, tx.projectId), eq(queues.name, name)))

export interface LetterPage {
  /** Letters of runs older than this one. */
  before?: Uuid | undefined
  limit: number
}

/** Letters, those of the newest runs first. */
export async function selectLetters(
  tx: Tx,
  where: SQL | undefined,
  { before, limit }: LetterPage,
): Promise<DeadLetter[]> {
  const rows = await tx.db
    .select({ letter: deadLetters, jobName: jobs.name, queueName: sql<string>`coalesce(${queues.name}, '')` })
    .from(deadLetters)
    .leftJoin(jobs, and(eq(jobs.tenantId, deadLetters.tenantId), eq(jobs.id, deadLetters.jobId)))
    .leftJoin(queues, and(eq(queues.tenantId, deadLetters.tenantId), eq(queues.id, deadLetters.queueId)))
    .where(and(where, before === undefined ? undefined : lt(deadLetters.runId, before)))
    .orderBy(sql`${deadLetters.runId} desc`)
    .limit(limit)
  return rows.map(({ letter, jobName, queueName }): DeadLetter => {
    const { runId, jobId, error, httpStatus, fingerprint, failures, firstFailedAt, failedAt } = letter
    const { handling, handledAt, handledBy, redrivenAs } = letter
    return {
      ...{ runId, jobId, jobName, queueName, error, httpStatus, fingerprint, failures, firstFailedAt, failedAt },
      status: letter.state === 7 ? 'expired' : 'failed',
      isQuarantined: failures > failuresMax,
      state: handling ?? 'open',
      ...{ handledAt, handledBy, redrivenAs },
    }
  })
}

/** The letter of a run. Throws `not-found`. */
export async function readLetter(tx: Tx, runId: Uuid): Promise<DeadLetter> {
  const [letter] = await selectLetters(tx, matchingLetters(tx, { ids: [runId] }, undefined), { limit: 1 })
  if (letter === undefined) throw notFound('dead letter')
  return letter
}

/** The same, locked for this transaction. */
export async function lockLetter(tx: Tx, runId: Uuid): Promise<DeadLetter> {
  await tx.db
    .select({ runId: deadLetters.runId })
    .from(deadLetters)
    .where(matchingLetters(tx, { ids: [runId] }, undefined))
    .for('update')
  return readLetter(tx, runId)
}
