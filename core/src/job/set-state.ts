import { and, eq, sql } from 'drizzle-orm'
import { actorText, audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { type Ctx, type Tx, withTx } from '../db/context.ts'
import { jobs, schedules } from '../db/schema.ts'
import { append } from '../event/append.ts'
import type { Uuid } from '../kernel/ids.ts'
import { takeBackPending } from '../run/take-back.ts'
import { databaseNowMs, lockJob, readJob, toJob } from './internal.ts'
import type { Job } from './job.ts'
import { firstInstant } from './write-version.ts'

/**
 * Stops a job's schedule; runs that are due already go on, and it can be run by hand. Pausing a paused job changes
 * nothing, not even the reason. Throws `not-found`.
 */
export async function pauseJob(ctx: Ctx, id: Uuid, reason: string | null): Promise<Job> {
  requireScope(ctx, 'jobs:write')
  const row = await withTx(ctx, async (tx) => {
    const before = await lockJob(tx, id)
    if (before.state === 'paused') return before
    await takeBackPending(tx, id)
    await setState(tx, id, {
      state: 'paused',
      pausedAt: sql`now()`,
      pausedBy: actorText(tx.actor),
      pauseReason: reason,
    })
    await setSchedule(tx, id, { paused: true, nextAt: null })
    await append(tx, { type: 'job.paused', subject: id, jobId: id, data: { name: before.open.name, reason } })
    await audit(tx, 'job.pause', { subject: id, data: { reason } })
    return readJob(tx, id)
  })
  return toJob(ctx, row)
}

/**
 * Lets a job's schedule go on, at its first instant from now: what it missed while it was paused is not made up for.
 * Resuming one that is not paused changes nothing. Throws `not-found`.
 */
export async function resumeJob(ctx: Ctx, id: Uuid): Promise<Job> {
  requireScope(ctx, 'jobs:write')
  const row = await withTx(ctx, async (tx) => {
    const before = await lockJob(tx, id)
    if (before.state === 'active') return before
    await setState(tx, id, { state: 'active', pausedAt: null, pausedBy: null, pauseReason: null })
    const nextAt = before.spec === null ? null : firstInstant(before.spec, await databaseNowMs(tx))
    await setSchedule(tx, id, { paused: false, nextAt })
    await append(tx, { type: 'job.resumed', subject: id, jobId: id, data: { name: before.open.name } })
    await audit(tx, 'job.resume', { subject: id })
    return readJob(tx, id)
  })
  return toJob(ctx, row)
}

type StateChange = Parameters<ReturnType<typeof updateOf>['set']>[0]
const updateOf = (tx: Tx) => tx.db.update(jobs)

const setState = (tx: Tx, id: Uuid, change: StateChange) =>
  updateOf(tx)
    .set({ ...change, updatedAt: sql`now()` })
    .where(and(eq(jobs.tenantId, tx.tenantId), eq(jobs.id, id)))

const setSchedule = (tx: Tx, id: Uuid, change: { paused: boolean; nextAt: Date | null }) =>
  tx.db
    .update(schedules)
    .set({ ...change, updatedAt: sql`now()` })
    .where(and(eq(schedules.tenantId, tx.tenantId), eq(schedules.jobId, id)))
