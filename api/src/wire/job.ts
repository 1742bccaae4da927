import {
  type Job,
  type JobSummary,
  type JobVersion,
  type JobVersionSummary,
  jobDefinitionValue,
  jobModes,
  jobStates,
} from '@meridian/core/job/job'
import { toWireId } from '@meridian/core/kernel/ids'
import type { JobInstant } from '@meridian/core/run/job-upcoming'
import type { CountedOccurrences } from '@meridian/core/run/occurrence-counts'
import type { ListedOccurrence, Occurrence } from '@meridian/core/run/occurrences'
import { occurrenceOutcomes } from '@meridian/core/run/occurrences'
import type { RecentRun } from '@meridian/core/run/stats'
import type { UpcomingCounts } from '@meridian/core/run/upcoming-counts'
import { z } from 'zod'
import { runStatus } from './run.ts'
import { actor, instant, toActor, toActorOrNull, toInstant, toInstantOrNull, toWireIdOrNull, wireId } from './values.ts'

const { target, ...openFields } = jobDefinitionValue.shape

export const jobMode = z.enum(jobModes).meta({
  id: 'JobMode',
  description: 'In `shadow` a schedule is kept in the ledger and starts nothing.',
})

const recentRunWire = z
  .strictObject({
    id: wireId('run'),
    status: runStatus,
    dueAt: instant,
    finishedAt: instant,
    durationMs: z.int().nullable(),
  })
  .meta({ id: 'RecentRun' })

const recentWire = z
  .strictObject({
    runs: z.array(recentRunWire).meta({ description: 'The last ended runs, newest first.' }),
    succeeded: z.int().meta({ description: 'Runs of the last 24 hours that succeeded.' }),
    failed: z.int().meta({ description: 'Runs of the last 24 hours that failed.' }),
    successRate: z.number().nullable().meta({ description: 'Of those; null when there were none.' }),
    week: z
      .strictObject({ succeeded: z.int(), failed: z.int(), successRate: z.number().nullable() })
      .meta({ description: 'The same of the last 7 days.' }),
  })
  .meta({ id: 'RecentRuns' })

const statusFields = {
  id: wireId('job'),
  version: z.int().meta({ description: 'Raised by every change of the definition, each of which is kept.' }),
  state: z.enum(jobStates),
  mode: jobMode,
  pausedAt: instant.nullable(),
  pausedBy: actor.nullable(),
  pauseReason: z.string().nullable(),
  pauseUntil: instant.nullable().meta({ description: 'When it is resumed by itself.' }),
  archivedAt: instant
    .nullable()
    .meta({ description: 'When it was put away: it starts nothing, and lists leave it out.' }),
  nextAt: instant.nullable().meta({ description: 'The next instant that is not in the ledger yet.' }),
  createdAt: instant,
  updatedAt: instant,
}

export const jobSummaryWire = z
  .strictObject({
    ...statusFields,
    ...openFields,
    recent: recentWire.optional().meta({ description: 'With `include=recent`.' }),
  })
  .meta({ id: 'JobSummary' })

const seenTarget = {
  target,
  isTargetReduced: z
    .boolean()
    .meta({ description: 'Without `payloads:read` a target has no headers, no body and no query.' }),
}

export const jobWire = z.strictObject({ ...statusFields, ...openFields, ...seenTarget }).meta({ id: 'Job' })

export interface Recent {
  runs: RecentRun[]
  succeeded: number
  failed: number
  week: { succeeded: number; failed: number }
}

const rateOf = ({ succeeded, failed }: Recent['week']): number | null =>
  succeeded + failed === 0 ? null : succeeded / (succeeded + failed)

export const recentToWire = ({ runs, succeeded, failed, week }: Recent): z.output<typeof recentWire> => ({
  runs: runs.map(({ id, status, dueAt, finishedAt, durationMs }) => ({
    id: toWireId('run', id),
    status,
    dueAt: toInstant(dueAt),
    finishedAt: toInstant(finishedAt),
    durationMs,
  })),
  succeeded,
  failed,
  successRate: rateOf({ succeeded, failed }),
  week: { ...week, successRate: rateOf(week) },
})

export const jobSummaryToWire = (job: JobSummary): z.output<typeof jobSummaryWire> => ({
  id: toWireId('job', job.id),
  version: job.version,
  name: job.name,
  description: job.description,
  externalId: job.externalId,
  tags: job.tags,
  schedule: job.schedule,
  queue: job.queue,
  overlap: job.overlap,
  catchUp: job.catchUp,
  catchUpMax: job.catchUpMax,
  catchUpWindow: job.catchUpWindow,
  pauseAfterFailures: job.pauseAfterFailures,
  afterLastRun: job.afterLastRun,
  retry: job.retry,
  startWithin: job.startWithin,
  endWithin: job.endWithin,
  deadLetters: job.deadLetters,
  priority: job.priority,
  state: job.state,
  mode: job.mode,
  pausedAt: toInstantOrNull(job.pausedAt),
  pausedBy: toActorOrNull(job.pausedBy),
  pauseReason: job.pauseReason,
  pauseUntil: toInstantOrNull(job.pauseUntil),
  archivedAt: toInstantOrNull(job.archivedAt),
  nextAt: toInstantOrNull(job.nextAt),
  createdAt: toInstant(job.createdAt),
  updatedAt: toInstant(job.updatedAt),
})

export const jobToWire = (job: Job): z.output<typeof jobWire> => ({
  ...jobSummaryToWire(job),
  target: job.target,
  isTargetReduced: job.isTargetReduced,
})

const versionFields = {
  version: z.int(),
  restoredFrom: z.int().nullable().meta({ description: 'The version that this one is a copy of.' }),
  createdBy: actor,
  createdAt: instant,
  tzVersion: z
    .string()
    .nullable()
    .meta({ description: 'The time zone data that its schedule was last computed with; null: it had none.' }),
}

const openDefinition = z.strictObject(openFields).meta({ id: 'JobVersionDefinition' })

export const jobVersionSummaryWire = z
  .strictObject({ ...versionFields, definition: openDefinition })
  .meta({ id: 'JobVersionSummary' })

export const jobVersionWire = z
  .strictObject({ ...versionFields, definition: openDefinition, ...seenTarget })
  .meta({ id: 'JobVersion' })

export const jobVersionSummaryToWire = (version: JobVersionSummary): z.output<typeof jobVersionSummaryWire> => ({
  version: version.version,
  restoredFrom: version.restoredFrom,
  createdBy: toActor(version.createdBy),
  createdAt: toInstant(version.createdAt),
  tzVersion: version.tzVersion,
  definition: version.definition,
})

export const jobVersionToWire = (version: JobVersion): z.output<typeof jobVersionWire> => ({
  ...jobVersionSummaryToWire(version),
  target: version.target,
  isTargetReduced: version.isTargetReduced,
})

export const occurrenceWire = z
  .strictObject({
    nominalAt: instant,
    effectiveAt: instant.meta({
      description: 'When it runs: calendars, jitter, a window, a blackout or a person may have moved it.',
    }),
    untilAt: instant.meta({
      description: 'The last of several instants that came to the same and share an entry; else `nominalAt`.',
    }),
    count: z.int().meta({ description: 'How many instants share the entry.' }),
    outcome: z.enum(occurrenceOutcomes),
    reason: z.string().nullable().meta({ description: 'Why it was skipped or missed, as a machine code.' }),
    runId: wireId('run').nullable(),
    isCaughtUp: z.boolean(),
    isMoved: z.boolean().meta({ description: 'A person moved it.' }),
    note: z.string().nullable(),
    editedBy: actor.nullable().meta({ description: 'Who moved it, skipped it or wrote the note.' }),
    jobVersion: z.int(),
    tzVersion: z.string().meta({ description: 'Version of the time zone data it was computed with.' }),
    decidedAt: instant.nullable(),
  })
  .meta({ id: 'Occurrence' })

export const listedOccurrenceWire = occurrenceWire
  .extend({
    runStatus: runStatus.nullable().meta({
      description: 'How its run stands; null without one, when that is not kept any more, and without `runs:read`.',
    }),
  })
  .meta({ id: 'ListedOccurrence' })

export const listedOccurrenceToWire = (occurrence: ListedOccurrence): z.output<typeof listedOccurrenceWire> => ({
  ...occurrenceToWire(occurrence),
  runStatus: occurrence.runStatus,
})

export const jobInstantWire = z
  .strictObject({
    nominalAt: instant,
    effectiveAt: instant.meta({ description: 'When it will run; `nominalAt` when it will not.' }),
    skipped: z
      .enum(['calendar', 'blackout'])
      .nullable()
      .meta({ description: 'What will keep it from running, as things stand.' }),
  })
  .meta({ id: 'JobInstant' })

export const jobInstantToWire = ({ nominalAt, effectiveAt, skipped }: JobInstant): z.output<typeof jobInstantWire> => ({
  nominalAt: toInstant(nominalAt),
  effectiveAt: toInstant(effectiveAt),
  skipped,
})

export const occurrenceCountsWire = z
  .strictObject({
    counts: z
      .array(
        z.strictObject({
          from: instant.meta({ description: 'When the minute, hour or day begins.' }),
          pending: z.int(),
          run: z.int().meta({ description: 'With those that failed.' }),
          failed: z.int().meta({ description: 'Whose run failed, or expired before it began.' }),
          skipped: z.int(),
          missed: z.int(),
        }),
      )
      .meta({ description: 'Without those in which nothing was.' }),
    stretches: z
      .array(
        z.strictObject({
          nominalAt: instant,
          untilAt: instant,
          count: z.int(),
          outcome: z.enum(occurrenceOutcomes),
          reason: z.string().nullable(),
        }),
      )
      .meta({
        description: 'Entries that stand for several instants in a row; they are in no count. The first 1,000.',
      }),
  })
  .meta({ id: 'OccurrenceCounts' })

export const occurrenceCountsToWire = ({
  counts,
  stretches,
}: CountedOccurrences): z.output<typeof occurrenceCountsWire> => ({
  counts: counts.map(({ from, ...counted }) => ({ from: toInstant(from), ...counted })),
  stretches: stretches.map(({ nominalAt, untilAt, ...stretch }) => ({
    nominalAt: toInstant(nominalAt),
    untilAt: toInstant(untilAt),
    ...stretch,
  })),
})

export const upcomingCountsWire = z
  .strictObject({
    counts: z
      .array(
        z.strictObject({
          from: instant.meta({ description: 'When the minute, hour or day begins.' }),
          coming: z.int(),
          skipped: z
            .int()
            .meta({ description: 'What a calendar or blackout will keep from running, as things stand.' }),
        }),
      )
      .meta({ description: 'Without those in which nothing comes.' }),
    countedUntil: instant.nullable().meta({
      description: 'The last instant that was counted, where there are more than 100,000; null: all were.',
    }),
  })
  .meta({ id: 'UpcomingCounts' })

export const upcomingCountsToWire = ({
  counts,
  countedUntil,
}: UpcomingCounts): z.output<typeof upcomingCountsWire> => ({
  counts: counts.map(({ from, coming, skipped }) => ({ from: toInstant(from), coming, skipped })),
  countedUntil: toInstantOrNull(countedUntil),
})

export const occurrenceToWire = (occurrence: Occurrence): z.output<typeof occurrenceWire> => ({
  nominalAt: toInstant(occurrence.nominalAt),
  effectiveAt: toInstant(occurrence.effectiveAt),
  untilAt: toInstant(occurrence.untilAt),
  count: occurrence.count,
  outcome: occurrence.outcome,
  reason: occurrence.reason,
  runId: toWireIdOrNull('run', occurrence.runId),
  isCaughtUp: occurrence.caughtUp,
  isMoved: occurrence.moved,
  note: occurrence.note,
  editedBy: toActorOrNull(occurrence.editedBy),
  jobVersion: occurrence.jobVersion,
  tzVersion: occurrence.tzVersion,
  decidedAt: toInstantOrNull(occurrence.decidedAt),
})
