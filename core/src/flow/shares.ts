import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withRead } from '../db/context.ts'
import { nilUuid } from '../kernel/ids.ts'
import { type QueueClass, queueClasses } from './classes.ts'
import { poolName } from './pool-name.ts'

/** Slots on average, while anything ran in the pool. */
export interface Share {
  received: number
  entitled: number
}

/** What the caller's organisation had of a pool, beside what it should have had. */
export interface PoolShare extends Share {
  /** The region of its executors, which queues of all classes share. */
  pool: string
  weight: number
  /** Of all organisations together. */
  slots: number
  tenants: number
  /** How even the shares of all were, each for what it should have been: 1 is even. */
  jain: number
  /** The same over time; steps in which nothing ran are left out. */
  series: (Share & { at: Date; slots: number })[]
}

/** How long first attempts waited from their due instant until they began. */
export interface Waits {
  runs: number
  p50Ms: number | null
  p95Ms: number | null
}

/** The same of a queue of the caller's project, within its organisation. */
export interface QueueShare extends Share {
  queue: string
  pool: string
  /** Of the queue as it is now. */
  class: QueueClass
  weight: number
  waits: Waits
}

export interface ShareReport {
  pools: PoolShare[]
  /** Those that had slots, or wanted some; the first hundred by what they should have had. */
  queues: QueueShare[]
  waits: Waits
  /** Of a series. */
  stepMs: number
}

const waitsMax = 10_000
const queuesMax = 100
const stepsMax = 60
const minuteMs = 60_000

/**
 * What the caller's organisation had of the slots of each pool from `from` to `to`, by samples of whole minutes, what each
 * queue of the project had, and how long runs waited: the latest 10,000 of each project. Of others nothing is told but
 * what they are together.
 */
export const shareReport = (ctx: Ctx, range: { from: Date; to: Date }): Promise<ShareReport> => {
  requireScope(ctx, 'queues:read')
  const spanMs = range.to.getTime() - range.from.getTime()
  const stepMs = Math.max(1, Math.ceil(spanMs / minuteMs / stepsMax)) * minuteMs
  return withRead(ctx, async (tx) => ({
    pools: await readPools(tx, range, stepMs),
    queues: await readQueues(tx, range),
    waits: await readWaits(tx, range),
    stepMs,
  }))
}

const inRange = (minute: string): string => `${minute} >= date_trunc('minute', $2::timestamptz) and ${minute} < $3`

type PoolRow = [string, number, number, number, number, number, number, Date[], number[], number[], number[]]

async function readPools(tx: Tx, { from, to }: { from: Date; to: Date }, stepMs: number): Promise<PoolShare[]> {
  const rows = await runNamed<PoolRow>(
    tx.client,
    'share_report',
    `with m as materialized (
       select m.pool, date_bin($4::float8 * interval '1 millisecond', m.minute, date_trunc('minute', $2::timestamptz)) as at, m.samples,
         m.slots, m.tenants, m.jain * m.samples as jain, coalesce(s.received, 0) as received, coalesce(s.entitled, 0) as entitled
       from pool_minutes m left join share_minutes s on s.tenant_id = $1 and s.pool = m.pool and s.minute = m.minute
       where ${inRange('m.minute')})
     select ${poolName}, l.weight, sum(x.received) / sum(x.samples), sum(x.entitled) / sum(x.samples),
       sum(x.slots) / sum(x.samples), sum(x.tenants) / sum(x.samples), sum(x.jain) / sum(x.samples),
       array_agg(x.at order by x.at), array_agg(x.received / x.samples order by x.at),
       array_agg(x.entitled / x.samples order by x.at), array_agg(x.slots / x.samples order by x.at)
     from (select pool, at, sum(samples)::float8 as samples, sum(slots) as slots, sum(tenants) as tenants, sum(jain) as jain,
         sum(received) as received, sum(entitled) as entitled from m group by pool, at) x
     join pools p on p.id = x.pool
     join limits l on l.tenant_id = $1 and l.queue_id = '${nilUuid}'
     group by p.id, p.region_id, p.class, l.weight order by p.id`,
    [tx.tenantId, from, to, stepMs],
  )
  return rows.map(([pool, weight, received, entitled, slots, tenants, jain, ats, receiveds, entitleds, slotses]) => ({
    ...{ pool, weight, received, entitled, slots, tenants, jain },
    series: ats.map((at, index) => ({
      at,
      received: receiveds[index] ?? 0,
      entitled: entitleds[index] ?? 0,
      slots: slotses[index] ?? 0,
    })),
  }))
}

/** First attempts of the latest runs of a project that ended in the range, as `ms` and `queue_id`. */
const waitsOf = (project: string): string => `
  select r.queue_id, greatest(0, extract(epoch from r.started_at - r.due_at)::float8 * 1000) as ms from (
    select queue_id, started_at, due_at, attempt from runs
    where tenant_id = $1 and project_id = ${project} and ended_at >= $2 and ended_at < $3
    order by id desc limit ${waitsMax}) r
  where r.started_at is not null and r.attempt = 1`

const percentiles = 'percentile_cont(array[0.5, 0.95]) within group (order by ms)'

const toWaits = (runs: number, ms: number[] | null): Waits => ({
  runs,
  p50Ms: ms?.[0] ?? null,
  p95Ms: ms?.[1] ?? null,
})

async function readQueues(tx: Tx, { from, to }: { from: Date; to: Date }): Promise<QueueShare[]> {
  const rows = await runNamed<[string, string, number, number, number, number, number, number[] | null]>(
    tx.client,
    'queue_share_report',
    `with m as (select pool, sum(samples)::float8 as samples from pool_minutes where ${inRange('minute')} group by pool),
     s as (select queue_id, pool, sum(received) as received, sum(entitled) as entitled from queue_share_minutes
       where tenant_id = $1 and ${inRange('minute')} group by queue_id, pool),
     w as (select queue_id, count(*)::int as runs, ${percentiles} as ms from (${waitsOf('$4')}) x group by queue_id)
     select q.name, ${poolName}, l.class, l.weight, coalesce(s.received / m.samples, 0) as received,
       coalesce(s.entitled / m.samples, 0) as entitled, coalesce(w.runs, 0), w.ms
     from queues q
     join limits l on l.tenant_id = $1 and l.queue_id = q.id
     left join s on s.queue_id = q.id
     left join m on m.pool = s.pool
     left join w on w.queue_id = q.id
     join pools p on p.id = coalesce(s.pool, q.pool)
     where q.tenant_id = $1 and q.project_id = $4 and (s.queue_id is not null or w.queue_id is not null)
     order by entitled desc, received desc, q.name limit ${queuesMax}`,
    [tx.tenantId, from, to, tx.projectId],
  )
  return rows.map(([queue, pool, queueClass, weight, received, entitled, runs, ms]) => ({
    ...{ queue, pool, class: queueClasses[queueClass] ?? 'standard', weight, received, entitled },
    waits: toWaits(runs, ms),
  }))
}

async function readWaits(tx: Tx, { from, to }: { from: Date; to: Date }): Promise<Waits> {
  const rows = await runNamed<[number, number[] | null]>(
    tx.client,
    'waits_of_tenant',
    `select count(*)::int, ${percentiles} from projects p cross join lateral (${waitsOf('p.id')}) w where p.tenant_id = $1`,
    [tx.tenantId, from, to],
  )
  const [runs, ms] = rows[0] ?? [0, null]
  return toWaits(runs, ms)
}
