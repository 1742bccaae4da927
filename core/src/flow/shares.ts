import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, withRead } from '../db/context.ts'
import { nilUuid } from '../kernel/ids.ts'

/** What the caller's organisation had of a pool, beside what it should have had. */
export interface PoolShare {
  /** Region and class, `local/standard`. */
  pool: string
  weight: number
  /** Slots on average while anything ran in the pool. */
  received: number
  entitled: number
  /** Of all organisations together. */
  slots: number
  tenants: number
  /** How even the shares of all were, each for what it should have been: 1 is even. */
  jain: number
}

/** How long first attempts waited from their due instant until they began. */
export interface Waits {
  runs: number
  p50Ms: number | null
  p95Ms: number | null
}

export interface ShareReport {
  pools: PoolShare[]
  waits: Waits
}

const waitsMax = 10_000

/**
 * What the caller's organisation had of the slots of each pool from `from` to `to`, by samples of whole minutes, and how
 * long its runs waited: the latest 10,000 of each project. Of others nothing is told but what they are together.
 */
export const shareReport = (ctx: Ctx, { from, to }: { from: Date; to: Date }): Promise<ShareReport> => {
  requireScope(ctx, 'queues:read')
  return withRead(ctx, async (tx) => {
    const pools = await runNamed<[string, number, number, number, number, number, number]>(
      tx.client,
      'share_report',
      `select p.region_id || '/' || p.class, l.weight, coalesce(s.received, 0) / m.samples, coalesce(s.entitled, 0) / m.samples,
         m.slots, m.tenants, m.jain
       from (select pool, sum(samples)::float8 as samples, sum(slots) / sum(samples) as slots, sum(tenants) / sum(samples) as tenants,
           sum(jain * samples) / sum(samples) as jain
         from pool_minutes where minute >= date_trunc('minute', $2::timestamptz) and minute < $3 group by pool) m
       join pools p on p.id = m.pool
       join limits l on l.tenant_id = $1 and l.queue_id = '${nilUuid}'
       left join (select pool, sum(received) as received, sum(entitled) as entitled from share_minutes
         where tenant_id = $1 and minute >= date_trunc('minute', $2::timestamptz) and minute < $3 group by pool) s on s.pool = m.pool
       order by p.id`,
      [tx.tenantId, from, to],
    )
    const waits = await runNamed<[number, number[] | null]>(
      tx.client,
      'waits_of_tenant',
      `select count(*)::int, percentile_cont(array[0.5, 0.95]) within group (order by r.ms)
       from projects p cross join lateral (
         select greatest(0, extract(epoch from r.started_at - r.due_at)::float8 * 1000) as ms from (
           select started_at, due_at, attempt from runs
           where tenant_id = p.tenant_id and project_id = p.id and ended_at >= $2 and ended_at < $3
           order by id desc limit ${waitsMax}) r
         where r.started_at is not null and r.attempt = 1) r
       where p.tenant_id = $1`,
      [tx.tenantId, from, to],
    )
    const [runs, percentiles] = waits[0] ?? [0, null]
    return {
      pools: pools.map(([pool, weight, received, entitled, slots, tenants, jain]) => ({
        ...{ pool, weight, received, entitled, slots, tenants, jain },
      })),
      waits: { runs, p50Ms: percentiles?.[0] ?? null, p95Ms: percentiles?.[1] ?? null },
    }
  })
}
