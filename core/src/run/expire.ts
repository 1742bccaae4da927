import { type Pool, runNamed } from '../db/client.ts'

/** A run that has begun is its executor's to stop; this is how soon one that outlives it is looked at again. */
const againSeconds = 1

// Whichever table the run waits in, its row is taken out and written to the history as expired. The guarded deletes race
// with dispatcher and executor: one of them gets the row. A run that has begun has met its start, whatever came after.
const statement = `
  with c as materialized (
    select * from run_deadlines where check_at <= (select clock_timestamp()) order by check_at limit $1 for update skip locked),
  late as materialized (
    select c.*, c.end_by <= clock_timestamp() as is_over, coalesce(c.start_by <= clock_timestamp(), false) as is_late from c),
  d as (
    delete from due t using late l
    where t.tenant_id = l.tenant_id and t.id = l.run_id and (l.is_over or (l.is_late and t.attempt = 0)) returning t.*),
  w as (
    delete from ready t using late l
    where t.tenant_id = l.tenant_id and t.id = l.run_id and (l.is_over or (l.is_late and t.attempt = 0)) returning t.*),
  h as (
    delete from held t using late l
    where t.pool = l.pool and t.tenant_id = l.tenant_id and t.queue_id = l.queue_id and t.id = l.run_id and t.state = 2
      and (l.is_over or (l.is_late and t.attempt = 0)) returning t.*),
  gone as (
    select tenant_id, project_id, id, queue_id, pool, attempt, fence, due_at, job_id, nominal_at from d
    union all select tenant_id, project_id, id, queue_id, pool, attempt, fence, due_at, job_id, nominal_at from w
    union all select tenant_id, project_id, id, queue_id, pool, attempt, fence, due_at, job_id, nominal_at from h),
  r as (
    insert into runs (tenant_id, project_id, id, queue_id, pool, state, attempt, fence, due_at, ended_at, error, job_id, nominal_at)
    select g.tenant_id, g.project_id, g.id, g.queue_id, abs(g.pool) % 1000, 7, g.attempt, g.fence, g.due_at, clock_timestamp(),
      case when l.is_late and g.attempt = 0 then 'start-deadline' else 'end-deadline' end, g.job_id, g.nominal_at
    from gone g join late l on l.tenant_id = g.tenant_id and l.run_id = g.id
    returning tenant_id, project_id, id, job_id, nominal_at, error),
  o as (
    update occurrences o set outcome = 'skipped', reason = 'expired', decided_at = clock_timestamp() from r
    where o.tenant_id = r.tenant_id and o.job_id = r.job_id and o.nominal_at = r.nominal_at and o.outcome = 'pending'),
  e as (
    insert into events (tenant_id, project_id, type, subject, job_id, data)
    select tenant_id, project_id, 'run.expired', id, job_id, jsonb_build_object('error', error) from r),
  open as materialized (
    select l.tenant_id, l.run_id, l.end_by, l.is_over from late l where not exists (select from r where r.id = l.run_id) and (
      exists (select from due t where t.tenant_id = l.tenant_id and t.id = l.run_id offset 0)
      or exists (select from ready t where t.tenant_id = l.tenant_id and t.id = l.run_id offset 0)
      or exists (select from held t where t.pool = l.pool and t.tenant_id = l.tenant_id and t.queue_id = l.queue_id and t.id = l.run_id offset 0))),
  -- What has begun is looked at again when it has to have ended; what slipped from table to table meanwhile, soon.
  kept as (
    update run_deadlines x set check_at = greatest(o.end_by, clock_timestamp() + ${againSeconds} * interval '1 second') from open o
    where x.tenant_id = o.tenant_id and x.run_id = o.run_id and o.end_by is not null),
  dropped as (
    delete from run_deadlines x using late l
    where x.tenant_id = l.tenant_id and x.run_id = l.run_id
      and not exists (select from open o where o.tenant_id = l.tenant_id and o.run_id = l.run_id and o.end_by is not null))
  select (select count(*)::int from late), (select count(*)::int from r)
  from (select case when count(*) > 0 then return_tokens(array_agg(tenant_id), array_agg(queue_id), array_agg(lane)) end from h) back`

/** What one look found. */
export interface Expired {
  looked: number
  expired: number
}

/**
 * Ends runs whose deadline has passed and that nobody performs: they expire, with the deadline as the reason. Any number
 * of callers may do this at once.
 */
export async function expireRuns(pool: Pool, limit: number): Promise<Expired> {
  const rows = await runNamed<[number, number]>(pool, 'expire_runs', statement, [limit])
  const [looked, expired] = rows[0] ?? [0, 0]
  return { looked, expired }
}
