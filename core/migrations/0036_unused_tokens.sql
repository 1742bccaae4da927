-- A run that is ended with its slot and was never carried out gives back what it took of rates, whoever ends it.

-- For the tenant's own doors.
create function return_own_tokens(p_queue uuid[], p_lane uuid[]) returns void
language plpgsql security definer set search_path = public, pg_temp as $f$
begin
  if p_queue is null then return; end if;
  perform return_tokens(array_fill(current_tenant(), array[cardinality(p_queue)]), p_queue, p_lane);
end $f$;
revoke execute on function return_own_tokens(uuid[], uuid[]) from public;
grant execute on function return_own_tokens(uuid[], uuid[]) to meridian_app, meridian_engine;

-- due -> ready, with the overlap decision of each occurrence, and of each run by hand that asked for one:
--   0 skip: ends here as skipped while the job has an open run that started its way earlier.
--   1 allow.
--   2 queue-one: one may wait behind it, further ones are skipped.  3 queue-all: all of them wait.
--   4 cancel-running: what is open is cancelled.  5 replace: like 2, but the newest one is the one that waits.
-- Returns what was stopped while it was with an executor, which has to be told.
create or replace function promote_due(p_pool smallint, p_until timestamptz, p_limit int)
returns table (s_tenant uuid, s_queue uuid, s_id uuid, s_fence int)
language plpgsql set enable_nestloop = on as $f$
#variable_conflict use_column
declare
  v_waits boolean := exists (select from due where pool = -p_pool and pool < 0);
begin
  return query
  with c as materialized (
    select d.ctid as place, d.tenant_id, d.job_id, d.due_at, d.id, d.nominal_at, d.overlap, d.attempt
    from due d where d.pool = p_pool and d.due_at <= p_until order by d.due_at limit p_limit
  ),
  occurrence as materialized (
    select c.*, row_number() over (partition by tenant_id, job_id order by due_at, id) as turn,
      count(*) over (partition by tenant_id, job_id) as turns
    from c where job_id is not null and case when nominal_at is null then overlap <> 1 and attempt = 0
      -- A retry kept its decision: its occurrence is not pending any more.
      else exists (select from occurrences o where o.tenant_id = c.tenant_id and o.job_id = c.job_id
        and o.nominal_at = c.nominal_at and o.outcome = 'pending' offset 0) end
  ),
  seen as materialized (
    select x.*,
      x.overlap <> 1 and (x.turn = 1 or x.overlap > 1) and (
        exists (select from held h where h.tenant_id = x.tenant_id and h.job_id = x.job_id and not exists (
          select from backfills b where b.tenant_id = h.tenant_id and b.job_id = h.job_id and b.nominal_at = h.nominal_at and b.run_id = h.id offset 0) offset 0)
        or exists (select from ready r where r.tenant_id = x.tenant_id and r.job_id = x.job_id and not exists (
          select from backfills b where b.tenant_id = r.tenant_id and b.job_id = r.job_id and b.nominal_at = r.nominal_at and b.run_id = r.id offset 0) offset 0)
        or exists (select from due d where d.tenant_id = x.tenant_id and d.job_id = x.job_id and d.attempt > 0 and not exists (
          select from backfills b where b.tenant_id = d.tenant_id and b.job_id = d.job_id and b.nominal_at = d.nominal_at and b.run_id = d.id offset 0) offset 0)) as busy,
      x.overlap <> 1 and v_waits and exists (select from due d where d.pool = -p_pool and d.pool < 0
        and d.tenant_id = x.tenant_id and d.job_id = x.job_id offset 0) as queued
    from occurrence x
  ),
  fate as materialized (
    select s.*, case
      when s.overlap = 1 then 'go'
      when s.overlap = 4 then case when s.turn = s.turns then 'go' else 'skip' end
      when s.turn = 1 and not s.busy and not s.queued then 'go'
      when s.overlap = 3 then 'wait'
      when s.overlap = 2 and not s.queued and s.turn = case when s.busy then 1 else 2 end then 'wait'
      when s.overlap = 5 and s.turn = s.turns then 'wait'
      else 'skip' end as fate
    from seen s
  ),
  -- Whose place the newest takes: all that is open, or what has waited.
  displaced as materialized (
    select distinct tenant_id, job_id, overlap from fate where overlap = 4 and (busy or queued) or overlap = 5 and queued
  ),
  stays as materialized (
    select place from fate where fate = 'wait'
    union all
    select c.place from c join displaced x on x.overlap = 4 and x.tenant_id = c.tenant_id and x.job_id = c.job_id where c.attempt > 0
      and not exists (
          select from backfills b where b.tenant_id = c.tenant_id and b.job_id = c.job_id and b.nominal_at = c.nominal_at and b.run_id = c.id offset 0)
  ),
  waits as (
    update due d set pool = -d.pool where d.ctid = any(array(select place from fate where fate = 'wait'))
  ),
  gone as (
    delete from due d where d.ctid = any(array(select place from c where place not in (select place from stays)))
    returning d.*, d.ctid as place
  ),
  kept as (
    insert into ready (pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week, job_id, nominal_at, lane)
    select case when lane is null then pool else pool + 1000 end, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week,
      job_id, nominal_at, lane
    from gone where place not in (select place from fate where fate = 'skip')
  ),
  stopped as (
    delete from held h using displaced x where x.overlap = 4 and h.tenant_id = x.tenant_id and h.job_id = x.job_id
      and not exists (
          select from backfills b where b.tenant_id = h.tenant_id and b.job_id = h.job_id and b.nominal_at = h.nominal_at and b.run_id = h.id offset 0) returning h.*
  ),
  unready as (
    delete from ready r using displaced x where x.overlap = 4 and r.tenant_id = x.tenant_id and r.job_id = x.job_id
      and not exists (
          select from backfills b where b.tenant_id = r.tenant_id and b.job_id = r.job_id and b.nominal_at = r.nominal_at and b.run_id = r.id offset 0) returning r.*
  ),
  undue as (
    delete from due d using displaced x
    where d.tenant_id = x.tenant_id and d.job_id = x.job_id and (d.pool < 0 or x.overlap = 4 and d.attempt > 0)
      and not exists (
          select from backfills b where b.tenant_id = d.tenant_id and b.job_id = d.job_id and b.nominal_at = d.nominal_at and b.run_id = d.id offset 0)
    returning d.*
  ),
  ended as (
    insert into runs (tenant_id, project_id, id, queue_id, pool, state, attempt, fence, due_at, started_at, ended_at, duration_ms, error,
      job_id, nominal_at, executor_id)
    select tenant_id, project_id, id, queue_id, abs(pool) % 1000, state, attempt, fence, due_at, since, clock_timestamp(),
      (extract(epoch from clock_timestamp() - since) * 1000)::int, 'overlap', job_id, nominal_at, executor_id
    from (
      select tenant_id, project_id, id, queue_id, pool, 8 as state, attempt, fence, due_at, null::timestamptz as since, job_id, nominal_at,
        null::uuid as executor_id
      from gone where place in (select place from fate where fate = 'skip')
      union all
      select tenant_id, project_id, id, queue_id, pool, case when attempt = 0 then 8 else 6 end, attempt, fence, due_at, null, job_id,
        nominal_at, null from undue
      union all
      select tenant_id, project_id, id, queue_id, pool, 6, attempt, fence, due_at, null, job_id, nominal_at, null from unready
      union all
      select tenant_id, project_id, id, queue_id, pool, 6, attempt, fence, due_at, case when state = 3 then since end, job_id, nominal_at,
        executor_id from stopped) x
    returning tenant_id, project_id, id, job_id, state
  ),
  told as (
    insert into events (tenant_id, project_id, type, subject, job_id, data)
    select tenant_id, project_id, case when state = 8 then 'run.skipped' else 'run.cancelled' end, id, job_id, '{"reason": "overlap"}'
    from ended
  ),
  decided as (
    update occurrences o set outcome = x.outcome, reason = x.reason, decided_at = clock_timestamp()
    from (
      select tenant_id, job_id, nominal_at, case when fate = 'go' then 'run' else 'skipped' end as outcome,
        case when fate = 'go' then null else 'overlap' end as reason
      from fate where fate <> 'wait' and nominal_at is not null
      union all
      select tenant_id, job_id, nominal_at, 'skipped', 'overlap' from undue where attempt = 0 and nominal_at is not null) x
    where o.tenant_id = x.tenant_id and o.job_id = x.job_id and o.nominal_at = x.nominal_at and o.outcome = 'pending'
  )
  select s.tenant_id, s.queue_id, s.id, s.fence
  from (select case when count(*) > 0 then return_tokens(array_agg(tenant_id), array_agg(queue_id), array_agg(lane)) end from stopped where state = 2) back
  cross join stopped s where s.state = 3;
end $f$;
