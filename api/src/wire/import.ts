import { differenceCodes, importFormats } from '@meridian/core/import/entry'
import type { ImportedJob } from '@meridian/core/import/get'
import {
  entryOutcomes,
  type Import,
  type ImportEntry,
  type ImportSummary,
  newImportValue,
  type PlannedImport,
  type VanishedJob,
  vanishedOutcomes,
} from '@meridian/core/import/import'
import type { MatchCounts, MatchReport } from '@meridian/core/import/report'
import { toWireId } from '@meridian/core/kernel/ids'
import { matchOutcomes } from '@meridian/core/ping/match'
import { overlapRules } from '@meridian/core/run/overlap'
import { z } from 'zod'
import { schedule } from './components.ts'
import { jobMode } from './job.ts'
import { actor, instant, toActor, toInstant, toInstantOrNull, toWireIdOrNull, wireId } from './values.ts'

export const newImport = newImportValue.meta({ id: 'NewImport' })

const format = z.enum(importFormats).meta({ id: 'ImportFormat', description: 'Where the schedules come from.' })

const proposedInstant = z
  .strictObject({ at: instant, local: z.string().meta({ description: 'The wall clock.' }), notes: z.array(z.string()) })
  .meta({ id: 'ProposedInstant' })

const entryWire = z
  .strictObject({
    line: z.int().meta({ description: 'Where it starts in the source, from 1.' }),
    text: z.string().nullable().meta({ description: 'As it is written; null without `payloads:read`.' }),
    externalId: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    status: z.enum(['ready', 'needs-target', 'refused']),
    isPaused: z.boolean().meta({ description: 'It is switched off where it comes from.' }),
    command: z
      .string()
      .nullable()
      .meta({ description: 'What it runs; null for an HTTP call, and without `payloads:read`.' }),
    request: z
      .string()
      .nullable()
      .meta({ description: 'The request it becomes.', examples: ['POST https://runner.example.com/run'] }),
    schedule: schedule.nullable(),
    words: z.string().nullable().meta({ description: 'The schedule in words.' }),
    overlap: z.enum(overlapRules),
    differences: z.array(
      z
        .strictObject({
          code: z.enum(differenceCodes),
          isChange: z
            .boolean()
            .meta({ description: 'It will behave otherwise here; else it is kept, but may surprise.' }),
          detail: z.string(),
        })
        .meta({ id: 'ImportDifference' }),
    ),
    warnings: z.array(z.string()),
    theirs: z.array(proposedInstant).nullable().meta({
      description: 'Its next instants by the rules of its own system; null when only that system knows them.',
    }),
    ours: z.array(proposedInstant).meta({ description: 'The next instants of the job.' }),
    comparedCount: z.int().meta({ description: 'Coming instants that were reckoned by both rules and are the same.' }),
    problems: z.array(z.strictObject({ pointer: z.string(), detail: z.string() })),
    jobId: wireId('job').nullable().meta({ description: 'The job it became; in a dry run, the one it would change.' }),
    outcome: z.enum(entryOutcomes).nullable().meta({ description: 'null in a dry run.' }),
  })
  .meta({ id: 'ImportEntry' })

const summaryFields = {
  id: wireId('imp').nullable().meta({ description: 'null in a dry run.' }),
  format,
  prefix: z.string(),
  fileName: z.string().nullable(),
  timezone: z.string(),
  counts: z.strictObject({ created: z.int(), updated: z.int(), unchanged: z.int(), refused: z.int() }),
  vanished: z
    .array(
      z
        .strictObject({
          jobId: wireId('job'),
          name: z.string(),
          externalId: z.string(),
          outcome: z.enum(vanishedOutcomes),
        })
        .meta({ id: 'VanishedJob' }),
    )
    .meta({
      description:
        'Jobs that an earlier import of the same source (format, prefix and file name) made, and that are not in it any more; in a dry run, what would become of them.',
    }),
  createdBy: actor.nullable(),
  createdAt: instant.nullable(),
}

export const importSummaryWire = z.strictObject(summaryFields).meta({ id: 'ImportSummary' })

export const importWire = z
  .strictObject({
    ...summaryFields,
    entries: z.array(entryWire),
    notes: z
      .array(z.strictObject({ line: z.int(), text: z.string().nullable(), detail: z.string() }))
      .meta({ description: 'Lines that are no entry but mean something.' }),
    problems: z
      .array(z.strictObject({ line: z.int(), detail: z.string() }))
      .meta({ description: 'What keeps a source from being read: of a dry run only.' }),
  })
  .meta({ id: 'Import' })

const entryToWire = ({ jobId, ...entry }: ImportEntry): z.output<typeof entryWire> => ({
  ...entry,
  jobId: toWireIdOrNull('job', jobId),
})

const vanishedToWire = ({ jobId, ...job }: VanishedJob) => ({ ...job, jobId: toWireId('job', jobId) })

export const importSummaryToWire = (made: ImportSummary): z.output<typeof importSummaryWire> => ({
  id: toWireId('imp', made.id),
  format: made.format,
  prefix: made.prefix,
  fileName: made.fileName,
  timezone: made.timezone,
  counts: { created: made.created, updated: made.updated, unchanged: made.unchanged, refused: made.refused },
  vanished: made.vanished.map(vanishedToWire),
  createdBy: toActor(made.createdBy),
  createdAt: toInstant(made.createdAt),
})

export const importToWire = (made: Import): z.output<typeof importWire> => ({
  ...importSummaryToWire(made),
  entries: made.entries.map(entryToWire),
  notes: made.notes,
  problems: [],
})

export const plannedImportToWire = ({ entries, vanished, ...planned }: PlannedImport): z.output<typeof importWire> => ({
  ...planned,
  id: null,
  counts: { created: 0, updated: 0, unchanged: 0, refused: 0 },
  createdBy: null,
  createdAt: null,
  vanished: vanished.map(vanishedToWire),
  entries: entries.map(entryToWire),
})

const importedJobFields = {
  id: wireId('job'),
  name: z.string(),
  mode: jobMode,
  line: z.int().meta({ description: 'Where it stands in the source.' }),
}

const importedJobToWire = ({ id, name, mode, line }: ImportedJob) => ({ id: toWireId('job', id), name, mode, line })

export const switchedWire = z
  .strictObject({
    changed: z.int().meta({ description: 'Jobs that had the other mode.' }),
    jobs: z.array(z.strictObject(importedJobFields).meta({ id: 'ImportedJob' })),
  })
  .meta({ id: 'SwitchedImport' })

export const switchedToWire = ({
  changed,
  jobs,
}: {
  changed: number
  jobs: ImportedJob[]
}): z.output<typeof switchedWire> => ({
  changed,
  jobs: jobs.map(importedJobToWire),
})

const countsWire = z
  .strictObject({
    matched: z.int(),
    late: z.int().meta({ description: 'Told of more than a minute after its instant.' }),
    missing: z.int().meta({ description: 'Expected, and never told of.' }),
    unexpected: z.int().meta({ description: 'Told of at a time that is no instant of the schedule.' }),
    waiting: z.int().meta({ description: 'Expected a moment ago: a ping may still come.' }),
    failed: z.int().meta({ description: 'Of all these, runs that the old system says failed.' }),
  })
  .meta({ id: 'MatchCounts' })

const countsToWire = ({ matched, late, missing, unexpected, waiting, failed }: MatchCounts) => ({
  matched,
  late,
  missing,
  unexpected,
  waiting,
  failed,
})

export const reportWire = z
  .strictObject({
    from: instant,
    to: instant,
    isCut: z.boolean().meta({ description: 'There was more than is looked at: ask for a shorter range.' }),
    totals: countsWire,
    buckets: z.array(z.strictObject({ from: instant, to: instant, counts: countsWire }).meta({ id: 'MatchBucket' })),
    jobs: z.array(
      z
        .strictObject({
          ...importedJobFields,
          counts: countsWire,
          lastPingAt: instant.nullable(),
          matches: z
            .array(
              z
                .strictObject({
                  expectedAt: instant.nullable(),
                  pingAt: instant.nullable(),
                  outcome: z.enum(matchOutcomes),
                  hasFailed: z.boolean(),
                })
                .meta({ id: 'Match' }),
            )
            .meta({ description: 'The newest 50, newest first.' }),
        })
        .meta({ id: 'MatchedJob' }),
    ),
  })
  .meta({ id: 'MatchReport' })

const dateOrNull = (ms: number | null): string | null => toInstantOrNull(ms === null ? null : new Date(ms))

export const reportToWire = ({ from, to, totals, buckets, jobs, isCut }: MatchReport): z.output<typeof reportWire> => ({
  from: toInstant(from),
  to: toInstant(to),
  isCut,
  totals: countsToWire(totals),
  buckets: buckets.map((bucket) => ({
    from: toInstant(bucket.from),
    to: toInstant(bucket.to),
    counts: countsToWire(bucket.counts),
  })),
  jobs: jobs.map(({ counts, lastPingAt, matches, ...job }) => ({
    ...importedJobToWire(job),
    counts: countsToWire(counts),
    lastPingAt: toInstantOrNull(lastPingAt),
    matches: matches.map(({ expectedAtMs, pingAtMs, outcome, hasFailed }) => ({
      expectedAt: dateOrNull(expectedAtMs),
      pingAt: dateOrNull(pingAtMs),
      outcome,
      hasFailed,
    })),
  })),
})
