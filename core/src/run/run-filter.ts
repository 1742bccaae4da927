import type { Uuid } from '../kernel/ids.ts'
import { isFinal, type RunSource, type RunStatus, runSources, stateCodes } from './run.ts'

/** Which runs: everything that is given has to be true of a run. */
export interface RunFilter {
  status?: RunStatus[] | undefined
  jobId?: Uuid | undefined
  queueId?: Uuid | undefined
  source?: RunSource | undefined
  /** What an operation made, or is about. */
  operationId?: Uuid | undefined
  /** All of these: its own, or its job's. */
  tags?: readonly string[] | undefined
  /** All of these facts; a number or a truth value as it is written. */
  metadata?: readonly MetadataFact[] | undefined
  /** Those that tell the end of this run. */
  callbackOf?: Uuid | undefined
  /** Those that this run performs together. */
  batchRunId?: Uuid | undefined
  /** Inclusive. */
  createdFrom?: Date | undefined
  /** Exclusive. */
  createdTo?: Date | undefined
}

/** One field of a run's metadata, and what it has to be. */
export interface MetadataFact {
  name: string
  value: string
}

/**
 * Rows that one index finds, newest first, and which of them are asked for. `rows` has what the index knows and nothing
 * else, so that what is passed over counts as looked at; they are called t there, and o in `match`.
 */
export interface Place {
  rows: string
  /** t's id of a run. */
  id: 'id' | 'run_id'
  match: string
  /** Rows of several things: an array of their ids, of which `rows` calls one thing.id. */
  things?: { ids: string; count: number }
}

/** Puts a value among the statement's, and says how it is called there. */
export type Parameter = (value: unknown, type: string) => string

// $1 is the tenant, $2 the project.
const ofTenant = (table: string, more = ''): string => `${table} t where t.tenant_id = $1${more}`
const ofProject = (table: string, more = ''): string => ofTenant(table, ` and t.project_id = $2${more}`)
const isOurs = 'o.project_id = $2'

type Column = 'job_id' | 'queue_id' | 'source' | 'created_at'
const all: readonly Column[] = ['job_id', 'queue_id', 'source', 'created_at']
const everywhere: readonly Column[] = ['job_id', 'queue_id']

/**
 * The ways to the runs of a filter. The places of one way together hold every run of it; the first way is the one that
 * promises most, each further one is for when those before had to stop early.
 */
export function waysOf(filter: RunFilter, parameter: Parameter, taggedJobs: readonly Uuid[]): Place[][] {
  const { status = [], jobId, operationId, callbackOf, batchRunId, tags = [], metadata = [] } = filter
  const facts = factsOf(filter, parameter)
  const states = status.length === 0 ? [] : [isInStates(status)]
  const tagged = (): string[] => (tags.length === 0 ? [] : [hasTags('o', parameter(tags, 'text[]'))])
  const said = metadata.map(({ name, value }) => `metadata->>${parameter(name, 'text')} = ${parameter(value, 'text')}`)
  const isSaid =
    said.length === 0 ? [] : [`exists (${detailsOf('o')} and ${said.map((it) => `x.${it}`).join(' and ')} offset 0)`]
  const labels = (): string[] => [...tagged(), ...isSaid]
  const match = (known: readonly Column[], ...more: string[]): string =>
    [...more, ...isSo(facts, known)].join(' and ') || 'true'

  if (operationId !== undefined) {
    const items = `(select distinct item_id as id, tenant_id, $2::uuid as project_id from operation_items
      where tenant_id = $1 and operation_id = ${parameter(operationId, 'uuid')} and state < 3) t where true`
    return [[{ rows: items, id: 'id', match: match([], ...states, ...labels()) }]]
  }
  for (const [column, id] of [
    ['callback_of', callbackOf],
    ['batch_id', batchRunId],
  ] as const) {
    if (id === undefined) continue
    const rows = ofTenant('run_details', ` and t.${column} = ${parameter(id, 'uuid')}`)
    return [[{ rows, id: 'run_id', match: match([], isOurs, ...states, ...labels()) }]]
  }

  const ways: Place[][] = []
  const [tag] = tags
  if (tag !== undefined && taggedJobs.length <= taggedJobsMax) {
    const also = tags.length === 1 ? isSaid : labels()
    const rows = ofProject('run_tags', ` and t.tag = ${parameter(tag, 'text')}`)
    const places: Place[] = [{ rows, id: 'run_id', match: match([], ...states, ...also) }]
    if (taggedJobs.length > 0) {
      const things = { ids: parameter(taggedJobs, 'uuid[]'), count: taggedJobs.length }
      const jobs = ofTenant('inputs', ' and t.job_id = thing.id')
      places.push({ rows: jobs, id: 'id', match: match(all, isOurs, ...states, ...labels()), things })
    }
    ways.push(places)
  }
  if (said.length > 0) {
    const own = said.map((it) => `o.${it}`)
    ways.push([
      { rows: ofTenant('run_details'), id: 'run_id', match: match([], isOurs, ...own, ...states, ...tagged()) },
    ])
  }
  if (status.length > 0) ways.push(placesOf(status, (...more) => match(everywhere, ...more, ...labels())))
  if (jobId !== undefined) {
    const rows = ofTenant('inputs', ` and t.job_id = ${parameter(jobId, 'uuid')}`)
    ways.push([{ rows, id: 'id', match: match(all, isOurs, ...states, ...labels()) }])
  }
  if (ways.length === 0) ways.push([{ rows: ofProject('inputs'), id: 'id', match: match(all, ...labels()) }])
  return ways
}

/** With more of them the runs of the project are gone through instead. */
export const taggedJobsMax = 100

/** The tables in which the runs of these states stand. */
function placesOf(status: readonly RunStatus[], match: (...more: string[]) => string): Place[] {
  const inState = `o.state in (${codesOf(status)})`
  const places: Place[] = []
  if (status.some(isFinal)) {
    // Most succeed: an index of its own has the others.
    const rows = ofProject('runs', status.includes('succeeded') ? '' : ' and t.state <> 4')
    places.push({ rows, id: 'id', match: match(inState) })
  }
  if (status.includes('scheduled')) places.push({ rows: ofTenant('due'), id: 'id', match: match(isOurs) })
  if (status.includes('ready')) places.push({ rows: ofTenant('ready'), id: 'id', match: match(isOurs) })
  if (status.includes('queued') || status.includes('running'))
    places.push({ rows: ofTenant('held'), id: 'id', match: match(isOurs, inState) })
  return places
}

/** Scheduled and ready have no code: they are tables. */
const codesOf = (status: readonly RunStatus[]): string =>
  status.flatMap((each) => (each in stateCodes ? [stateCodes[each as keyof typeof stateCodes]] : [])).join(', ')

/** Whether a run is in one of these states: each place is asked by itself. */
function isInStates(status: readonly RunStatus[]): string {
  const at = (from: string, more = ''): string =>
    `exists (select from ${from} s where s.tenant_id = $1${more} and s.id = o.id`
  const inState = ` and s.state in (${codesOf(status)})`
  const places = [
    ...(status.some(isFinal) ? [`${at('runs', ' and s.project_id = $2')}${inState} offset 0)`] : []),
    ...(status.includes('scheduled') ? [`${at('due')} offset 0)`] : []),
    ...(status.includes('ready') ? [`${at('ready')} offset 0)`] : []),
    ...(status.includes('queued') || status.includes('running')
      ? [
          `exists (select from inputs i join held s on s.pool = i.pool and s.tenant_id = i.tenant_id and s.queue_id = i.queue_id and s.id = i.id
            where i.tenant_id = $1 and i.project_id = $2 and i.id = o.id${inState} offset 0)`,
        ]
      : []),
  ]
  return `(${places.join(' or ')})`
}

/** Postgres's calendar ends before JavaScript's. */
const inCalendar = (instant: Date): Date => new Date(Math.min(Math.max(instant.getTime(), 0), Date.UTC(9999, 11, 31)))

type Fact = [column: Column, test: string]

function factsOf({ jobId, queueId, source, createdFrom, createdTo }: RunFilter, parameter: Parameter): Fact[] {
  const facts: Fact[] = []
  if (jobId !== undefined) facts.push(['job_id', `= ${parameter(jobId, 'uuid')}`])
  if (queueId !== undefined) facts.push(['queue_id', `= ${parameter(queueId, 'uuid')}`])
  if (source !== undefined) facts.push(['source', `= ${parameter(runSources.indexOf(source), 'smallint')}`])
  if (createdFrom !== undefined) facts.push(['created_at', `>= ${parameter(inCalendar(createdFrom), 'timestamptz')}`])
  if (createdTo !== undefined) facts.push(['created_at', `< ${parameter(inCalendar(createdTo), 'timestamptz')}`])
  return facts
}

/** What is asked of a run: of the columns that are known, and by a look at the others. */
function isSo(facts: readonly Fact[], known: readonly Column[]): string[] {
  const others = facts.filter(([column]) => !known.includes(column))
  const here = facts.filter(([column]) => known.includes(column)).map(([column, test]) => `o.${column} ${test}`)
  if (others.length === 0) return here
  const there = others.map(([column, test]) => `i.${column} ${test}`).join(' and ')
  return [
    ...here,
    `exists (select from inputs i where i.tenant_id = $1 and i.project_id = $2 and i.id = o.id and ${there} offset 0)`,
  ]
}

const detailsOf = (alias: string): string =>
  `select from run_details x where x.tenant_id = ${alias}.tenant_id and x.run_id = ${alias}.id`

/** Whether a run has all of these tags, its own ones or those of its job's version; SQL over its row. */
export const hasTags = (alias: string, tags: string): string =>
  `${tags} <@ array(
    select has.tag from run_details own, unnest(own.tags) has(tag) where own.tenant_id = ${alias}.tenant_id and own.run_id = ${alias}.id
    union all
    select has.tag from inputs i join job_versions v on v.tenant_id = i.tenant_id and v.job_id = i.job_id and v.version = i.job_version,
      jsonb_array_elements_text(v.definition->'tags') has(tag)
    where i.tenant_id = ${alias}.tenant_id and i.project_id = ${alias}.project_id and i.id = ${alias}.id)`
