import { isDeepStrictEqual } from 'node:util'
import { and, eq, sql } from 'drizzle-orm'
import { coversOf, holdCalendars } from '../calendar/resolve.ts'
import { virtualPool, virtualShard } from '../clock/virtual.ts'
import { runNamed } from '../db/client.ts'
import type { Tx } from '../db/context.ts'
import { schedules } from '../db/schema.ts'
import type { QueuePlace } from '../flow/queues.ts'
import { durationMs } from '../kernel/duration.ts'
import { validationFailed } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { catchUpCodes } from '../run/decide-instants.ts'
import { overlapCodes } from '../run/overlap.ts'
import { type RestReason, restColumns, restOf } from '../run/rests.ts'
import { settlePending, takeBackPending } from '../run/take-back.ts'
import { compileTimes } from '../schedule/compile.ts'
import { leadMsOf } from '../schedule/decide.ts'
import type { FullSchedule } from '../schedule/full-schedule.ts'
import { anchorSchedule } from '../schedule/schedule.ts'
import { nativeZones } from '../schedule/zone.ts'
import { databaseNowMs, type JobRow } from './internal.ts'
import { afterLastRuns, type JobDefinition } from './job.ts'

export interface SchedulePlan {
  row: JobRow | null
  jobId: Uuid
  version: number
  definition: JobDefinition
  queue: QueuePlace
  mayBeOver: boolean
}

/** Makes a job's schedule what its new version says. What was due before is decided as the old version said. */
export async function writeSchedule(tx: Tx, plan: SchedulePlan): Promise<void> {
  const { row, jobId, version, definition, queue } = plan
  if (definition.schedule === null) {
    if (row !== null && row.spec !== null) await endSchedule(tx, jobId)
    return
  }
  const timing = await toTiming(tx, plan, definition.schedule)
  const columns = {
    queueId: queue.id,
    pool: queue.pool,
    ...(queue.pool === virtualPool ? { shardId: virtualShard } : {}),
    jobVersion: version,
    overlap: overlapCodes[definition.overlap],
    catchUp: catchUpCodes[definition.catchUp],
    catchUpMax: definition.catchUpMax,
    catchUpWindowMs: definition.catchUpWindow === null ? null : durationMs(definition.catchUpWindow),
    pauseAfter: definition.pauseAfterFailures,
    whenOver: afterLastRuns.indexOf(definition.afterLastRun),
    priority: definition.priority,
    attemptsMax: definition.retry.limit + 1,
    startWithinMs: durationMs(definition.startWithin ?? ''),
    endWithinMs: durationMs(definition.endWithin ?? ''),
    paused: row?.state === 'paused',
    shadow: row?.shadow ?? false,
    tzVersion: nativeZones.version,
    ...timing,
  }
  await tx.db
    .insert(schedules)
    .values({ tenantId: tx.tenantId, jobId, projectId: tx.projectId, ...columns })
    .onConflictDoUpdate({ target: [schedules.tenantId, schedules.jobId], set: { ...columns, updatedAt: sql`now()` } })
}

interface Timing {
  spec: FullSchedule
  leadMs: number
  nextAt: Date | null
  runsLeft?: number | null
  revisits?: boolean
}

/**
 * A schedule that stays as it was goes on exactly where it stood, so that an edit in between neither loses an instant
 * nor repeats one. A new one starts now.
 */
async function toTiming(tx: Tx, { row, jobId, mayBeOver }: SchedulePlan, schedule: FullSchedule): Promise<Timing> {
  const leadMs = leadMsOf(schedule)
  if (row !== null && row.spec !== null && isDeepStrictEqual(row.open.schedule, toJson(schedule))) {
    const takenBack = await takeBackPending(tx, jobId, { keepsWaiting: true })
    return { spec: row.spec, leadMs, nextAt: earlier(takenBack, row.nextAt) }
  }
  const nowMs = await databaseNowMs(tx)
  await holdCalendars(tx, schedule)
  await coversOf(tx, schedule, { sinceMs: nowMs })
  const spec = anchorSchedule(schedule, Temporal.Instant.fromEpochMilliseconds(nowMs))
  if (row !== null && row.spec !== null) await closeSchedule(tx, row, { nowMs, next: spec })
  const first = firstInstant(spec, jobId, nowMs)
  if (first === null && !mayBeOver) {
    const pointer = `/schedule/${schedule.type}`
    throw validationFailed([{ pointer, detail: 'It would never run: the last instant has passed.' }])
  }
  const runsLeft = ('maxRuns' in schedule ? schedule.maxRuns : undefined) ?? null
  return { spec, leadMs, nextAt: first, runsLeft, revisits: row !== null }
}

/**
 * The schedule gives way to another one: from now on nothing is its own any more but what a person edited, where the
 * next one has the same instant.
 */
async function closeSchedule(
  tx: Tx,
  { id, state }: JobRow,
  { nowMs, next }: { nowMs: number; next: FullSchedule },
): Promise<void> {
  const until = new Date(nowMs)
  await leaveRest(tx, id, until, state === 'paused' ? 'paused' : null)
  await takeBackPending(tx, id, { after: until })
  const edited = await runNamed<[Date]>(
    tx.client,
    'edited_occurrences',
    'select nominal_at from occurrences where tenant_id = $1 and job_id = $2 and nominal_at > $3 and edited_by is not null',
    [tx.tenantId, id, until],
  )
  const times = compileTimes(next, nativeZones, id)
  const kept = edited.map(([at]) => at).filter((at) => times.next(at.getTime() - 1)?.at === at.getTime())
  await runNamed(
    tx.client,
    'drop_future_occurrences',
    `delete from occurrences where tenant_id = $1 and job_id = $2 and nominal_at > $3 and run_id is null and nominal_at <> all($4::timestamptz[])`,
    [tx.tenantId, id, until, kept],
  )
}

/**
 * Leaves what a locked schedule has not decided up to an instant to the scheduler, with the rules that it has until
 * now; with a reason, none of it runs.
 */
export async function leaveRest(tx: Tx, jobId: Uuid, until: Date, reason: RestReason | null): Promise<void> {
  await runNamed(
    tx.client,
    'leave_rest',
    `insert into schedule_rests (${restColumns})
     select ${restOf('s', {
       from: 's.next_at',
       until: '$3',
       runsLeft: 'case when $4::text is null then s.runs_left end',
       reason: "coalesce($4, case when s.shadow then 'shadow' end)",
     })}
     from schedules s where s.tenant_id = $1 and s.job_id = $2 and s.next_at <= $3
     on conflict (tenant_id, job_id, until_at) do nothing`,
    [tx.tenantId, jobId, until, reason],
  )
}

/** Ends a job's schedule: what was due and has no slot yet is skipped, and nothing comes after it. */
export async function endSchedule(tx: Tx, jobId: Uuid): Promise<void> {
  const now = new Date(await databaseNowMs(tx))
  await leaveRest(tx, jobId, now, 'removed')
  await settlePending(tx, jobId, { reason: 'removed', now })
  await tx.db.delete(schedules).where(and(eq(schedules.tenantId, tx.tenantId), eq(schedules.jobId, jobId)))
}

/** The first instant of a schedule after the given one; null when it is over. */
export function firstInstant(spec: FullSchedule, jobId: Uuid, afterMs: number): Date | null {
  const next = compileTimes(spec, nativeZones, jobId).next(afterMs)
  return next === undefined ? null : new Date(next.at)
}

/** The earlier of two instants, where null is none. */
export const earlier = (one: Date | null, other: Date | null): Date | null =>
  one === null || (other !== null && other < one) ? other : one

// What was undefined is absent in the database.
const toJson = (schedule: FullSchedule): unknown => JSON.parse(JSON.stringify(schedule))
