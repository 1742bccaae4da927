import { type Pool, runNamed } from '../db/client.ts'
import type { ClassStanding } from '../flow/classes.ts'
import { type Line, type Owed, shareLines } from '../flow/lines.ts'
import { choosePreempted, preemptMost } from '../flow/preempt.ts'
import type { Uuid } from '../kernel/ids.ts'
import { type Admitted, shareColumns } from './admit.ts'
import { type Lease, leaseColumns } from './claim.ts'

/** A run that was put back to wait, so that a critical one got its slot. */
export type Preempted = Lease

interface PreemptOptions {
  pool: number
  batch: number
  queuedSeconds: number
  owed: Owed
}

/**
 * Gives critical runs that find no slot those of running bulk runs whose queues allow it. Each of these waits again, with no
 * attempt spent, and whoever performs it has to be told to stop. In one transaction exactly as many are put back as take their
 * slots.
 */
export async function preemptRuns(
  pool: Pool,
  options: PreemptOptions,
  lines: readonly Line[],
  standing: ClassStanding,
): Promise<{ admitted: Admitted[]; preempted: Preempted[] }> {
  const most = Math.min(options.batch, preemptMost(standing))
  const victims = most < 1 ? [] : choosePreempted(await readPreemptible(pool, options.pool, most), standing, most)
  if (victims.length === 0) return { admitted: [], preempted: [] }
  const rows = await runNamed<[Uuid, Uuid, Uuid, number, number | null, string]>(
    pool,
    'preempt_runs',
    `select * from preempt_runs($1::smallint, $2, $3, $4::uuid[], $5::uuid[], $6::uuid[], $7::int[],
       $8::uuid[], $9::uuid[], $10::uuid[], $11::int[])`,
    [
      options.pool,
      options.batch,
      options.queuedSeconds,
      ...shareColumns(lines, shareLines(lines, victims.length, options.owed)),
      ...leaseColumns(victims),
    ],
  )
  const admitted: Admitted[] = []
  const preempted: Preempted[] = []
  for (const [tenantId, queueId, id, fence, dueMs, week] of rows) {
    if (dueMs === null) preempted.push({ tenantId, queueId, id, fence })
    else admitted.push([tenantId, queueId, id, fence, dueMs, week])
  }
  return { admitted, preempted }
}

/** The youngest of them. */
async function readPreemptible(pool: Pool, poolId: number, most: number) {
  const rows = await runNamed<[Uuid, Uuid, Uuid, number, number]>(
    pool,
    'preemptible_runs',
    `select h.tenant_id, h.queue_id, h.id, h.fence, extract(epoch from h.since)::float8 * 1000
     from limits l join held h on h.pool = $1 and h.tenant_id = l.tenant_id and h.queue_id = l.queue_id and h.state + 0 = 3
     where l.class = 2 and l.preemptible order by h.since desc, h.id limit $2`,
    [poolId, most],
  )
  return rows.map(([tenantId, queueId, id, fence, sinceMs]) => ({ tenantId, queueId, id, fence, sinceMs }))
}
