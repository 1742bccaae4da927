import { sql } from 'drizzle-orm'
import { audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { type Ctx, type Tx, withTx } from '../db/context.ts'
import { append } from '../event/append.ts'
import type { Uuid } from '../kernel/ids.ts'
import { requireVersion } from '../kernel/version.ts'
import { takeBackPending } from '../run/take-back.ts'
import { type JobRow, lockJob, readJob, toJob } from './internal.ts'
import { afterLastRuns, type Job } from './job.ts'
import { goOn, setSchedule, setState } from './set-state.ts'
import { earlier } from './write-schedule.ts'

/**
 * Puts a job away: its schedule stands still, lists leave it out and it starts nothing, until it is brought back. Its
 * history and its external id stay; runs that have a slot go on. Archiving an archived job changes nothing. Throws
 * `not-found`, `precondition-failed`.
 */
export async function archiveJob(
  ctx: Ctx,
  id: Uuid,
  { expectedVersion }: { expectedVersion?: number | undefined } = {},
): Promise<Job> {
  requireScope(ctx, 'jobs:write')
  return withTx(ctx, async (tx) => {
    const before = await lockJob(tx, id)
    requireVersion('job', before.version, expectedVersion)
    if (before.archivedAt !== null) return toJob(tx, before)
    const nextAt = earlier(await takeBackPending(tx, id), before.nextAt)
    await setState(tx, id, { archivedAt: sql`now()`, pauseUntil: null })
    await setSchedule(tx, id, { paused: true, nextAt })
    await append(tx, { type: 'job.archived', subject: id, jobId: id, data: { name: before.open.name } })
    await audit(tx, 'job.archive', { subject: id })
    return toJob(tx, await readJob(tx, id))
  })
}

/**
 * Brings an archived job back, active or paused as it was; its schedule goes on from now. One whose schedule is over
 * stays until it is archived again by hand or edited. Bringing back one that is not archived changes nothing. Throws
 * `not-found`.
 */
export async function unarchiveJob(ctx: Ctx, id: Uuid): Promise<Job> {
  requireScope(ctx, 'jobs:write')
  return withTx(ctx, async (tx) => toJob(tx, await unarchiveIn(tx, await lockJob(tx, id))))
}

/** The same of a locked job, for whoever has checked the scope. */
export async function unarchiveIn(tx: Tx, before: JobRow): Promise<JobRow> {
  const { id, state, archivedAt, nextAt, open } = before
  if (archivedAt === null) return before
  await setState(tx, id, { archivedAt: null })
  if (nextAt === null) await setSchedule(tx, id, { whenOver: afterLastRuns.indexOf('keep') })
  if (state === 'active') await goOn(tx, before, 'archived')
  await append(tx, { type: 'job.unarchived', subject: id, jobId: id, data: { name: open.name } })
  await audit(tx, 'job.unarchive', { subject: id })
  return readJob(tx, id)
}
