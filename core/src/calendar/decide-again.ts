import { nowOfJobs } from '../clock/virtual.ts'
import { runNamed } from '../db/client.ts'
import type { Tx } from '../db/context.ts'
import type { Uuid } from '../kernel/ids.ts'
import { takeBackPendingOf } from '../run/take-back.ts'

/**
 * Takes back what schedules have written ahead, and what is still to come of what was skipped for `reason`, and lets
 * them go on from there: for a change of what decides about their instants. Their rows stay locked until the
 * transaction ends, so that a scheduler that has them next sees the change.
 */
export async function decideAgain(tx: Tx, jobIds: readonly Uuid[], reason: 'calendar' | 'blackout'): Promise<void> {
  if (jobIds.length === 0) return
  await runNamed(
    tx.client,
    'lock_schedules',
    'select from schedules where tenant_id = $1 and job_id = any($2::uuid[]) order by job_id for update',
    [tx.tenantId, jobIds],
  )
  const takenBack = await takeBackPendingOf(tx, jobIds, { keepsWaiting: true })
  const unskipped = await runNamed<[Uuid, Date]>(
    tx.client,
    'take_back_skipped',
    `with o as (
       delete from occurrences o using (${nowOfJobs('$1', '$2::uuid[]')}) j
       where o.tenant_id = $1 and o.job_id = j.id and o.nominal_at > j.now_at and o.outcome = 'skipped' and o.reason = $3
       returning o.job_id, o.nominal_at)
     select job_id, min(nominal_at) from o group by job_id`,
    [tx.tenantId, jobIds, reason],
  )
  const earliest = new Map(takenBack)
  for (const [id, at] of unskipped) if (at < (earliest.get(id) ?? Infinity)) earliest.set(id, at)
  await runNamed(
    tx.client,
    'set_schedules_back',
    `update schedules s set next_at = least(s.next_at, u.at) from unnest($2::uuid[], $3::timestamptz[]) u(id, at)
     where s.tenant_id = $1 and s.job_id = u.id`,
    [tx.tenantId, [...earliest.keys()], [...earliest.values()]],
  )
}
