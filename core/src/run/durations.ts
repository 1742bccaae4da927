import { runNamed } from '../db/client.ts'
import type { Tx } from '../db/context.ts'
import type { Uuid } from '../kernel/ids.ts'

/** How long the last runs of a job took, in milliseconds. */
export interface Durations {
  meanMs: number
  medianMs: number
  p95Ms: number
  /** Runs that this is known from. */
  runs: number
}

const runsMax = 50

/** The measured durations of the last runs of each job; jobs without any are left out. */
export async function measuredDurations(tx: Tx, jobIds: readonly Uuid[]): Promise<Map<Uuid, Durations>> {
  if (jobIds.length === 0) return new Map()
  const rows = await runNamed<[Uuid, number, number, number, number]>(
    tx.client,
    'measured_durations',
    `select j.id, avg(r.duration_ms)::float8, percentile_disc(0.5) within group (order by r.duration_ms), percentile_disc(0.95) within group (order by r.duration_ms),
       count(*)::int
     from unnest($2::uuid[]) j(id) cross join lateral (
       select r.duration_ms from runs r where r.tenant_id = $1 and r.job_id = j.id and r.duration_ms is not null
       order by r.id desc limit ${runsMax}) r
     group by j.id`,
    [tx.tenantId, jobIds],
  )
  return new Map(rows.map(([id, meanMs, medianMs, p95Ms, runs]) => [id, { meanMs, medianMs, p95Ms, runs }]))
}
