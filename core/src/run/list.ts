import { requireScope } from '../access/scope.ts'
import { type Ctx, withRead } from '../db/context.ts'
import type { Uuid } from '../kernel/ids.ts'
import { decodeCursor, type Page, type PageRequest, toPage } from '../kernel/page.ts'
import { isFinal, type Run, type RunSource, type RunStatus, runSources, stateCodes } from './run.ts'
import { selectRuns } from './select.ts'

export interface RunFilter {
  status?: RunStatus[] | undefined
  jobId?: Uuid | undefined
  queueId?: Uuid | undefined
  source?: RunSource | undefined
  /** Inclusive. */
  createdFrom?: Date | undefined
  /** Exclusive. */
  createdTo?: Date | undefined
}

/** The smallest UUIDv7 of an instant: ids carry their creation time in 48 bits, so a time range is an id range. */
const firstIdAt = (instant: Date): Uuid => {
  const hex = Math.min(Math.max(instant.getTime(), 0), 2 ** 48 - 1).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/**
 * The project's runs, newest first. Pages are stable while runs are added, and every run that was there at the first
 * page comes exactly once. The filter decides where to look, so that rare states are found without reading the rest.
 */
export const listRuns = (ctx: Ctx, filter: RunFilter, page: PageRequest): Promise<Page<Run>> => {
  requireScope(ctx, 'runs:read')
  return withRead(ctx, async (tx) => {
    const before = page.cursor === undefined ? lastId : decodeCursor(page.cursor)
    const to = filter.createdTo === undefined ? lastId : firstIdAt(filter.createdTo)
    const values = [
      tx.tenantId,
      tx.projectId,
      before < to ? before : to,
      filter.createdFrom === undefined ? '00000000-0000-0000-0000-000000000000' : firstIdAt(filter.createdFrom),
      page.limit + 1,
      filter.jobId ?? null,
      filter.queueId ?? null,
      filter.source === undefined ? null : runSources.indexOf(filter.source),
    ]
    const { name, driver, extra } = chooseDriver(filter)
    const picked = await selectRuns(tx.client, `list_runs_${name}`, driver, [...values, ...extra])
    const { items, nextCursor } = toPage(picked, page.limit)
    return { items: items.flatMap(({ run }) => (run === null ? [] : [run])), nextCursor }
  })
}

interface Driver {
  name: string
  driver: string
  extra: unknown[]
}

const byInput = `i.job_id is not distinct from coalesce($6, i.job_id) and i.queue_id = coalesce($7, i.queue_id)
  and i.source = coalesce($8, i.source)`
const range = (alias: string): string =>
  `${alias}.tenant_id = $1 and ${alias}.project_id = $2 and ${alias}.id < $3::uuid and ${alias}.id >= $4::uuid`
const newest = 'order by id desc limit $5::int'
const inputOf = (alias: string): string =>
  `exists (select from inputs i where i.tenant_id = ${alias}.tenant_id and i.project_id = ${alias}.project_id and i.id = ${alias}.id and ${byInput} offset 0)`

function chooseDriver({ status, jobId, queueId, source }: RunFilter): Driver {
  const needsInput = jobId !== undefined || queueId !== undefined || source !== undefined
  if (status === undefined || status.length === 0) {
    const job = jobId === undefined ? '' : 'i.job_id = $6 and '
    return { name: jobId === undefined ? 'all' : 'job', driver: `select i.id from inputs i where ${job}${range('i')} and ${byInput} ${newest}`, extra: [] }
  }
  const final = status.filter(isFinal)
  const open = status.filter((each) => !isFinal(each))
  const arms: string[] = []
  if (final.length > 0) {
    const unsuccessful = final.includes('succeeded') ? '' : 'r.state <> 4 and '
    const match = jobId !== undefined ? `r.job_id = $6 and ${queueId === undefined && source === undefined ? unused('r') : inputOf('r')}` : needsInput ? inputOf('r') : unused('r')
    arms.push(`(select r.id from runs r where ${unsuccessful}r.state = any($9::smallint[]) and ${range('r')} and ${match} ${newest})`)
  }
  const condition = (alias: string): string => (needsInput ? inputOf(alias) : unused(alias))
  if (open.includes('scheduled')) arms.push(`(select d.id from due d where ${range('d')} and ${condition('d')} ${newest})`)
  if (open.includes('ready')) arms.push(`(select w.id from ready w where ${range('w')} and ${condition('w')} ${newest})`)
  if (open.includes('queued') || open.includes('running')) {
    arms.push(`(select h.id from held h where h.state = any($9::smallint[]) and ${range('h')} and ${condition('h')} ${newest})`)
  }
  const codes = status.flatMap((each) => (each in stateCodes ? [stateCodes[each as keyof typeof stateCodes]] : []))
  const shape = [final.length > 0 ? (final.includes('succeeded') ? 'final' : 'bad') : '', ...[...open].sort(), jobId ? 'job' : '', queueId || source ? 'input' : '']
  return {
    name: shape.filter((part) => part !== '').join('_'),
    driver: `select id from (${arms.join(' union all ')}) x where $9::smallint[] is not null ${newest}`,
    extra: [codes],
  }
}

/** Keeps the statement's parameters the same whatever the filter: an unused one must still be mentioned. */
const unused = (alias: string): string =>
  `(${alias}.id is not null or $6::uuid is null or $7::uuid is null or $8::smallint is null)`
