import { and, eq, sql } from 'drizzle-orm'
import { audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { type Ctx, withTx } from '../db/context.ts'
import { jobs } from '../db/schema.ts'
import { append } from '../event/append.ts'
import type { Uuid } from '../kernel/ids.ts'
import { requireVersion } from '../kernel/version.ts'
import { lockJob } from './internal.ts'
import { endSchedule } from './write-schedule.ts'

/**
 * Ends a job: its schedule is gone, its external id is free, and no verb finds it any more. Its versions stay, since
 * its runs refer to them; runs that have a slot go on, and what was due without one is skipped. Throws `not-found`, `precondition-failed`.
 */
export async function deleteJob(
  ctx: Ctx,
  id: Uuid,
  { expectedVersion }: { expectedVersion?: number | undefined } = {},
): Promise<void> {
  requireScope(ctx, 'jobs:write')
  await withTx(ctx, async (tx) => {
    const before = await lockJob(tx, id)
    requireVersion('job', before.version, expectedVersion)
    await endSchedule(tx, id)
    await tx.db
      .update(jobs)
      .set({
        state: 'deleted',
        externalId: null,
        pausedAt: null,
        pausedBy: null,
        pauseReason: null,
        pauseUntil: null,
        archivedAt: null,
        updatedAt: sql`now()`,
      })
      .where(and(eq(jobs.tenantId, tx.tenantId), eq(jobs.id, id)))
    const { name, externalId } = before.open
    await append(tx, { type: 'job.deleted', subject: id, jobId: id, data: { name } })
    await audit(tx, 'job.delete', { subject: id, data: { name, externalId } })
  })
}
