import { and, eq, sql } from 'drizzle-orm'
import { actorText, audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { type Ctx, type Tx, withTx } from '../db/context.ts'
import { jobs, schedules } from '../db/schema.ts'
import { append } from '../event/append.ts'
import type { Uuid } from '../kernel/ids.ts'
import { takeBackPending } from '../run/take-back.ts'
import { databaseNowMs, type JobRow, lockJob, readJob, toJob } from './internal.ts'
import type { Job } from './job.ts'
import { earlier, firstInstant, leaveRest } from './write-schedule.ts'

/**
 * Stops a job's schedule; runs that have a slot go on, and it can be run by hand. Pausing a paused job changes
 * nothing, not even the reason. Throws `not-found`.
 */
export async function pauseJob(ctx: Ctx, id: Uuid, reason: string | null): Promise<Job> {
  requireScope(ctx, 'jobs:write')
  const row = await withTx(ctx, async (tx) => {
    const before = await lockJob(tx, id)
    if (before.state === 'paused') return before
    const nextAt = earlier(await takeBackPending(tx, id), before.nextAt)
    await setState(tx, id, {
      state: 'paused',
      pausedAt: sql`now()`,
      pausedBy: actorText(tx.actor),
      pauseReason: reason,
    })
    await setSchedule(tx, id, { paused: true, nextAt })
    await append(tx, { type: 'job.paused', subject: id, jobId: id, data: { name: before.open.name, reason } })
    await audit(tx, 'job.pause', { subject: id, data: { reason } })
    return readJob(tx, id)
  })
  return toJob(ctx, row)
}

/**
 * Lets a job's schedule go on, at its first instant from now: what it missed while it was paused is not made up for,
 * and told as skipped.
 * Resuming one that is not paused changes nothing. Throws `not-found`.
 */
export async function resumeJob(ctx: Ctx, id: Uuid): Promise<Job> {
  requireScope(ctx, 'jobs:write')
  const row = await withTx(ctx, async (tx) => {
    const before = await lockJob(tx, id)
    if (before.state === 'active') return before
    await setState(tx, id, { state: 'active', pausedAt: null, pausedBy: null, pauseReason: null })
    const now = new Date(await databaseNowMs(tx))
    await leaveRest(tx, id, now, 'paused')
    await setSchedule(tx, id, { paused: false, nextAt: goesOnAt(before, now) })
    await append(tx, { type: 'job.resumed', subject: id, jobId: id, data: { name: before.open.name } })
    await audit(tx, 'job.resume', { subject: id })
    return readJob(tx, id)
  })
  return toJob(ctx, row)
}

/** Its first instant from now on that is not decided yet; null when it is over. */
function goesOnAt({ id, spec, nextAt, runsLeft }: JobRow, now: Date): Date | null {
  if (spec === null || runsLeft === 0) return null
  return nextAt !== null && nextAt > now ? nextAt : firstInstant(spec, id, now.getTime())
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
