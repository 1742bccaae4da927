import { z } from 'zod'
import type { Uuid } from '../kernel/ids.ts'
import { tagsValue } from '../kernel/tag.ts'
import { isStorable } from '../kernel/text.ts'
import type { CallbackEnd } from './target.ts'

const metadataFieldsMax = 50
const metadataBytesMax = 8_192

const metadataValue = z
  .record(
    z.string().min(1).max(64).refine(isStorable),
    z.union([
      z.string().max(1_024).refine(isStorable, 'must be text that can be kept'),
      z.number(),
      z.boolean(),
      z.null(),
    ]),
  )
  .superRefine((metadata, context) => {
    if (Object.keys(metadata).length > metadataFieldsMax)
      context.addIssue({ code: 'custom', message: `must not have more than ${metadataFieldsMax} fields` })
    if (Buffer.byteLength(JSON.stringify(metadata)) > metadataBytesMax)
      context.addIssue({ code: 'custom', message: `must not be more than ${metadataBytesMax} bytes` })
  })
export type Metadata = z.output<typeof metadataValue>

/** The wire values of what a run is known by. */
export const labelFields = {
  tags: tagsValue.default([]).meta({ description: 'What runs are found by; beside those of the job.' }),
  metadata: metadataValue
    .default({})
    .meta({ description: 'Facts of your own, shown with the run and not sent. Not encrypted: put no secrets here.' }),
}

/** What some runs have beside what all runs have. */
export interface RunDetails {
  tags: readonly string[]
  metadata: Metadata
  /** The run whose end this one tells. */
  callbackOf?: Uuid
  /** The ends that somebody is told of, when its job's version does not say so. */
  tells?: readonly CallbackEnd[]
  key?: CreateKey
}

/** Under which key a create finds an earlier run, as the database reads it. */
export interface CreateKey {
  kind: 'deduplicate' | 'debounce' | 'collect'
  /** The project, job or queue in which the key means something. */
  scope: Uuid
  key: string
  /** The window, the delay, or the longest wait for others. */
  ms: number
  /** What a delay adds up to at most. */
  maxMs?: number
  leading?: boolean
  /** How many are performed together, and the run that performs them unless one is waiting already. */
  max?: number
  batchId?: Uuid
  /** What the project's test clock says; absent: the database's clock counts. */
  nowMs?: number
}

/** Details that are worth a row; undefined when there are none. */
export const detailsOf = (details: RunDetails): RunDetails | undefined =>
  details.tags.length > 0 ||
  Object.keys(details.metadata).length > 0 ||
  details.callbackOf !== undefined ||
  (details.tells?.length ?? 0) > 0 ||
  details.key !== undefined
    ? details
    : undefined

/** The details of a flush's rows as `accept_detailed` takes them. */
export const detailsJson = (all: readonly (RunDetails | undefined)[]): string =>
  JSON.stringify(
    all.map((details) => {
      if (details === undefined) return null
      const { metadata, tags, tells = [], ...rest } = details
      return {
        ...rest,
        ...(tells.length > 0 ? { tells } : {}),
        tags: [...new Set(tags)],
        ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
      }
    }),
  )
