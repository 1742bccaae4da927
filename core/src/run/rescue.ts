import { arrayLiteral, type Pool, runNamed } from '../db/client.ts'
import type { Admitted } from './admit.ts'
import { readyPool } from './ready-pool.ts'

export interface Rescued {
  /** Queued runs that nobody claimed in time: back to ready, no attempt and nothing of a rate spent. */
  requeued: number
  /** Running ones whose executor fell silent: sent back for another try. */
  retried: number
  /** The same, with no try left: failed with `lease-lost`. */
  failed: number
}

const statement = `
  with lost as (
    delete from held h where h.ctid = any(array(
      select ctid from held where pool = $1 and lease_until < (select clock_timestamp()) limit $2 for update skip locked))
    returning h.*),
  requeued as (
    insert into ready (pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week, job_id, nominal_at, lane)
    select ${readyPool}, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week, job_id, nominal_at, lane
    from lost where state = 2 or attempt < attempts_max
    returning 1),
  attempted as (
    insert into attempts (tenant_id, run_id, attempt, fence, due_at, started_at, ended_at, error, retry_at, executor_id)
    select tenant_id, id, attempt, fence, due_at, since, clock_timestamp(), 'lease-lost', clock_timestamp(), executor_id
    from lost where state = 3 and attempt < attempts_max),
  failed as (
    insert into runs (tenant_id, project_id, id, queue_id, pool, state, attempt, fence, due_at, started_at, ended_at, error, job_id,
      nominal_at, executor_id)
    select tenant_id, project_id, id, queue_id, pool, 5, attempt, fence, due_at, since, clock_timestamp(), 'lease-lost', job_id,
      nominal_at, executor_id
    from lost where state = 3 and attempt >= attempts_max),
  told as (
    insert into events (tenant_id, project_id, type, subject, job_id, data)
    select tenant_id, project_id, case when state = 3 and attempt >= attempts_max then 'run.failed' else 'run.rescued' end, id, job_id,
      jsonb_build_object('error', case when state = 2 then 'carrier-lost' else 'lease-lost' end, 'attempt', attempt)
    from lost)
  select count(*) filter (where state = 2)::int, count(*) filter (where state = 3 and attempt < attempts_max)::int,
    count(*) filter (where state = 3 and attempt >= attempts_max)::int
  from lost cross join (select return_tokens(array_agg(tenant_id), array_agg(queue_id), array_agg(lane)) from lost where state = 2) back`

/**
 * Heals what was left behind in a pool: runs whose carrier or executor was lost. Any number of callers may run it at
 * once. A run that was performed but not recorded runs again: attempts are at-least-once.
 */
export async function rescueRuns(pool: Pool, poolId: number, limit: number): Promise<Rescued> {
  const rows = await runNamed<[number, number, number]>(pool, 'rescue_runs', statement, [poolId, limit])
  const [requeued, retried, failed] = rows[0] ?? [0, 0, 0]
  return { requeued, retried, failed }
}

/** The same for every pool of a shard, until nothing is left behind. */
export async function rescueShard(engine: Pool, shard: number, limit: number): Promise<Rescued> {
  const pools = await runNamed<[number]>(engine, 'pools_of_shard', 'select id from pools where shard_id = $1', [shard])
  const total: Rescued = { requeued: 0, retried: 0, failed: 0 }
  for (const [pool] of pools) {
    for (let found = limit; found >= limit; ) {
      const { requeued, retried, failed } = await rescueRuns(engine, pool, limit)
      found = requeued + retried + failed
      total.requeued += requeued
      total.retried += retried
      total.failed += failed
    }
  }
  return total
}

/**
 * Puts runs back that were admitted but could not be carried: queued -> ready, no attempt and nothing of a rate spent.
 * Returns how many were still waiting to be claimed.
 */
export async function returnQueued(pool: Pool, poolId: number, admitted: Admitted[]): Promise<number> {
  const rows = await runNamed<[number]>(
    pool,
    'return_queued',
    `with d as (
       delete from held h using (
         select k.place from unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::int[]) u(t, q, i, f)
         cross join lateral (
           select h.ctid as place from held h
           where h.pool = $1 and h.tenant_id = u.t and h.queue_id = u.q and h.id = u.i and h.fence = u.f offset 0) k) x
       where h.ctid = x.place and h.state + 0 = 2 returning h.*),
     r as (
       insert into ready (pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week, job_id, nominal_at, lane)
       select ${readyPool}, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week, job_id, nominal_at, lane
       from d returning 1)
     select count(*)::int from r cross join (select return_tokens(array_agg(tenant_id), array_agg(queue_id), array_agg(lane)) from d) back`,
    [
      poolId,
      arrayLiteral(admitted.map((run) => run[0])),
      arrayLiteral(admitted.map((run) => run[1])),
      arrayLiteral(admitted.map((run) => run[2])),
      arrayLiteral(admitted.map((run) => run[3])),
    ],
  )
  return rows[0]?.[0] ?? 0
}
