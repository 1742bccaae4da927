import type { DeadLetterFilter, JobFilter, OpenRunFilter, Operation, OperationItem } from '@meridian/sdk'
import type { Meaning } from '#lib/draw/outcome.ts'
import { durationWords, parseIsoDuration } from '#lib/time/duration.ts'

const verbs: Record<Operation['kind'], string> = {
  'jobs.pause': 'Pause',
  'jobs.resume': 'Resume',
  'jobs.edit': 'Edit',
  'jobs.backfill': 'Backfill',
  'jobs.repair': 'Repair',
  'runs.cancel': 'Cancel',
  'dead-letters.redrive': 'Redrive',
  'dead-letters.discard': 'Discard',
}

const things: Partial<Record<Operation['kind'], string>> = {
  'jobs.backfill': 'run',
  'runs.cancel': 'run',
  'dead-letters.redrive': 'dead letter',
  'dead-letters.discard': 'dead letter',
}

/** Whether an operation makes runs, or is about some. */
export const hasRuns = (kind: Operation['kind']): boolean =>
  kind === 'jobs.backfill' || kind === 'runs.cancel' || kind === 'dead-letters.redrive'

/** `3 jobs`, `1 run`: what an operation is about, in number. */
export function thingWords(kind: Operation['kind'], count: number): string {
  const thing = things[kind] ?? 'job'
  return `${count.toLocaleString('en-GB')} ${thing}${count === 1 ? '' : 's'}`
}

/** What an operation does, in a few words: `Pause 3 jobs`, `Take back: pause 3 jobs`. */
export function operationWords(operation: Pick<Operation, 'kind' | 'total' | 'undoOf'>): string {
  const words = `${verbs[operation.kind]} ${thingWords(operation.kind, operation.total)}`
  return operation.undoOf ? `Take back: ${words.charAt(0).toLowerCase()}${words.slice(1)}` : words
}

/** Which jobs a filter is about: `active jobs tagged red and big, in queue slow`. */
export function filterWords({ ids, state, search, name, tags, queue, externalIdPrefix }: JobFilter): string {
  const parts = [
    `${ids ? thingWords('jobs.edit', ids.length) : `${state ? `${state} ` : ''}jobs`}${ids ? ' chosen one by one' : ''}`,
    search ? `matching “${search}”` : '',
    name ? `with “${name}” in the name` : '',
    tags && tags.length > 0 ? `tagged ${tags.join(' and ')}` : '',
    queue ? `in queue ${queue}` : '',
    externalIdPrefix ? `whose own id starts with ${externalIdPrefix}` : '',
  ].filter(Boolean)
  const everything = parts.length === 1 && !ids && !state
  return everything ? 'every job of the project' : parts.join(', ')
}

/** The same for dead letters and for open runs. */
function runFilterWords(kind: Operation['kind'], filter: DeadLetterFilter & OpenRunFilter): string {
  const { ids, fingerprint, status, jobId, queue, tags, error, isQuarantined, dueFrom, dueTo } = filter
  const noun = kind === 'runs.cancel' ? `${status?.join(' or ') ?? 'open'} runs` : 'open dead letters'
  return [
    ids ? `${thingWords(kind, ids.length)} chosen one by one` : noun,
    fingerprint ? 'of one error' : '',
    error ? `that failed with ${error}` : '',
    jobId ? 'of one job' : '',
    queue ? `in queue ${queue}` : '',
    tags ? `tagged ${tags.join(' and ')}` : '',
    isQuarantined === undefined ? '' : isQuarantined ? 'quarantined' : 'not quarantined',
    dueFrom ? `due from ${dueFrom}` : '',
    dueTo ? `due before ${dueTo}` : '',
  ]
    .filter(Boolean)
    .join(', ')
}

/** What it is about, on one line: the filter, or the range (in UTC) of a backfill. */
export function aboutWords({ kind, plan }: Pick<Operation, 'kind' | 'plan'>): string {
  const { filter, from, to, tag } = plan as { filter?: JobFilter; from?: string; to?: string; tag?: string | null }
  if (filter) return kind.startsWith('jobs.') ? filterWords(filter) : runFilterWords(kind, filter as DeadLetterFilter)
  const range = `${from?.slice(0, 10)} to ${to?.slice(0, 10)}`
  return tag ? `${tag}: ${range}` : range
}

/** How an operation stands, as a meaning: work that failed in part is failed. */
export function operationMeaning(operation: Operation): Meaning {
  if (operation.state === 'running') return 'running'
  if (operation.state === 'paused') return 'waiting'
  if (operation.failed > 0) return 'failed'
  return operation.state === 'finished' ? 'succeeded' : 'quiet'
}

/** How far it is, in words: `Paused at 12 of 40`, `Done, 3 failed`. */
export function stateWords({ state, total, done, unchanged, failed }: Operation): string {
  const through = done + unchanged + failed
  const of = `${through.toLocaleString('en-GB')} of ${total.toLocaleString('en-GB')}`
  const fault = failed > 0 ? `, ${failed.toLocaleString('en-GB')} failed` : ''
  if (state === 'running') return `${of}${fault}`
  if (state === 'paused') return `Paused at ${of}${fault}`
  if (state === 'aborted') return `Aborted at ${of}${fault}`
  if (total === 0) return 'There was nothing to do'
  return `Done${fault}`
}

/** Whether it may still change. */
export const isUnderWay = ({ state }: Operation): boolean => state === 'running' || state === 'paused'

export const itemMeanings: Record<OperationItem['state'], Meaning> = {
  waiting: 'waiting',
  done: 'succeeded',
  unchanged: 'quiet',
  failed: 'failed',
}

export const itemWords: Record<OperationItem['state'], string> = {
  waiting: 'Waits',
  done: 'Done',
  unchanged: 'Nothing to do',
  failed: 'Failed',
}

/** What was asked for, as lines of a name and its words. */
export function planFacts({ kind, plan, rate }: Operation): [name: string, words: string][] {
  const { filter, reason, changes, from, to, concurrency, again, tag, delay, evenQuarantined } = plan as {
    filter?: JobFilter
    reason?: string | null
    changes?: Record<string, unknown>
    from?: string
    to?: string
    concurrency?: number
    again?: boolean
    tag?: string | null
    delay?: string | null
    evenQuarantined?: boolean
  }
  const facts: [string, string | undefined | null | false][] = [
    ['About', filter && aboutWords({ kind, plan })],
    ['Why', reason],
    ['Called', tag],
    ['From', from],
    ['To', to],
    ['Open at once', concurrency === undefined ? undefined : `${concurrency} ${concurrency === 1 ? 'run' : 'runs'}`],
    ['Due', delay && `${durationWords(parseIsoDuration(delay) ?? 0)} after each is redriven`],
    ['Quarantined ones', evenQuarantined === true && 'Redriven as well'],
    ['Instants that ran already', again === true && 'Run again'],
    ...Object.entries(changes ?? {}).map(([name, value]): [string, string] => [
      changeNames[name] ?? name,
      valueWords(value),
    ]),
    ['Pace', rate === null ? undefined : `at most ${rate} ${things[kind] ?? 'job'}s a second`],
  ]
  return facts.filter((fact): fact is [string, string] => typeof fact[1] === 'string' && fact[1] !== '')
}

const changeNames: Record<string, string> = {
  queue: 'New queue',
  priority: 'New priority',
  addTags: 'Tags added',
  removeTags: 'Tags removed',
  overlap: 'Overlap',
  catchUp: 'After an outage',
  retry: 'Retries',
  schedule: 'New schedule',
  window: 'Spread over',
}

const valueWords = (value: unknown): string =>
  Array.isArray(value) ? value.join(', ') : typeof value === 'string' ? value : JSON.stringify(value)
