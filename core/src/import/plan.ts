import type { z } from 'zod'
import type { NewJob } from '../job/job.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { SourceNote } from './entry.ts'
import { entriesMax, type ImportEntry, type newImportValue } from './import.ts'
import { type Proposal, propose } from './propose.ts'
import { detectFormat, readSource } from './read.ts'

export interface Plan {
  format: NonNullable<z.output<typeof newImportValue>['format']>
  prefix: string
  proposals: Proposal[]
  notes: SourceNote[]
  problems: { line: number; detail: string }[]
}

/** Instants that are compared in all: what bounds the time that a long file takes. */
const comparedMax = 40_000
const comparedPerEntryMax = 400

/** What a source becomes. Pure. */
export function planImport(
  input: z.output<typeof newImportValue>,
  { nowMs, allowPrivate }: { nowMs: number; allowPrivate: boolean },
): Plan {
  const format = input.format ?? detectFormat(input.source, input.fileName)
  const prefix = `${input.prefix ?? format}:`
  const { entries, notes, problems } = readSource(format, input.source, input)
  if (entries.length > entriesMax) {
    const line = entries[entriesMax]?.line ?? 1
    problems.push({ line, detail: `At most ${entriesMax} entries at a time: this has ${entries.length}.` })
  }
  const options = {
    format,
    prefix,
    template: input.target,
    queue: input.queue,
    tags: input.tags,
    after: Temporal.Instant.fromEpochMilliseconds(nowMs),
    allowPrivate,
    compareMax: Math.min(comparedPerEntryMax, Math.floor(comparedMax / Math.max(1, entries.length))),
  }
  const proposals = refuseTwins(entries.slice(0, entriesMax).map((entry) => propose(entry, options)))
  return { format, prefix, proposals, notes, problems }
}

/** Two entries of one name would be one job. */
function refuseTwins(proposals: Proposal[]): Proposal[] {
  const first = new Map<string, number>()
  return proposals.map((proposal) => {
    const line = first.get(proposal.externalId)
    if (line === undefined) {
      first.set(proposal.externalId, proposal.line)
      return proposal
    }
    const detail = `Line ${line} has the same name: two jobs can't have one.`
    return {
      ...proposal,
      status: 'refused',
      job: null,
      problems: [...proposal.problems, { pointer: '/externalId', detail }],
    }
  })
}

/** A proposal as an entry, with everything; who may see what is decided where it is read. */
export function toEntry(
  { job, action, ...proposal }: Proposal,
  { jobId, outcome }: Pick<ImportEntry, 'jobId' | 'outcome'>,
): ImportEntry {
  const target = job?.target ?? (action.kind === 'http' ? action.target : null)
  return {
    ...proposal,
    command: action.kind === 'command' ? action.command : null,
    request: target === null ? null : requestText(target),
    jobId,
    outcome,
  }
}

const requestText = ({ method = 'POST', url }: NewJob['target']): string => `${method} ${url}`

/** The entry for those who may not see payloads. */
export const reduceEntry = (entry: ImportEntry): ImportEntry => ({
  ...entry,
  text: null,
  command: null,
  request: entry.request?.replace(/[?#].*$/s, '') ?? null,
})

export type Existing = ReadonlyMap<string, Uuid>
