import { LRUCache } from 'lru-cache'
import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withRead } from '../db/context.ts'
import { poolName } from '../flow/pool-name.ts'
import { nilUuid, type Uuid } from '../kernel/ids.ts'
import { runBetween } from '../kernel/steps.ts'
import { type Durations, measuredDurations } from '../run/durations.ts'
import { type Forecast, type ForecastSeries, forecastSteps } from '../schedule/forecast.ts'
import { hostsOf } from './hosts.ts'
import { countOneOffs, lookedAtMax, type Plan, type PlannedJob, readPlan } from './plan.ts'
import { computeOnce } from './starts.ts'

export const seriesKinds = ['pool', 'queue', 'host'] as const
export type SeriesKind = (typeof seriesKinds)[number]

/** What starts and what is going on in consecutive slices of time. */
export interface LoadSeries {
  /** The most that can go on at once; null: nothing limits it. */
  capacity: number | null
  starts: number[]
  /** Runs that are going on, on average over each slice, by the measured durations of their jobs. */
  running: number[]
}

export interface Load {
  from: Date
  bucketMs: number
  total: LoadSeries
  /** The fullest of each kind, those with the most starts first. */
  series: (LoadSeries & { kind: SeriesKind; name: string })[]
  jobs: number
  /** Jobs without a run to measure: their starts count, what is going on does not. */
  unmeasuredJobs: number
  /** Jobs whose schedules have too many instants to be counted. */
  uncountedJobs: number
}

const seriesMax = 25
const chunk = 1_000

const known = new LRUCache<string, Promise<Forecast>>({ max: 50 })
const durations = new LRUCache<Uuid, Durations | 'none'>({ max: 200_000, ttl: 10 * 60_000 })

/**
 * What the project's schedules will do from the minute that is going on until `untilMs`, in slices of `bucketMs`: exact
 * starts, and the work they make by how long their jobs' runs took, against what there is to do it.
 */
export async function forecastLoad(ctx: Ctx, range: { untilMs: number; bucketMs: number }): Promise<Load> {
  requireScope(ctx, 'jobs:read')
  const { bucketMs } = range
  const { plan, size, oneOffs, limits } = await withRead(ctx, async (tx) => {
    const plan = await readPlan(tx)
    const size = Math.max(1, Math.ceil((range.untilMs - plan.bucketsFromMs) / bucketMs))
    const oneOffs = await countOneOffs(tx, { ...plan, bucketMs, size })
    return { plan, size, oneOffs, limits: await readLimits(tx) }
  })
  const hosts = await hostsOf(ctx, plan.jobs)
  const measured = await durationsOf(ctx, plan.jobs)
  const jobs = plan.jobs.map((job) => ({ ...job, keys: keysOf(job, hosts, limits), ...measured.get(job.id) }))
  const computed = await computeOnce(known, `${plan.stamp},${bucketMs},${size}`, () =>
    compute(plan, jobs, bucketMs, size),
  )
  const total = toSeries(computed.total, limits.tenant)
  return {
    from: new Date(plan.bucketsFromMs),
    bucketMs,
    total: { ...total, starts: total.starts.map((count, bucket) => count + (oneOffs[bucket] ?? 0)) },
    series: seriesKinds.flatMap((kind) => fullest(computed, kind, limits)),
    jobs: jobs.length,
    unmeasuredJobs: jobs.filter(({ durationMs }) => durationMs === undefined).length,
    uncountedJobs: computed.failures.reduce((sum, failure) => sum + failure.jobs.length, 0),
  }
}

type WeighedJob = PlannedJob & { keys: string[]; durationMs?: number }

function compute(plan: Plan, jobs: readonly WeighedJob[], bucketMs: number, size: number): Promise<Forecast> {
  const untilMs = plan.bucketsFromMs + size * bucketMs
  return runBetween(forecastSteps(jobs, { ...plan, untilMs, bucketMs, lookedAtMax }))
}

function keysOf({ id, queue, pool }: PlannedJob, hosts: ReadonlyMap<Uuid, string>, limits: Limits): string[] {
  const host = hosts.get(id)
  const keys = [`queue:${queue}`, `pool:${limits.pools.get(pool)?.name ?? pool}`]
  return host === undefined ? keys : [...keys, `host:${host}`]
}

async function durationsOf(ctx: Ctx, jobs: readonly PlannedJob[]): Promise<Map<Uuid, { durationMs: number }>> {
  const unknown = jobs.filter(({ id }) => !durations.has(id)).map(({ id }) => id)
  for (let start = 0; start < unknown.length; start += chunk) {
    const some = unknown.slice(start, start + chunk)
    const measured = await withRead(ctx, (tx) => measuredDurations(tx, some))
    for (const id of some) durations.set(id, measured.get(id) ?? 'none')
  }
  return new Map(
    jobs.flatMap(({ id }) => {
      const measured = durations.get(id)
      return measured === undefined || measured === 'none' ? [] : [[id, { durationMs: measured.meanMs }]]
    }),
  )
}

interface Limits {
  tenant: number | null
  queues: Map<string, number>
  pools: Map<number, { name: string; capacity: number | null }>
}

async function readLimits(tx: Tx): Promise<Limits> {
  const queues = await runNamed<[string | null, number]>(
    tx.client,
    'limits_of_project',
    `select q.name, l.concurrency from limits l left join queues q on q.tenant_id = l.tenant_id and q.id = l.queue_id
     where l.tenant_id = $1 and (l.queue_id = '${nilUuid}' or q.project_id = $2)`,
    [tx.tenantId, tx.projectId],
  )
  const pools = await runNamed<[number, string, number | null]>(
    tx.client,
    'capacities_of_pools',
    `select p.id, ${poolName}, (select sum(e.capacity)::int from executors e
       where e.pool = p.id and e.seen_at > now() - interval '10 seconds') from pools p`,
    [],
  )
  return {
    tenant: queues.find(([name]) => name === null)?.[1] ?? null,
    queues: new Map(queues.flatMap(([name, concurrency]) => (name === null ? [] : [[name, concurrency]]))),
    pools: new Map(pools.map(([id, name, capacity]) => [id, { name, capacity }])),
  }
}

function fullest({ byKey }: Forecast, kind: SeriesKind, limits: Limits): Load['series'] {
  const capacityOf = (name: string): number | null => {
    if (kind === 'queue') return limits.queues.get(name) ?? null
    if (kind === 'pool') return [...limits.pools.values()].find((pool) => pool.name === name)?.capacity ?? null
    return null
  }
  return [...byKey]
    .filter(([key]) => key.startsWith(`${kind}:`))
    .map(([key, series]) => ({ name: key.slice(kind.length + 1), series, sum: sumOf(series.starts) }))
    .sort((a, b) => b.sum - a.sum || (a.name < b.name ? -1 : 1))
    .slice(0, seriesMax)
    .map(({ name, series }) => ({ kind, name, ...toSeries(series, capacityOf(name)) }))
}

const sumOf = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0)

const toSeries = ({ starts, running }: ForecastSeries, capacity: number | null): LoadSeries => ({
  capacity,
  starts: [...starts],
  running: Array.from(running, (value) => Math.round(value * 100) / 100),
})
