import { isDeepStrictEqual } from 'node:util'
import { and, eq, ne, sql } from 'drizzle-orm'
import { runNamed } from '../db/client.ts'
import type { Ctx, Tx } from '../db/context.ts'
import { jobs, jobVersions, schedules } from '../db/schema.ts'
import { AppError, notFound } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { FullSchedule } from '../schedule/full-schedule.ts'
import type { Job, JobDefinition, JobState, JobSummary } from './job.ts'
import { fromStored, openOf, type StoredDefinition, seeTarget } from './sealed-target.ts'

/** A job as the database holds it. */
export interface JobRow {
  id: Uuid
  projectId: Uuid
  version: number
  state: 'active' | 'paused' | 'deleted'
  pausedAt: Date | null
  pausedBy: string | null
  pauseReason: string | null
  pauseUntil: Date | null
  archivedAt: Date | null
  shadow: boolean
  queueId: Uuid
  createdAt: Date
  updatedAt: Date
  open: StoredDefinition['open']
  sealed: Buffer
  /** The schedule with its anchor; null when it has none. */
  spec: FullSchedule | null
  /** The first instant that is not decided, also while it is paused. */
  nextAt: Date | null
  /** Runs that are left of those its schedule may have; null: no end. */
  runsLeft: number | null
}

const statusColumns = {
  id: jobs.id,
  projectId: jobs.projectId,
  version: jobs.version,
  state: jobs.state,
  pausedAt: jobs.pausedAt,
  pausedBy: jobs.pausedBy,
  pauseReason: jobs.pauseReason,
  pauseUntil: jobs.pauseUntil,
  archivedAt: jobs.archivedAt,
  shadow: jobs.shadow,
  queueId: jobs.queueId,
  createdAt: jobs.createdAt,
  updatedAt: jobs.updatedAt,
  open: sql<StoredDefinition['open']>`${jobVersions.definition}`,
  spec: sql<FullSchedule | null>`${schedules.spec}`,
  nextAt: schedules.nextAt,
  runsLeft: schedules.runsLeft,
}

const ofVersion = and(
  eq(jobVersions.tenantId, jobs.tenantId),
  eq(jobVersions.jobId, jobs.id),
  eq(jobVersions.version, jobs.version),
)
const ofSchedule = and(eq(schedules.tenantId, jobs.tenantId), eq(schedules.jobId, jobs.id))

/** The jobs a caller can see: of their project, not deleted. */
export const visibleJobs = (ctx: Ctx) =>
  and(eq(jobs.tenantId, ctx.tenantId), eq(jobs.projectId, ctx.projectId), ne(jobs.state, 'deleted'))

/** Jobs with their definitions, without their targets, which may be large. */
export const selectJobs = (tx: Tx) =>
  tx.db.select(statusColumns).from(jobs).innerJoin(jobVersions, ofVersion).leftJoin(schedules, ofSchedule).$dynamic()

/** One job. Throws `not-found`, for a deleted one and for another project's too. */
export async function readJob(tx: Tx, id: Uuid): Promise<JobRow> {
  const [row] = await tx.db
    .select({ ...statusColumns, sealed: jobVersions.target })
    .from(jobs)
    .innerJoin(jobVersions, ofVersion)
    .leftJoin(schedules, ofSchedule)
    .where(and(visibleJobs(tx), eq(jobs.id, id)))
  if (row === undefined) throw notFound('job')
  return row
}

/**
 * The same, locked against other editors and against the scheduler: what it is writing ahead at this moment is there
 * to be taken back once this returns.
 */
export async function lockJob(tx: Tx, id: Uuid): Promise<JobRow> {
  await tx.client.query('select from jobs where tenant_id = $1 and id = $2 for update', [tx.tenantId, id])
  await tx.client.query('select from schedules where tenant_id = $1 and job_id = $2 for update', [tx.tenantId, id])
  return readJob(tx, id)
}

/** The same, for what an archived job does not do. Throws `invalid-transition`. */
export async function lockOpenJob(tx: Tx, id: Uuid): Promise<JobRow> {
  const row = await lockJob(tx, id)
  if (row.archivedAt !== null) throw archived()
  return row
}

export const archived = (): AppError =>
  new AppError('invalid-transition', 'The job is archived. Bring it back first.', { current: { state: 'archived' } })

/**
 * Makes whoever uses this external id in the project wait in line. Taken before the lock of a job, always, so that two
 * editors can't wait for each other.
 */
export async function lockExternalId(tx: Tx, externalId: string): Promise<void> {
  await tx.client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `${tx.tenantId}${tx.projectId}${externalId}`,
  ])
}

/** The project's job of that external id. */
export async function findByExternalId(tx: Tx, externalId: string): Promise<Uuid | undefined> {
  const [row] = await tx.db
    .select({ id: jobs.id })
    .from(jobs)
    .where(and(visibleJobs(tx), eq(jobs.externalId, externalId)))
  return row?.id
}

/** What the row was defined as. */
export const definitionOf = async (tx: Tx, { id, open, sealed }: JobRow): Promise<JobDefinition> =>
  fromStored({ open, request: await tx.keyRing.open(tx.tenantId, id, sealed) })

/** The fields in which two definitions differ. */
export const changedFields = (before: JobDefinition, after: JobDefinition): (keyof JobDefinition)[] =>
  (Object.keys(after) as (keyof JobDefinition)[]).filter((field) => !isDeepStrictEqual(before[field], after[field]))

/**
 * The database's clock in epoch milliseconds, rounded down: an instant that equals it has passed. In a project with a
 * test clock, that one's.
 */
export async function databaseNowMs(tx: Tx): Promise<number> {
  const rows = await runNamed<[number]>(
    tx.client,
    'database_now',
    `select floor(extract(epoch from coalesce((select now_at from test_clocks where tenant_id = $1 and project_id = $2),
       clock_timestamp())) * 1000)::float8`,
    [tx.tenantId, tx.projectId],
  )
  return rows[0]?.[0] ?? tx.clock.nowMs()
}

const stateOf = ({ state, archivedAt }: Pick<JobRow, 'state' | 'archivedAt'>): JobState =>
  archivedAt !== null ? 'archived' : state === 'paused' ? 'paused' : 'active'

/** The row without its target. */
export function toSummary(row: Omit<JobRow, 'sealed'>): JobSummary {
  const { open, spec: _, runsLeft: __, nextAt, shadow, ...status } = row
  const state = stateOf(status)
  return {
    ...openOf(open),
    ...status,
    state,
    mode: shadow ? 'shadow' : 'live',
    nextAt: state === 'active' ? nextAt : null,
  }
}

/** The row as this caller may see it. */
export async function toJob(ctx: Ctx, { sealed, ...row }: JobRow): Promise<Job> {
  return { ...toSummary(row), ...(await seeTarget(ctx, row.id, row.open, sealed)) }
}
