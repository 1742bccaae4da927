-- Critical runs that find no slot take those of running bulk runs that may be put back.

-- Gives the slots of victims to lines, in one step: exactly as many runs are put back, in the given order, as runs take their
-- slots. What is put back waits in its line; the attempt it has begun is not counted, and a later report of it is refused.
-- Lines hold no more than p_target, queues and tenants no more than their concurrency, as ever; the pool holds no more than
-- before. A row without a due instant is a run to be stopped.
create function preempt_runs(p_pool smallint, p_batch int, p_queued_seconds float8,
  p_tenant uuid[], p_queue uuid[], p_lane uuid[], p_target int[], v_tenant uuid[], v_queue uuid[], v_id uuid[], v_fence int[])
returns table (o_tenant uuid, o_queue uuid, o_id uuid, o_fence int, o_due_ms float8, o_week date)
language plpgsql set enable_nestloop = on as $f$
#variable_conflict use_column
declare
  a_victims int[]; v_held int; v_taken int;
begin
  if not pg_try_advisory_xact_lock(42, p_pool) then return; end if;
  -- One that is being recorded or renewed at this moment is left alone.
  select array_agg(x.n::int) into a_victims from (
    select u.n from unnest(v_tenant, v_queue, v_id, v_fence) with ordinality u(t, q, i, f, n)
    join held h on h.pool = p_pool and h.tenant_id = u.t and h.queue_id = u.q and h.id = u.i and h.fence = u.f and h.state + 0 = 3
    join limits l on l.tenant_id = u.t and l.queue_id = u.q and l.class = 2 and l.preemptible
    order by u.n limit p_batch for update of h skip locked) x;
  if a_victims is null then return; end if;
  select array_agg(n order by n) into a_victims from unnest(a_victims) n;
  v_held := (select count(*)::int from held where pool = p_pool);
  return query
    select a.o_tenant, a.o_queue, a.o_id, a.o_fence, a.o_due_ms, a.o_week from admit_lines(p_pool, cardinality(a_victims),
      v_held + cardinality(a_victims), p_queued_seconds, p_tenant, p_queue, p_lane, p_target) a;
  get diagnostics v_taken = row_count;
  return query
  with gone as (
    delete from held h using unnest(a_victims[:v_taken]) n
    where h.pool = p_pool and h.tenant_id = v_tenant[n] and h.queue_id = v_queue[n] and h.id = v_id[n] and h.fence = v_fence[n]
    returning h.*),
  kept as (
    insert into ready (pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week, job_id, nominal_at, lane)
    select case when lane is null then pool else pool + 1000 end, tenant_id, queue_id, priority, due_at, id, project_id, attempt - 1,
      attempts_max, fence + 1, keep_week, job_id, nominal_at, lane
    from gone),
  told as (
    insert into events (tenant_id, project_id, type, subject, job_id, data)
    select tenant_id, project_id, 'run.preempted', id, job_id, jsonb_build_object('attempt', attempt, 'since', since) from gone)
  select tenant_id, queue_id, id, fence, null::float8, null::date from gone;
end $f$;

revoke execute on function preempt_runs from public;
grant execute on function preempt_runs to meridian_engine;
