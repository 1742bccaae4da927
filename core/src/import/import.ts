import { z } from 'zod'
import { queueNameValue } from '../flow/queue.ts'
import { jobModes } from '../job/job.ts'
import type { Uuid } from '../kernel/ids.ts'
import { tagsValue } from '../kernel/tag.ts'
import { lineValue } from '../kernel/text.ts'
import { nativeZones } from '../schedule/zone.ts'
import { type ImportFormat, importFormats, type SourceNote } from './entry.ts'
import type { Proposal } from './propose.ts'
import { targetTemplateValue } from './target-template.ts'

const sourceMax = 512 * 1_024

/** Entries of one import: they become jobs in one transaction. */
export const entriesMax = 500

const timezoneValue = z
  .string()
  .refine((id) => nativeZones.find(id) !== undefined, 'must be a time zone of the IANA database, such as Europe/London')

/** Jobs of a source that it does not name any more are told in any case. */
export const vanishedRules = ['keep', 'pause', 'archive'] as const

/** A job of an earlier import of the same source, of which the source says nothing any more. */
export interface VanishedJob {
  jobId: Uuid
  name: string
  externalId: string
  /** What was done with it, or would be. */
  outcome: (typeof vanishedOutcomes)[number]
}
export const vanishedOutcomes = ['kept', 'paused', 'archived'] as const

/** What to import, and how. The wire value. */
export const newImportValue = z.strictObject({
  source: z.string().min(1).max(sourceMax).meta({ description: 'The file, as it is.' }),
  format: z.enum(importFormats).optional().meta({ description: 'Left out: told from the source.' }),
  fileName: lineValue(200).optional().meta({ description: 'Names a workflow, and tells crontabs apart.' }),
  timezone: timezoneValue
    .default('UTC')
    .meta({ description: 'The zone of the machine it comes from, for entries that name none.' }),
  prefix: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._:/-]{0,59}$/, 'must be 1 to 60 letters, digits or . _ : / -')
    .optional()
    .meta({ description: 'What external ids start with, such as the name of the machine. Left out: the format.' }),
  target: targetTemplateValue
    .nullable()
    .default(null)
    .meta({ description: 'The request that a command becomes. Entries that are HTTP calls keep their own.' }),
  mode: z.enum(jobModes).default('shadow').meta({ description: 'Of jobs that are new; others keep theirs.' }),
  vanished: z.enum(vanishedRules).default('keep').meta({
    description:
      'What becomes of jobs that an earlier import of the same source made, and that are not in it any more.',
  }),
  queue: queueNameValue.optional(),
  tags: tagsValue.default([]),
})
export type NewImport = z.input<typeof newImportValue>

export const entryOutcomes = ['created', 'updated', 'unchanged', 'refused'] as const
export type EntryOutcome = (typeof entryOutcomes)[number]

/** An entry as it is shown: its command only to those who may see payloads. */
export interface ImportEntry extends Omit<Proposal, 'job' | 'action' | 'text'> {
  text: string | null
  command: string | null
  /** Method and URL of the request; the URL without its query for those who may not see payloads. */
  request: string | null
  /** The job it became; of a dry run, the one it would change. */
  jobId: Uuid | null
  /** Null in a dry run. */
  outcome: EntryOutcome | null
}

export interface ImportSummary {
  id: Uuid
  format: ImportFormat
  prefix: string
  fileName: string | null
  timezone: string
  created: number
  updated: number
  unchanged: number
  refused: number
  vanished: VanishedJob[]
  createdBy: string
  createdAt: Date
}

export interface Import extends ImportSummary {
  entries: ImportEntry[]
  notes: (Omit<SourceNote, 'text'> & { text: string | null })[]
}

/** What an import would do. */
export interface PlannedImport extends Omit<Import, 'id' | 'createdBy' | 'createdAt' | keyof Counts> {
  /** What keeps the whole of it from being read. */
  problems: { line: number; detail: string }[]
}

export type Counts = Record<EntryOutcome, number>
