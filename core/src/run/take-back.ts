import { nowOfJobs } from '../clock/virtual.ts'
import { arrayLiteral, runNamed } from '../db/client.ts'
import type { Tx } from '../db/context.ts'
import type { Uuid } from '../kernel/ids.ts'
import { editedRestOf, type RestReason, restColumns } from './rests.ts'

export interface TakeBackOptions {
  /** Only what is nominally due after this instant: what came before goes on. */
  after?: Date | undefined
  /** Those that wait behind a run of their job stay as well: they were due. */
  keepsWaiting?: boolean
}

/**
 * Takes back what schedules have written ahead and nobody has decided yet: pending occurrences and their runs that
 * were not admitted, what was only noted in shadow, and the end that a schedule came to by them. What a person edited
 * stays in the ledger, and waits to be written again.
 * For verbs that change what a schedule does, in their transaction. Returns the earliest instant taken back of each
 * job, where its schedule has to go on if it goes on.
 */
export async function takeBackPendingOf(
  tx: Pick<Tx, 'client' | 'tenantId'>,
  jobIds: readonly Uuid[],
  { after, keepsWaiting = false }: TakeBackOptions = {},
): Promise<Map<Uuid, Date>> {
  const rows = await runNamed<[Uuid, Date]>(
    tx.client,
    'take_back_pending',
    `with d as (
       delete from due d where d.tenant_id = $1 and d.job_id = any($2::uuid[]) and d.nominal_at is not null and d.attempt = 0
         and ($3::timestamptz is null or d.nominal_at > $3) and (d.pool > 0 or not $4)
         and exists (select from occurrences o where o.tenant_id = $1 and o.job_id = d.job_id and o.nominal_at = d.nominal_at
           and o.outcome = 'pending' offset 0)
       returning d.id, d.job_id, d.project_id, d.keep_week, d.nominal_at),
     i as (
       delete from inputs i using d
       where i.tenant_id = $1 and i.project_id = d.project_id and i.keep_week = d.keep_week and i.id = d.id),
     e as (
       update occurrences o set run_id = null from d
       where o.tenant_id = $1 and o.job_id = d.job_id and o.nominal_at = d.nominal_at and o.outcome = 'pending' and o.edited_by is not null
       returning o.job_id, o.nominal_at, o.moved),
     o as (
       delete from occurrences o using d
       where o.tenant_id = $1 and o.job_id = d.job_id and o.nominal_at = d.nominal_at and o.outcome = 'pending' and o.edited_by is null),
     r as (
       insert into schedule_rests (${restColumns})
       select ${editedRestOf('s', 'e.nominal_at')} from e join schedules s on s.tenant_id = $1 and s.job_id = e.job_id where e.moved
       on conflict (tenant_id, job_id, until_at) do nothing),
     x as (
       delete from occurrences o using (${nowOfJobs('$1', '$2::uuid[]')}) j
       where o.tenant_id = $1 and o.job_id = j.id and o.nominal_at > j.now_at
         and o.outcome = 'skipped' and o.reason in ('max-runs', 'shadow')
       returning o.job_id, o.nominal_at),
     s as (
       update schedules s set runs_left = s.runs_left + n.count
       from (select job_id, count(*)::int from d where not exists (
           select from e where e.moved and e.job_id = d.job_id and e.nominal_at = d.nominal_at) group by job_id) n
       where s.tenant_id = $1 and s.job_id = n.job_id and s.runs_left is not null)
     select job_id, min(nominal_at) from (select job_id, nominal_at from d union all select * from x) t group by job_id`,
    [tx.tenantId, arrayLiteral(jobIds), after ?? null, keepsWaiting],
  )
  return new Map(rows)
}

/** The same of one job; null when there was nothing to take back. */
export const takeBackPending = async (tx: Tx, jobId: Uuid, options?: TakeBackOptions): Promise<Date | null> =>
  (await takeBackPendingOf(tx, [jobId], options)).get(jobId) ?? null

/**
 * What was due when a job stopped for good, and had no slot yet, is skipped; what was to come after that is gone from
 * the ledger.
 */
export async function settlePending(
  tx: Tx,
  jobId: Uuid,
  { reason, now }: { reason: RestReason; now: Date },
): Promise<void> {
  await runNamed(
    tx.client,
    'settle_pending',
    `with d as (
       delete from due d where d.tenant_id = $1 and d.job_id = $2 and d.nominal_at is not null and d.attempt = 0 and exists (
         select from occurrences o where o.tenant_id = $1 and o.job_id = $2 and o.nominal_at = d.nominal_at and o.outcome = 'pending' offset 0)
       returning d.id, d.project_id, d.keep_week, d.nominal_at),
     i as (
       delete from inputs i using d
       where i.tenant_id = $1 and i.project_id = d.project_id and i.keep_week = d.keep_week and i.id = d.id),
     u as (
       update occurrences o set outcome = 'skipped', reason = $3, run_id = null, decided_at = clock_timestamp()
       where o.tenant_id = $1 and o.job_id = $2 and o.nominal_at <= $4 and o.outcome = 'pending'
         and (o.run_id is null or exists (select from d where d.nominal_at = o.nominal_at)))
     delete from occurrences o where o.tenant_id = $1 and o.job_id = $2 and o.nominal_at > $4
       and (o.run_id is null or o.outcome = 'pending' and exists (select from d where d.nominal_at = o.nominal_at))`,
    [tx.tenantId, jobId, reason, now],
  )
}
