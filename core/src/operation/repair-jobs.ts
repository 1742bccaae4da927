import { and, asc, eq, exists, inArray, isNull, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Tx } from '../db/context.ts'
import { alarms, jobs, schedules } from '../db/schema.ts'
import { jobFilterValue, matchingJobs } from '../job/filter.ts'
import { scheduleAlarmKinds } from '../watch/alarm.ts'
import { repairSchedule } from '../watch/repair.ts'
import { type OperationKind, ofThings } from './kind.ts'

export const repairFields = {
  filter: jobFilterValue,
  onlyStuck: z
    .boolean()
    .default(false)
    .meta({ description: 'Only those whose schedule the watchdog has found to stand still or to have gone astray.' }),
}
const plan = z.strictObject(repairFields)

const scheduleOf = and(eq(schedules.tenantId, jobs.tenantId), eq(schedules.jobId, jobs.id), eq(schedules.paused, false))

const openAlarm = (tx: Tx) =>
  exists(
    tx.db
      .select({ one: sql`1` })
      .from(alarms)
      .where(
        and(
          eq(alarms.tenantId, jobs.tenantId),
          inArray(alarms.kind, scheduleAlarmKinds),
          eq(alarms.subject, jobs.id),
          isNull(alarms.clearedAt),
        ),
      ),
  )

/** Sets schedules to where their ledgers say that they stand. One that stands right is left as it is. */
export const repairJobs: OperationKind<z.output<typeof plan>> = {
  scope: 'jobs:write',
  things: 'jobs',
  plan,
  select: (tx, { filter, onlyStuck }, limit) =>
    tx.db
      .select({ id: jobs.id, name: jobs.name })
      .from(jobs)
      .innerJoin(schedules, scheduleOf)
      .where(and(matchingJobs(tx, filter), onlyStuck ? openAlarm(tx) : undefined))
      .orderBy(asc(jobs.id))
      .limit(limit),
  apply: ofThings(async (tx, _plan, { id }) => {
    const { isRepaired } = await repairSchedule(tx, id)
    return isRepaired ? { state: 'done' } : { state: 'unchanged', detail: 'Its schedule stands right.' }
  }),
}
