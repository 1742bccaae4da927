import { and, eq, sql } from 'drizzle-orm'
import { actorText } from '../access/audit.ts'
import type { Tx } from '../db/context.ts'
import { jobs, jobVersions } from '../db/schema.ts'
import { resolveQueue } from '../flow/queues.ts'
import type { Uuid } from '../kernel/ids.ts'
import { type JobRow, readJob } from './internal.ts'
import type { JobDefinition } from './job.ts'
import { toStored } from './sealed-target.ts'
import { writeSchedule } from './write-schedule.ts'

export interface NewVersion {
  /** The locked job, or the id of one to be made. */
  before: JobRow | { id: Uuid }
  definition: JobDefinition
  /** The version this one copies. Its schedule may be over: it comes back as it was. */
  restoredFrom?: number
}

const isRow = (before: NewVersion['before']): before is JobRow => 'version' in before

/**
 * Writes a definition as the next version of a job: the job's row, the version with its sealed target, and the
 * schedule. The one writer of all three. Call `keyRing.load` before the transaction.
 */
export async function writeVersion(tx: Tx, { before, definition, restoredFrom }: NewVersion): Promise<JobRow> {
  const { open, request } = toStored(definition)
  const row = isRow(before) ? before : null
  const version = (row?.version ?? 0) + 1
  const queue = await resolveQueue(tx, definition.queue)
  const { name, description, externalId } = definition
  const columns = { name, description, externalId, tags: open.tags, version, queueId: queue.id }
  if (row === null) {
    await tx.db.insert(jobs).values({ tenantId: tx.tenantId, id: before.id, projectId: tx.projectId, ...columns })
  } else {
    await tx.db
      .update(jobs)
      .set({ ...columns, updatedAt: sql`now()` })
      .where(and(eq(jobs.tenantId, tx.tenantId), eq(jobs.id, row.id)))
  }
  await tx.db.insert(jobVersions).values({
    tenantId: tx.tenantId,
    jobId: before.id,
    version,
    definition: open,
    target: await tx.keyRing.seal(tx.tenantId, before.id, request),
    restoredFrom: restoredFrom ?? null,
    createdBy: actorText(tx.actor),
  })
  await writeSchedule(tx, { row, jobId: before.id, version, definition, queue, mayBeOver: restoredFrom !== undefined })
  return readJob(tx, before.id)
}
