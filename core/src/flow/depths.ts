import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, withRead } from '../db/context.ts'
import type { Uuid } from '../kernel/ids.ts'

/** How many runs a queue holds, by state. */
export interface QueueDepth {
  /** Due later. */
  scheduled: number
  /** Due, waiting for a slot. */
  ready: number
  /** Admitted, on their way to an executor. */
  queued: number
  running: number
  /** Counting stopped: there may be more scheduled or ready ones than this. */
  isLowerBound: boolean
}

// A queue can hold millions; nobody reads the last digits, and counting them all would cost a second.
const readyMax = 10_000
const scheduledMax = 50_000

type DepthRow = [Uuid, number, number, number, number, boolean]

/** How full the given queues are. Ids that are no queues of the project are left out. */
export async function queueDepths(ctx: Ctx, ids: readonly Uuid[]): Promise<Map<Uuid, QueueDepth>> {
  requireScope(ctx, 'queues:read')
  const rows = await withRead(ctx, (tx) =>
    runNamed<DepthRow>(
      tx.client,
      'queue_depths',
      `with seen as materialized (select queue_id from due where tenant_id = $1 limit ${scheduledMax}),
         later as (select queue_id, count(*)::int as n from seen group by 1)
       select q.id, coalesce(l.n, 0), r.n, h.queued, h.running, r.n = ${readyMax} or (select count(*) from seen) = ${scheduledMax}
       from queues q
       left join later l on l.queue_id = q.id
       cross join lateral (select count(*)::int as n from (
         select from ready w where w.pool = q.pool and w.tenant_id = q.tenant_id and w.queue_id = q.id
         union all select from ready w where w.pool = q.pool + 1000 and w.tenant_id = q.tenant_id and w.queue_id = q.id
         union all select from ready w where w.pool = -q.pool and q.pool > 0 and w.tenant_id = q.tenant_id and w.queue_id = q.id
         limit ${readyMax}) one) r
       cross join lateral (select count(*) filter (where state = 2)::int as queued, count(*) filter (where state = 3)::int as running
         from held h where h.pool = q.pool and h.tenant_id = q.tenant_id and h.queue_id = q.id) h
       where q.tenant_id = $1 and q.project_id = $2 and q.id = any($3::uuid[])`,
      [tx.tenantId, tx.projectId, ids],
    ),
  )
  return new Map(
    rows.map(([id, scheduled, ready, queued, running, isLowerBound]) => [
      id,
      { scheduled, ready, queued, running, isLowerBound },
    ]),
  )
}
