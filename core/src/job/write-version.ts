import { isDeepStrictEqual } from 'node:util'
import { and, eq, sql } from 'drizzle-orm'
import { actorText } from '../access/audit.ts'
import type { Tx } from '../db/context.ts'
import { jobs, jobVersions, schedules } from '../db/schema.ts'
import { type QueuePlace, resolveQueue } from '../flow/queues.ts'
import { validationFailed } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { takeBackPending } from '../run/take-back.ts'
import { compileSchedule, nextInstantMs } from '../schedule/occurrences.ts'
import { anchorSchedule, type Schedule } from '../schedule/schedule.ts'
import { nativeZones } from '../schedule/zone.ts'
import { databaseNowMs, type JobRow, readJob } from './internal.ts'
import { catchUpCodes, type JobDefinition, overlapCodes } from './job.ts'
import { toStored } from './sealed-target.ts'

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

interface SchedulePlan {
  row: JobRow | null
  jobId: Uuid
  version: number
  definition: JobDefinition
  queue: QueuePlace
  mayBeOver: boolean
}

async function writeSchedule(tx: Tx, plan: SchedulePlan): Promise<void> {
  const { row, jobId, version, definition, queue } = plan
  const takenBack = row === null || row.spec === null ? null : await takeBackPending(tx, jobId)
  if (definition.schedule === null) {
    if (row !== null && row.spec !== null) await deleteSchedule(tx, jobId)
    return
  }
  const timing = await toTiming(tx, plan, definition.schedule, takenBack)
  const columns = {
    queueId: queue.id,
    pool: queue.pool,
    jobVersion: version,
    spec: timing.spec,
    overlap: overlapCodes[definition.overlap],
    catchUp: catchUpCodes[definition.catchUp],
    priority: definition.priority,
    attemptsMax: definition.retry.limit + 1,
    paused: row?.state === 'paused',
    shadow: row?.shadow ?? false,
    nextAt: timing.nextAt,
    tzVersion: nativeZones.version,
  }
  await tx.db
    .insert(schedules)
    .values({ tenantId: tx.tenantId, jobId, projectId: tx.projectId, ...columns })
    .onConflictDoUpdate({ target: [schedules.tenantId, schedules.jobId], set: { ...columns, updatedAt: sql`now()` } })
}

/**
 * A schedule that stays as it was goes on exactly where it stood, so that an edit in between neither loses an instant
 * nor repeats one. A new one starts now.
 */
async function toTiming(
  tx: Tx,
  { row, mayBeOver }: SchedulePlan,
  schedule: Schedule,
  takenBack: Date | null,
): Promise<{ spec: Schedule; nextAt: Date | null }> {
  const isPaused = row?.state === 'paused'
  if (row !== null && row.spec !== null && isDeepStrictEqual(row.open.schedule, toJson(schedule))) {
    return { spec: row.spec, nextAt: isPaused ? null : earlier(takenBack, row.nextAt) }
  }
  const nowMs = await databaseNowMs(tx)
  const spec = anchorSchedule(schedule, Temporal.Instant.fromEpochMilliseconds(nowMs))
  const first = firstInstant(spec, nowMs)
  if (first === null && !mayBeOver) {
    const pointer = `/schedule/${schedule.type}`
    throw validationFailed([{ pointer, detail: 'It would never run: the last instant has passed.' }])
  }
  return { spec, nextAt: isPaused ? null : first }
}

/** The first instant of a schedule after the given one; null when it is over. */
export function firstInstant(spec: Schedule, afterMs: number): Date | null {
  const next = nextInstantMs(compileSchedule(spec), afterMs)
  return next === null ? null : new Date(next)
}

const earlier = (one: Date | null, other: Date | null): Date | null =>
  one === null || (other !== null && other < one) ? other : one

// What was undefined is absent in the database.
const toJson = (schedule: Schedule): unknown => JSON.parse(JSON.stringify(schedule))

export async function deleteSchedule(tx: Tx, jobId: Uuid): Promise<void> {
  await tx.db.delete(schedules).where(and(eq(schedules.tenantId, tx.tenantId), eq(schedules.jobId, jobId)))
}
