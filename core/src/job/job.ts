import { z } from 'zod'
import { defaultQueue, queueNameValue } from '../flow/queue.ts'
import { durationValue } from '../kernel/duration.ts'
import type { Uuid } from '../kernel/ids.ts'
import { tagsValue } from '../kernel/tag.ts'
import { lineValue, proseValue } from '../kernel/text.ts'
import { deadlineFields } from '../run/deadline.ts'
import { catchUpRules } from '../run/decide-instants.ts'
import { overlapRules } from '../run/overlap.ts'
import { retryPolicyValue } from '../run/retry-policy.ts'
import { defaultPriority } from '../run/run.ts'
import { httpTargetValue } from '../run/target.ts'
import { fullScheduleSchema } from '../schedule/full-schedule.ts'

const jobNameValue = lineValue(200)
export const externalIdValue = lineValue(200)
export const pauseReasonValue = lineValue(500)

/** How it is written in `schedules`: by its place. */
export const afterLastRuns = ['keep', 'delete', 'archive'] as const

/** What becomes of runs that fail or expire. */
const deadLetterRules = ['keep', 'drop'] as const

const fields = {
  name: jobNameValue,
  description: proseValue(4_000).nullable(),
  externalId: externalIdValue.nullable().meta({ description: 'Your own id of the job, unique in the project.' }),
  tags: tagsValue,
  target: httpTargetValue,
  schedule: fullScheduleSchema.nullable().meta({ description: 'null: it runs when it is told to.' }),
  queue: queueNameValue.meta({ description: 'Made when the project has none of that name.' }),
  overlap: z.enum(overlapRules).meta({
    description:
      'What happens to an occurrence while the job still has an open run: it is skipped, runs as well, waits behind it (queue-one: one at a time, queue-all: all of them, replace: the newest), or cancels it.',
  }),
  catchUp: z.enum(catchUpRules).meta({
    description:
      'Occurrences that are over a minute late: the last one runs (one), none does (skip), or the last `catchUpMax` do, oldest first (all).',
  }),
  catchUpMax: z.int().min(1).max(1_000).meta({ description: 'Under `catchUp: all`, how many run at most.' }),
  catchUpWindow: durationValue('PT1M', 'PT8784H')
    .nullable()
    .meta({ description: 'Under `catchUp: all`, how late they may be. null: however late.' }),
  pauseAfterFailures: z
    .int()
    .min(1)
    .max(100)
    .nullable()
    .meta({ description: 'So many failed runs in a row pause the schedule. null: it goes on.' }),
  afterLastRun: z
    .enum(afterLastRuns)
    .meta({ description: 'What becomes of the job when its schedule is over and its last run has ended.' }),
  retry: retryPolicyValue,
  ...deadlineFields,
  deadLetters: z.enum(deadLetterRules).meta({
    description:
      'What becomes of runs that fail or expire: they wait as dead letters for somebody to handle them (keep), or that was it (drop).',
  }),
  priority: z.int().min(1).max(5).meta({ description: '1 is served first, 5 last.' }),
}

/** What a person or program writes down as a job. The wire shape, with its defaults. */
export const jobDefinitionValue = z.strictObject({
  ...fields,
  description: fields.description.default(null),
  externalId: fields.externalId.default(null),
  tags: fields.tags.default([]),
  schedule: fields.schedule.default(null),
  queue: fields.queue.default(defaultQueue),
  overlap: fields.overlap.default('skip'),
  catchUp: fields.catchUp.default('one'),
  catchUpMax: fields.catchUpMax.default(100),
  catchUpWindow: fields.catchUpWindow.default(null),
  pauseAfterFailures: fields.pauseAfterFailures.default(null),
  afterLastRun: fields.afterLastRun.default('keep'),
  retry: fields.retry.default(retryPolicyValue.parse({})),
  startWithin: fields.startWithin.default(null),
  endWithin: fields.endWithin.default(null),
  deadLetters: fields.deadLetters.default('keep'),
  priority: fields.priority.default(defaultPriority),
})
export type JobDefinition = z.output<typeof jobDefinitionValue>
/** The same with the defaults left out. */
export type NewJob = z.input<typeof jobDefinitionValue>

/** A change of a job: what is left out stays, what is given replaces the field as a whole. No defaults. */
export const jobChangesValue = z.strictObject(fields).partial()
export type JobChanges = z.input<typeof jobChangesValue>

/** What of a definition may be read by whoever may see jobs. A target can carry secrets. */
export type OpenDefinition = Omit<JobDefinition, 'target'>

export const jobStates = ['active', 'paused', 'archived'] as const
export type JobState = (typeof jobStates)[number]

/** In `shadow` a schedule is kept in the ledger and starts nothing; run by hand, the job runs. */
export const jobModes = ['live', 'shadow'] as const
export type JobMode = (typeof jobModes)[number]

/** Where a job stands, beside what was defined. */
export interface JobStatus {
  id: Uuid
  projectId: Uuid
  /** Raised by every change of the definition, each of which is kept. */
  version: number
  state: JobState
  mode: JobMode
  pausedAt: Date | null
  /** As the audit trail writes actors: `key:<uuid>`, `user:<uuid>` or `system`. */
  pausedBy: string | null
  pauseReason: string | null
  /** When it is resumed by itself. */
  pauseUntil: Date | null
  /** When it was put away: it starts nothing, and lists leave it out. */
  archivedAt: Date | null
  queueId: Uuid
  /** The next instant of its schedule that is not in the ledger yet; null when there is none, or it is paused or archived. */
  nextAt: Date | null
  createdAt: Date
  updatedAt: Date
}

/** A job as lists show it. */
export type JobSummary = OpenDefinition & JobStatus

/** A job with its target: whole for callers with `payloads:read`, else `isTargetReduced`. */
export type Job = JobSummary & SeenTarget

/** Without `payloads:read`: no headers, no body, no query and no user name in the URL. Not fit for writing back. */
export interface SeenTarget {
  target: JobDefinition['target']
  isTargetReduced: boolean
}

/** One version of a job's definition. */
export type JobVersion = JobVersionSummary & SeenTarget

export interface JobVersionSummary {
  version: number
  definition: OpenDefinition
  /** The version that this one is a copy of, when it was restored. */
  restoredFrom: number | null
  createdBy: string
  createdAt: Date
  /** The time zone data that its schedule was last computed with; null when it had none. */
  tzVersion: string | null
}
