import { and, asc, eq } from 'drizzle-orm'
import { z } from 'zod'
import { holdCalendars } from '../calendar/resolve.ts'
import type { Tx } from '../db/context.ts'
import { jobs } from '../db/schema.ts'
import { type JobFilter, jobFilterValue, matchingJobs } from '../job/filter.ts'
import { definitionOf, lockJob, readJob } from '../job/internal.ts'
import { jobChangesValue, pauseReasonValue } from '../job/job.ts'
import { restoreJob } from '../job/restore.ts'
import { pauseJob, resumeJob } from '../job/set-state.ts'
import { updateJob } from '../job/update.ts'
import { AppError } from '../kernel/errors.ts'
import { tagsValue } from '../kernel/tag.ts'
import { type FullSchedule, windowValue } from '../schedule/extras.ts'
import { type Item, type OperationKind, ofThings } from './kind.ts'

const changedSince = (): AppError => new AppError('conflict', 'The job has changed since.')

async function selectJobs(tx: Tx, filter: JobFilter, limit: number, state?: 'active' | 'paused'): Promise<Item[]> {
  return tx.db
    .select({ id: jobs.id, name: jobs.name })
    .from(jobs)
    .where(and(matchingJobs(tx, filter), state && eq(jobs.state, state)))
    .orderBy(asc(jobs.id))
    .limit(limit)
}

const pausePlan = z.strictObject({ filter: jobFilterValue, reason: pauseReasonValue.nullable().default(null) })

interface Pause {
  reason: string | null
  /** When: what tells this pause from another. Epoch milliseconds. */
  pausedAtMs: number | null
}

/** Pauses the active jobs of a filter. Its undo resumes those that nobody has resumed or paused anew. */
export const pauseJobs: OperationKind<z.output<typeof pausePlan>> = {
  scope: 'jobs:write',
  things: 'jobs',
  plan: pausePlan,
  select: (tx, { filter }, limit) => selectJobs(tx, filter, limit, 'active'),
  apply: ofThings(async (tx, { reason }, { id }) => {
    if ((await lockJob(tx, id)).state === 'paused') return { state: 'unchanged', detail: 'It was paused already.' }
    const { pausedAt } = await pauseJob(tx, id, reason)
    return { state: 'done', before: { reason, pausedAtMs: pausedAt?.getTime() ?? null } satisfies Pause }
  }),
  undo: ofThings(async (tx, _plan, { id, data }) => {
    const { pausedAtMs } = data as Pause
    const job = await lockJob(tx, id)
    if (job.state === 'active') return { state: 'unchanged', detail: 'It was resumed already.' }
    if (job.pausedAt?.getTime() !== pausedAtMs) throw changedSince()
    await resumeJob(tx, id)
    return { state: 'done' }
  }),
}

const resumePlan = z.strictObject({ filter: jobFilterValue })

/** Resumes the paused jobs of a filter. Its undo pauses them again, for the reason they had. */
export const resumeJobs: OperationKind<z.output<typeof resumePlan>> = {
  scope: 'jobs:write',
  things: 'jobs',
  plan: resumePlan,
  select: (tx, { filter }, limit) => selectJobs(tx, filter, limit, 'paused'),
  apply: ofThings(async (tx, _plan, { id }) => {
    const { state, pauseReason, pausedAt } = await lockJob(tx, id)
    if (state === 'active') return { state: 'unchanged', detail: 'It was active already.' }
    await resumeJob(tx, id)
    return { state: 'done', before: { reason: pauseReason, pausedAtMs: pausedAt?.getTime() ?? null } satisfies Pause }
  }),
  undo: ofThings(async (tx, _plan, { id, data }) => {
    if ((await lockJob(tx, id)).state === 'paused') return { state: 'unchanged', detail: 'It was paused already.' }
    await pauseJob(tx, id, (data as Pause).reason)
    return { state: 'done' }
  }),
}

const tags = tagsValue

/** What may be changed in many jobs at once: no names and ids, which are each job's own, and no targets, which may hold secrets. */
export const editChangesValue = jobChangesValue
  .omit({ name: true, description: true, externalId: true, target: true, tags: true })
  .extend({
    addTags: tags.optional(),
    removeTags: tags.optional(),
    window: windowValue
      .nullable()
      .optional()
      .describe('Spreads the jobs, each with the schedule that it has, instead of jitter; null starts them together'),
  })
  .refine((changes) => Object.values(changes).some((value) => value !== undefined), 'must change something')

const editPlan = z.strictObject({ filter: jobFilterValue, changes: editChangesValue })

interface Versions {
  from: number
  to: number
}

/** A schedule with another window. Undefined where there is nothing to spread, or nothing is to change. */
function spread(schedule: FullSchedule | null | undefined, window: string | null | undefined) {
  if (!schedule || window === undefined) return undefined
  const { window: _before, jitter, ...rest } = schedule
  if (window === null) return jitter === undefined ? rest : { ...rest, jitter }
  return { ...rest, window }
}

/** Changes the jobs of a filter, each as a new version. Its undo restores the version before, where no other came after. */
export const editJobs: OperationKind<z.output<typeof editPlan>> = {
  scope: 'jobs:write',
  things: 'jobs',
  plan: editPlan,
  select: (tx, { filter }, limit) => selectJobs(tx, filter, limit),
  apply: ofThings(async (tx, { changes: { addTags = [], removeTags = [], window, ...changes } }, { id }) => {
    // Calendars are held before the job, as everybody does.
    const kept = window === undefined ? null : (await definitionOf(tx, await readJob(tx, id))).schedule
    const held = changes.schedule ?? kept
    if (held) await holdCalendars(tx, held)
    const before = await lockJob(tx, id)
    const known = await definitionOf(tx, before)
    const left = known.tags.filter((tag) => !removeTags.includes(tag))
    const wanted = [...left, ...addTags.filter((tag) => !left.includes(tag))]
    const schedule = spread(changes.schedule ?? known.schedule, window)
    const after = await updateJob(tx, id, { ...changes, ...(schedule && { schedule }), tags: wanted })
    if (after.version === before.version) return { state: 'unchanged', detail: 'It is like that already.' }
    return { state: 'done', before: { from: before.version, to: after.version } satisfies Versions }
  }),
  undo: ofThings(async (tx, _plan, { id, data }) => {
    const { from, to } = data as Versions
    if ((await readJob(tx, id)).version !== to) throw changedSince()
    await restoreJob(tx, id, { version: from, expectedVersion: to })
    return { state: 'done' }
  }),
}
