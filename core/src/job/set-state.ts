import { and, eq, sql } from 'drizzle-orm'
import { actorText, audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { type Ctx, type Tx, withTx } from '../db/context.ts'
import { jobs, schedules } from '../db/schema.ts'
import { append } from '../event/append.ts'
import { validationFailed } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { RestReason } from '../run/rests.ts'
import { takeBackPending } from '../run/take-back.ts'
import { databaseNowMs, type JobRow, lockOpenJob, readJob, toJob } from './internal.ts'
import type { Job } from './job.ts'
import { earlier, firstInstant, leaveRest } from './write-schedule.ts'

/** Why a job is paused, and until when: null, until somebody resumes it. */
export interface Pause {
  reason: string | null
  until?: Date | null
}

/**
 * Stops a job's schedule; runs that have a slot go on, and it can be run by hand. Pausing a paused job changes
 * nothing, not even the reason. Throws `not-found`, and `validation-failed` for an `until` that has passed.
 */
export async function pauseJob(ctx: Ctx, id: Uuid, reason: string | null, until: Date | null = null): Promise<Job> {
  requireScope(ctx, 'jobs:write')
  return toJob(ctx, await withTx(ctx, (tx) => pauseIn(tx, id, { reason, until })))
}

/** The same in a transaction, for whoever has checked the scope. */
export async function pauseIn(tx: Tx, id: Uuid, { reason, until = null }: Pause): Promise<JobRow> {
  const before = await lockOpenJob(tx, id)
  if (before.state === 'paused') return before
  if (until !== null && until.getTime() <= (await databaseNowMs(tx)))
    throw validationFailed([{ pointer: '/until', detail: 'It has passed.' }])
  const nextAt = earlier(await takeBackPending(tx, id), before.nextAt)
  await setState(tx, id, {
    state: 'paused',
    pausedAt: sql`now()`,
    pausedBy: actorText(tx.actor),
    pauseReason: reason,
    pauseUntil: until,
  })
  await setSchedule(tx, id, { paused: true, nextAt })
  const data = { reason, ...(until === null ? {} : { until: until.toISOString() }) }
  await append(tx, { type: 'job.paused', subject: id, jobId: id, data: { name: before.open.name, ...data } })
  await audit(tx, 'job.pause', { subject: id, data })
  return readJob(tx, id)
}

/**
 * Lets a job's schedule go on, at its first instant from now: what it missed while it was paused is not made up for,
 * and told as skipped. Resuming one that is not paused changes nothing. Throws `not-found`.
 */
export async function resumeJob(ctx: Ctx, id: Uuid): Promise<Job> {
  requireScope(ctx, 'jobs:write')
  return toJob(ctx, await withTx(ctx, (tx) => resumeIn(tx, id)))
}

/** The same in a transaction, for whoever has checked the scope. */
export async function resumeIn(tx: Tx, id: Uuid): Promise<JobRow> {
  const before = await lockOpenJob(tx, id)
  if (before.state === 'active') return before
  await setState(tx, id, { state: 'active', pausedAt: null, pausedBy: null, pauseReason: null, pauseUntil: null })
  await goOn(tx, before, 'paused')
  await append(tx, { type: 'job.resumed', subject: id, jobId: id, data: { name: before.open.name } })
  await audit(tx, 'job.resume', { subject: id })
  return readJob(tx, id)
}

/** Lets a schedule that stood still go on from now; what fell into that is told as skipped, with the reason. */
export async function goOn(tx: Tx, before: JobRow, reason: RestReason): Promise<void> {
  const now = new Date(await databaseNowMs(tx))
  await leaveRest(tx, before.id, now, reason)
  await setSchedule(tx, before.id, { paused: false, nextAt: goesOnAt(before, now) })
}

/** Its first instant from now on that is not decided yet; null when it is over. */
function goesOnAt({ id, spec, nextAt, runsLeft }: JobRow, now: Date): Date | null {
  if (spec === null || runsLeft === 0) return null
  return nextAt !== null && nextAt > now ? nextAt : firstInstant(spec, id, now.getTime())
}

type StateChange = Parameters<ReturnType<typeof updateOf>['set']>[0]
const updateOf = (tx: Tx) => tx.db.update(jobs)

export const setState = (tx: Tx, id: Uuid, change: StateChange) =>
  updateOf(tx)
    .set({ ...change, updatedAt: sql`now()` })
    .where(and(eq(jobs.tenantId, tx.tenantId), eq(jobs.id, id)))

type ScheduleChange = { paused?: boolean; nextAt?: Date | null; whenOver?: number }

export const setSchedule = (tx: Tx, id: Uuid, change: ScheduleChange) =>
  tx.db
    .update(schedules)
    .set({ ...change, updatedAt: sql`now()` })
    .where(and(eq(schedules.tenantId, tx.tenantId), eq(schedules.jobId, id)))
