import type { JobFilter, Operation, OperationItem } from '@meridian/sdk'
import type { Meaning } from '#lib/draw/outcome.ts'

const verbs: Record<Operation['kind'], string> = {
  'jobs.pause': 'Pause',
  'jobs.resume': 'Resume',
  'jobs.edit': 'Edit',
  'jobs.backfill': 'Backfill',
}

/** `3 jobs`, `1 run`: what an operation is about, in number. */
export function thingWords(kind: Operation['kind'], count: number): string {
  const thing = kind === 'jobs.backfill' ? 'run' : 'job'
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

/** What it is about, on one line: the filter, or the range (in UTC) of a backfill. */
export function aboutWords({ plan }: Operation): string {
  const { filter, from, to, tag } = plan as { filter?: JobFilter; from?: string; to?: string; tag?: string | null }
  if (filter) return filterWords(filter)
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
  const { filter, reason, changes, from, to, concurrency, again, tag } = plan as {
    filter?: JobFilter
    reason?: string | null
    changes?: Record<string, unknown>
    from?: string
    to?: string
    concurrency?: number
    again?: boolean
    tag?: string | null
  }
  const facts: [string, string | undefined | null | false][] = [
    ['About', filter && filterWords(filter)],
    ['Why', reason],
    ['Called', tag],
    ['From', from],
    ['To', to],
    ['Open at once', concurrency === undefined ? undefined : `${concurrency} ${concurrency === 1 ? 'run' : 'runs'}`],
    ['Instants that ran already', again === true && 'Run again'],
    ...Object.entries(changes ?? {}).map(([name, value]): [string, string] => [
      changeNames[name] ?? name,
      valueWords(value),
    ]),
    ['Pace', rate === null ? undefined : `at most ${rate} ${kind === 'jobs.backfill' ? 'runs' : 'jobs'} a second`],
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
}

const valueWords = (value: unknown): string =>
  Array.isArray(value) ? value.join(', ') : typeof value === 'string' ? value : JSON.stringify(value)
