import { hash } from 'node:crypto'
import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withRead } from '../db/context.ts'
import { nilUuid, type Uuid, uuidTimeMs } from '../kernel/ids.ts'
import { decodeCursor, encodeCursor, type Page, type PageRequest } from '../kernel/page.ts'
import type { Run } from './run.ts'
import { type Place, type RunFilter, taggedJobsMax, waysOf } from './run-filter.ts'
import { selectPage } from './select.ts'

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

/** So many runs are looked at for one page at most, whatever is asked for. */
export const lookMax = 10_000
/** A run of which something has to be looked up elsewhere costs as much as so many others. */
const costOfLookup = 5

/**
 * Every look goes by an index, in its order, and ends early. Where tables are large, or a plan is made for any values, the
 * planner would rather read all there is and sort it.
 */
const pinPlans = ['enable_sort', 'enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']
  .map((setting) => `set local ${setting} = off`)
  .concat('set local plan_cache_mode = force_generic_plan')
  .join('; ')

/** A page of runs. */
export interface RunPage extends Page<Run> {
  /** Set when the page is not full though there may be more: so far back was looked. The next page goes on from there. */
  lookedTo: Date | null
}

/**
 * The project's runs, newest first. Pages are stable while runs are added, and every run that was there at the first
 * page comes exactly once. The filter decides where to look, so that rare states are found without reading the rest; what
 * no index has is looked for among `lookMax` runs a page, so that a page may be short, or empty, before the last one.
 */
export const listRuns = (ctx: Ctx, filter: RunFilter, page: PageRequest, looked = lookMax): Promise<RunPage> => {
  requireScope(ctx, 'runs:read')
  return withRead(ctx, async (tx) => {
    const { createdFrom, createdTo, tags: [tag] = [] } = filter
    const before = page.cursor === undefined ? lastId : decodeCursor(page.cursor)
    const to = createdTo === undefined ? lastId : firstIdAt(createdTo, idSlackMs)
    const values: unknown[] = [tx.tenantId, tx.projectId]
    const parameter = (value: unknown, type: string): string => `$${values.push(value)}::${type}`
    const range: Range = {
      before: parameter([before, to].toSorted()[0], 'uuid'),
      from: parameter(createdFrom === undefined ? nilUuid : firstIdAt(createdFrom, -idSlackMs), 'uuid'),
      limit: parameter(page.limit, 'int'),
    }
    const ways = waysOf(filter, parameter, tag === undefined ? [] : await jobsWithTag(tx, tag))
    await tx.client.query(pinPlans)
    const ctes = pageOf(ways, range, looked)
    const name = `list_runs_${hash('sha1', ctes, 'hex').slice(0, 16)}`
    const { runs, nextId, isShort } = await selectPage(tx.client, name, ctes, values)
    return {
      items: runs,
      nextCursor: nextId === null ? null : encodeCursor(nextId),
      lookedTo: nextId !== null && isShort ? new Date(uuidTimeMs(nextId)) : null,
    }
  })
}

/** Jobs some version of which has the tag, at most one more than are asked one by one. */
async function jobsWithTag(tx: Tx, tag: string): Promise<Uuid[]> {
  const rows = await runNamed<[Uuid]>(
    tx.client,
    'jobs_with_tag',
    `select distinct v.job_id from job_versions v join jobs j on j.tenant_id = v.tenant_id and j.id = v.job_id
     where v.tenant_id = $1 and j.project_id = $2 and v.definition->'tags' ? $3 limit ${taggedJobsMax + 1}`,
    [tx.tenantId, tx.projectId, tag],
  )
  return rows.map(([id]) => id)
}

interface Range {
  before: string
  from: string
  limit: string
}

/**
 * CTEs that end in `page` (the ids) and `rest` (where the next page goes on, and whether this one is short). Of every
 * place the newest that match are found among the newest that there are; where those were not all, the place is `seen` down
 * to the last of them only. What was found below that is left to the next page.
 */
function pageOf(ways: readonly Place[][], { before, from, limit }: Range, looked: number): string {
  const ctes: string[] = []
  ways.forEach((places, way) => {
    const previous = way === 0 ? 'true' : `(select id is not null from way_${way - 1})`
    const share = Math.ceil(looked / places.length)
    places.forEach(({ rows, id, match, things }, number) => {
      const name = `${way}_${number}`
      const ofEach = (rows: string): string =>
        things === undefined
          ? rows
          : `select o.id from unnest(${things.ids}) thing(id) cross join lateral (${rows}) o order by o.id desc`
      const isCostly = match.includes('select')
      const depth = Math.ceil(share / (things?.count ?? 1) / (isCostly ? costOfLookup : 1))
      const newest = `${rows} and t.${id} < ${before} and t.${id} >= ${from} order by t.${id} desc`
      const columns = id === 'id' ? 't.*' : 't.run_id as id, t.*'
      ctes.push(
        `found_${name} as materialized (select id from (${ofEach(`select o.id from (select ${columns} from ${newest} limit ${depth}) o
          where ${previous} and ${match} order by o.id desc limit ${limit} + 1`)}) o limit ${limit} + 1)`,
        `seen_${name} as materialized (select case when ${previous} and (select count(*) from found_${name}) <= ${limit} then (
          select id from (${ofEach(`select t.${id} as id from ${newest} offset ${depth - 1} limit 1`)}) o limit 1) end as id)`,
      )
    })
    const seen = places.map((_, number) => `(select id from seen_${way}_${number})`)
    ctes.push(`way_${way} as materialized (select greatest(${seen.join(', ')}) as id)`)
  })
  const found = ways.flatMap((places, way) => places.map((_, number) => `select id from found_${way}_${number}`))
  const seen = ways.map((_, way) => `(select id from way_${way})`)
  return `${ctes.join(',\n')},
    seen as materialized (select case when ${seen.map((id) => `${id} is not null`).join(' and ')} then least(${seen.join(', ')}) end as id),
    whole as materialized (select id from (${found.join(' union ')}) found
      where id >= coalesce((select id from seen), '${nilUuid}'::uuid) order by id desc limit ${limit} + 1),
    page as materialized (select id from whole order by id desc limit ${limit}),
    rest as (select case when count > ${limit} then (select id from page order by id limit 1) else (select id from seen) end as id,
      count < ${limit} as is_short from (select count(*) from whole))`
}
