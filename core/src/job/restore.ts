import { audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { holdCalendars } from '../calendar/resolve.ts'
import { type Ctx, withTx } from '../db/context.ts'
import { append } from '../event/append.ts'
import type { Uuid } from '../kernel/ids.ts'
import { requireVersion } from '../kernel/version.ts'
import { definitionOf, lockOpenJob, readJob, toJob } from './internal.ts'
import type { Job } from './job.ts'
import { fromStored } from './sealed-target.ts'
import { readVersion } from './versions.ts'
import { writeVersion } from './write-version.ts'

/**
 * Makes an earlier version the current one again, as a new version. Its external id is not part of that: a job keeps
 * the one it has. Throws `not-found` for the job or the version, `precondition-failed`, and `invalid-transition` for an archived one.
 */
export async function restoreJob(
  ctx: Ctx,
  id: Uuid,
  { version, expectedVersion }: { version: number; expectedVersion?: number | undefined },
): Promise<Job> {
  requireScope(ctx, 'jobs:write')
  await ctx.keyRing.load(ctx.tenantId)
  return withTx(ctx, async (tx) => {
    await readJob(tx, id)
    const old = await readVersion(tx, id, version)
    if (old.open.schedule !== null) await holdCalendars(tx, old.open.schedule)
    const before = await lockOpenJob(tx, id)
    requireVersion('job', before.version, expectedVersion)
    const request = await tx.keyRing.open(tx.tenantId, id, old.sealed)
    const { externalId } = await definitionOf(tx, before)
    const definition = { ...fromStored({ open: old.open, request }), externalId }
    const after = await writeVersion(tx, { before, definition, restoredFrom: version })
    const data = { name: definition.name, version: after.version, restoredFrom: version }
    await append(tx, { type: 'job.updated', subject: id, jobId: id, data })
    await audit(tx, 'job.restore', { subject: id, data })
    return toJob(tx, after)
  })
}
