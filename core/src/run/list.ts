import { requireScope } from '../access/scope.ts'
import { type Ctx, withRead } from '../db/context.ts'
import { nilUuid, type Uuid } from '../kernel/ids.ts'
import { decodeCursor, type Page, type PageRequest, toPage } from '../kernel/page.ts'
import { isFinal, type Run, type RunSource, type RunStatus, runSources, stateCodes } from './run.ts'
import { selectRuns } from './select.ts'

export interface RunFilter {
  status?: RunStatus[] | undefined
  jobId?: Uuid | undefined
  queueId?: Uuid | undefined
  source?: RunSource | undefined
  /** What an operation made, or is about. */
  operationId?: Uuid | undefined
  /** All of these: its own, or its job's. */
  tags?: readonly string[] | undefined
  /** Those that tell the end of this run. */
  callbackOf?: Uuid | undefined
  /** Those that this run performs together. */
  batchRunId?: Uuid | undefined
  /** Inclusive. */
  createdFrom?: Date | undefined
  /** Exclusive. */
  createdTo?: Date | undefined
}

/**
 * Ids carry their time in 48 bits, so a time range is an id range, which is what makes it cheap. They are made by the
 * api's clock a moment before the run is created by the database's, so that range is a little wider than asked.
 */
const idSlackMs = 10_000
const firstIdAt = (instant: Date, slackMs: number): Uuid => {
  const hex = Math.min(Math.max(instant.getTime() + slackMs, 0), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
/** Postgres's calendar ends before JavaScript's. */
const inCalendar = (instant: Date): Date => new Date(Math.min(Math.max(instant.getTime(), 0), Date.UTC(9999, 11, 31)))

/**
 * The project's runs, newest first. Pages are stable while runs are added, and every run that was there at the first
 * page comes exactly once. The filter decides where to look, so that rare states are found without reading the rest.
 */
export const listRuns = (ctx: Ctx, filter: RunFilter, page: PageRequest): Promise<Page<Run>> => {
  requireScope(ctx, 'runs:read')
  return withRead(ctx, async (tx) => {
    const { createdFrom, createdTo } = filter
    const before = page.cursor === undefined ? lastId : decodeCursor(page.cursor)
    const to = createdTo === undefined ? lastId : firstIdAt(createdTo, idSlackMs)
    const values = [
      tx.tenantId,
      tx.projectId,
      [before, to].toSorted()[0],
      createdFrom === undefined ? nilUuid : firstIdAt(createdFrom, -idSlackMs),
      page.limit + 1,
      filter.jobId ?? null,
      filter.queueId ?? null,
      filter.source === undefined ? null : runSources.indexOf(filter.source),
      createdFrom === undefined ? null : inCalendar(createdFrom),
      createdTo === undefined ? null : inCalendar(createdTo),
    ]
    const { name, driver, extra } = driverOf(filter)
    const picked = await selectRuns(tx.client, `list_runs_${name}`, driver, [...values, ...extra])
    const { items, nextCursor } = toPage(picked, page.limit)
    return { items: items.flatMap(({ run }) => (run === null ? [] : [run])), nextCursor }
  })
}

function driverOf(filter: RunFilter): Driver {
  if (filter.operationId !== undefined) return ofOperation(filter)
  if (filter.callbackOf !== undefined) return ofRelated('callback_of', filter.callbackOf, filter)
  if (filter.batchRunId !== undefined) return ofRelated('batch_id', filter.batchRunId, filter)
  return filter.tags !== undefined && filter.tags.length > 0 ? ofTags(filter) : chooseDriver(filter)
}

interface Driver {
  name: string
  driver: string
  extra: unknown[]
}

const byInput = `i.job_id is not distinct from coalesce($6, i.job_id) and i.queue_id = coalesce($7, i.queue_id)
  and i.source = coalesce($8, i.source) and i.created_at >= coalesce($9, i.created_at)
  and i.created_at < coalesce($10, timestamptz 'infinity')`
const range = (alias: string): string =>
  `${alias}.tenant_id = $1 and ${alias}.project_id = $2 and ${alias}.id < $3::uuid and ${alias}.id >= $4::uuid`
const newest = 'order by id desc limit $5::int'
const inputOf = (alias: string): string =>
  `exists (select from inputs i where i.tenant_id = ${alias}.tenant_id and i.project_id = ${alias}.project_id and i.id = ${alias}.id and ${byInput} offset 0)`

function chooseDriver({ status, jobId, queueId, source, createdFrom, createdTo }: RunFilter): Driver {
  const needsMore =
    queueId !== undefined || source !== undefined || createdFrom !== undefined || createdTo !== undefined
  const needsInput = jobId !== undefined || needsMore
  if (status === undefined || status.length === 0) {
    const job = jobId === undefined ? '' : 'i.job_id = $6 and '
    return {
      name: jobId === undefined ? 'all' : 'job',
      driver: `select i.id from inputs i where ${job}${range('i')} and ${byInput} ${newest}`,
      extra: [],
    }
  }
  const final = status.filter(isFinal)
  const open = status.filter((each) => !isFinal(each))
  const arms: string[] = []
  if (final.length > 0) {
    const unsuccessful = final.includes('succeeded') ? '' : 'r.state <> 4 and '
    const match =
      jobId !== undefined
        ? `r.job_id = $6 and ${needsMore ? inputOf('r') : unused('r')}`
        : needsInput
          ? inputOf('r')
          : unused('r')
    arms.push(
      `(select r.id from runs r where ${unsuccessful}r.state = any($11::smallint[]) and ${range('r')} and ${match} ${newest})`,
    )
  }
  const condition = (alias: string): string => (needsInput ? inputOf(alias) : unused(alias))
  if (open.includes('scheduled'))
    arms.push(`(select d.id from due d where ${range('d')} and ${condition('d')} ${newest})`)
  if (open.includes('ready'))
    arms.push(`(select w.id from ready w where ${range('w')} and ${condition('w')} ${newest})`)
  if (open.includes('queued') || open.includes('running')) {
    arms.push(
      `(select h.id from held h where h.state = any($11::smallint[]) and ${range('h')} and ${condition('h')} ${newest})`,
    )
  }
  const codes = codesOf(status)
  const shape = [
    final.length > 0 ? (final.includes('succeeded') ? 'final' : 'bad') : '',
    ...[...open].sort(),
    jobId ? 'job' : '',
    needsMore ? 'input' : '',
  ]
  return {
    name: shape.filter((part) => part !== '').join('_'),
    driver: `select id from (${arms.join(' union all ')}) x where $11::smallint[] is not null ${newest}`,
    extra: [codes],
  }
}

const codesOf = (status: readonly RunStatus[]): number[] =>
  status.flatMap((each) => (each in stateCodes ? [stateCodes[each as keyof typeof stateCodes]] : []))

/** Whether a run `o` is in one of these states: each is looked at by itself. $12 are their codes. */
function inStates(status: readonly RunStatus[]): string {
  const isIn = (table: string, more = ''): string =>
    `exists (select from ${table} s where s.tenant_id = $1 and s.id = o.id ${more} offset 0)`
  const states = `and s.state = any($12::smallint[])`
  const places = [
    ...(status.some(isFinal) ? [isIn('runs', states)] : []),
    ...(status.includes('scheduled') ? [isIn('due')] : []),
    ...(status.includes('ready') ? [isIn('ready')] : []),
    ...(status.includes('queued') || status.includes('running') ? [isIn('held', states)] : []),
  ]
  return `$12::smallint[] is not null ${places.length > 0 ? `and (${places.join(' or ')})` : ''}`
}

/** An operation knows its runs, at most as many as it has items. */
function ofOperation({ operationId, status = [] }: RunFilter): Driver {
  return {
    name: ['operation', ...status.toSorted()].join('_'),
    driver: `select o.id from (select distinct item_id as id, $2::uuid as project_id, tenant_id from operation_items
         where tenant_id = $1 and operation_id = $11::uuid and state < 3 and item_id < $3::uuid and item_id >= $4::uuid) o
       where ${inputOf('o')} and ${inStates(status)} ${newest}`,
    extra: [operationId, codesOf(status)],
  }
}

/** A run has few others that belong to it. */
function ofRelated(column: 'callback_of' | 'batch_id', id: Uuid, { status = [] }: RunFilter): Driver {
  return {
    name: [column, ...status.toSorted()].join('_'),
    driver: `select o.id from (select run_id as id, project_id, tenant_id from run_details
         where tenant_id = $1 and project_id = $2 and ${column} = $11::uuid and run_id < $3::uuid and run_id >= $4::uuid) o
       where ${inputOf('o')} and ${inStates(status)} ${newest}`,
    extra: [id, codesOf(status)],
  }
}

/** Runs with tags of their own are found by the first of them; those of jobs with it, version by version. */
function ofTags({ tags = [], status = [] }: RunFilter): Driver {
  const isWanted = `${inputOf('o')} and ${inStates(status)} and (cardinality($13::text[]) = 1 or ${hasTags('o', '$13::text[]')})`
  return {
    name: ['tags', ...status.toSorted()].join('_'),
    driver: `select id from (
      (select o.id from (select run_id as id, project_id, tenant_id from run_tags t where t.tenant_id = $1 and t.project_id = $2 and t.tag = $11
         and t.run_id < $3::uuid and t.run_id >= $4::uuid order by t.run_id desc) o where ${isWanted} limit $5::int)
      union
      select o.id from (
        select v.job_id, v.version from job_versions v join jobs j on j.tenant_id = v.tenant_id and j.id = v.job_id
        where v.tenant_id = $1 and j.project_id = $2 and v.definition->'tags' ? $11) v
      cross join lateral (
        select o.id from (select i.id, i.project_id, i.tenant_id, i.job_version from inputs i where i.tenant_id = $1 and i.project_id = $2
          and i.job_id = v.job_id and i.id < $3::uuid and i.id >= $4::uuid order by i.id desc) o
        where o.job_version = v.version and ${isWanted} limit $5::int) o) x ${newest}`,
    extra: [tags[0], codesOf(status), tags],
  }
}

/** Whether a run has all of these tags, its own ones or those of its job's version; SQL over its row. */
export const hasTags = (alias: string, tags: string): string =>
  `${tags} <@ array(
    select has.tag from run_details own, unnest(own.tags) has(tag) where own.tenant_id = ${alias}.tenant_id and own.run_id = ${alias}.id
    union all
    select has.tag from inputs i join job_versions v on v.tenant_id = i.tenant_id and v.job_id = i.job_id and v.version = i.job_version,
      jsonb_array_elements_text(v.definition->'tags') has(tag)
    where i.tenant_id = ${alias}.tenant_id and i.project_id = ${alias}.project_id and i.id = ${alias}.id)`

/** Keeps the statement's parameters the same whatever the filter: an unused one must still be mentioned. */
const unused = (alias: string): string =>
  `(${alias}.id is not null or $6::uuid is null or $7::uuid is null or $8::smallint is null
    or $9::timestamptz is null or $10::timestamptz is null)`
