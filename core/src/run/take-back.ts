import { runNamed } from '../db/client.ts'
import type { Tx } from '../db/context.ts'
import type { Uuid } from '../kernel/ids.ts'

/**
 * Takes back what a schedule has written ahead and nobody has decided yet: pending occurrences and their runs that
 * were not admitted, and what was only noted in shadow. For pausing, editing and deleting a job, in that verb's
 * transaction. Returns the earliest instant taken back, where the schedule has to go on if it goes on.
 */
export const takeBackPending = async (tx: Tx, jobId: Uuid): Promise<Date | null> =>
  (await takeBackPendingOf(tx, [jobId])).get(jobId) ?? null

/** The same for many jobs of the tenant: the earliest instant of each that had any. */
export async function takeBackPendingOf(tx: Tx, jobIds: readonly Uuid[]): Promise<Map<Uuid, Date>> {
  const rows = await runNamed<[Uuid, Date]>(
    tx.client,
    'take_back_pending',
    `with d as (
       delete from due d where d.tenant_id = $1 and d.job_id = any($2::uuid[]) and d.nominal_at is not null and d.attempt = 0 and exists (
         select from occurrences o where o.tenant_id = $1 and o.job_id = d.job_id and o.nominal_at = d.nominal_at and o.outcome = 'pending' offset 0)
       returning d.id, d.project_id, d.keep_week, d.job_id, d.nominal_at),
     i as (
       delete from inputs i using d
       where i.tenant_id = $1 and i.project_id = d.project_id and i.keep_week = d.keep_week and i.id = d.id),
     o as (
       delete from occurrences o using d
       where o.tenant_id = $1 and o.job_id = d.job_id and o.nominal_at = d.nominal_at and o.outcome = 'pending'),
     s as (
       delete from occurrences o where o.tenant_id = $1 and o.job_id = any($2::uuid[]) and o.outcome = 'skipped' and o.reason = 'shadow'
         and o.nominal_at > clock_timestamp()
       returning o.job_id, o.nominal_at)
     select job_id, min(nominal_at) from (select job_id, nominal_at from d union all select job_id, nominal_at from s) x group by job_id`,
    [tx.tenantId, jobIds],
  )
  return new Map(rows)
}
