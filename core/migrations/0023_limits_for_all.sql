-- Limits for runs that nobody asked for one by one: those of schedules, of backfills, of batches, and those that tell of others.

-- A run that performs others minds what the first of them minds; they wait in a backlog, and it does not beside them.
alter table lanes add column is_batch boolean not null default false;

-- A run that costs more than there ever is takes all of it.
create or replace function gates_of(p_tenant uuid, p_queue uuid, p_lane uuid) returns table (gate_id uuid, cost int)
language sql stable as $f$
  select lg.gate_id, least(lg.cost, f.concurrency, f.rate_burst) from lane_gates lg
    join gates g on g.tenant_id = lg.tenant_id and g.id = lg.gate_id
    join flow_limits f on f.tenant_id = g.tenant_id and f.id = g.limit_id
    where lg.tenant_id = p_tenant and lg.lane_id = p_lane and not f.is_whole
  union all
  select f.id, 1 from flow_limits f join queues q on q.tenant_id = f.tenant_id and q.id = p_queue
    where f.tenant_id = p_tenant and f.is_whole and (f.scope = 'tenant' or (f.scope = 'project' and f.project_id = q.project_id) or f.queue_id = q.id)
$f$;

-- How many runs wait before a gate; counting stops at p_most.
create or replace function waiting_at(p_tenant uuid, p_gate uuid, p_most int) returns int
language sql stable set enable_nestloop = on as $f$
  select count(*)::int from (
    select w.n from lane_gates lg join lanes l on l.tenant_id = lg.tenant_id and l.id = lg.lane_id and not l.is_batch
    cross join lateral (
      select 1 as n from ready w where w.tenant_id = p_tenant and w.lane = lg.lane_id
      union all select 1 from due d where d.tenant_id = p_tenant and d.lane = lg.lane_id) w
    where lg.tenant_id = p_tenant and lg.gate_id = p_gate limit p_most) x
$f$;

-- How many runs these gates let wait beside those that do: of those with a backlog, which are locked in the order of their ids.
-- Whoever adds to a backlog counts it alone.
create function lock_backlogs(p_tenant uuid[], p_gate uuid[]) returns table (o_tenant uuid, o_gate uuid, o_most int, o_room int, o_rejects boolean)
language plpgsql set enable_nestloop = on as $f$
begin
  perform from gates g join flow_limits f on f.tenant_id = g.tenant_id and f.id = g.limit_id and f.backlog_max is not null
    where (g.tenant_id, g.id) in (select t, i from unnest(p_tenant, p_gate) u(t, i)) order by g.tenant_id, g.id for update of g;
  if not found then return; end if;
  return query
    select g.tenant_id, g.id, f.backlog_max, f.backlog_max - waiting_at(g.tenant_id, g.id, f.backlog_max), f.when_full = 'reject'
    from gates g join flow_limits f on f.tenant_id = g.tenant_id and f.id = g.limit_id and f.backlog_max is not null
    where (g.tenant_id, g.id) in (select t, i from unnest(p_tenant, p_gate) u(t, i));
end $f$;

-- Ends those that have waited longest before a gate, so that p_most are left.
create or replace function drop_oldest(p_tenant uuid, p_gate uuid, p_most int) returns void
language plpgsql set enable_nestloop = on as $f$
declare
  v_over int := waiting_at(p_tenant, p_gate, 2000000000) - p_most;
begin
  if v_over <= 0 then return; end if;
  with old as materialized (
    select x.id from (
      select w.id, w.due_at from lane_gates lg join lanes l on l.tenant_id = lg.tenant_id and l.id = lg.lane_id and not l.is_batch
        join ready w on w.tenant_id = p_tenant and w.lane = lg.lane_id
        where lg.tenant_id = p_tenant and lg.gate_id = p_gate
      union all
      select d.id, d.due_at from lane_gates lg join lanes l on l.tenant_id = lg.tenant_id and l.id = lg.lane_id and not l.is_batch
        join due d on d.tenant_id = p_tenant and d.lane = lg.lane_id
        where lg.tenant_id = p_tenant and lg.gate_id = p_gate) x
    order by x.due_at, x.id limit v_over),
  w as (delete from ready w using old where w.tenant_id = p_tenant and w.id = old.id
    returning w.project_id, w.id, w.queue_id, w.pool, w.attempt, w.fence, w.due_at, w.job_id, w.nominal_at),
  d as (delete from due d using old where d.tenant_id = p_tenant and d.id = old.id
    returning d.project_id, d.id, d.queue_id, d.pool, d.attempt, d.fence, d.due_at, d.job_id, d.nominal_at),
  ended as (
    insert into runs (tenant_id, project_id, id, queue_id, pool, state, attempt, fence, due_at, ended_at, error, job_id, nominal_at)
    select p_tenant, project_id, id, queue_id, abs(pool) % 1000, 8, attempt, fence, due_at, clock_timestamp(), 'backlog', job_id, nominal_at
    from (select * from w union all select * from d) x returning project_id, id, job_id, nominal_at),
  o as (
    update occurrences o set outcome = 'skipped', reason = 'backlog', decided_at = clock_timestamp() from ended e
    where o.tenant_id = p_tenant and o.job_id = e.job_id and o.nominal_at = e.nominal_at and o.outcome = 'pending')
  insert into events (tenant_id, project_id, type, subject, job_id, data)
    select p_tenant, project_id, 'run.skipped', id, job_id, '{"reason": "backlog"}' from ended;
end $f$;

-- The run that performs others: what the first of them minds that minds something.
create function give_batch_lane(p_tenant uuid, p_run uuid, p_like uuid) returns void
language plpgsql set enable_nestloop = on as $f$
declare
  v_lane uuid := md5(p_like || ' of a batch')::uuid;
begin
  insert into lanes (tenant_id, id, is_batch) values (p_tenant, v_lane, true)
    on conflict (tenant_id, id) do update set seen_at = clock_timestamp() where lanes.seen_at < clock_timestamp() - interval '1 hour';
  insert into lane_gates (tenant_id, lane_id, gate_id, cost)
    select p_tenant, v_lane, lg.gate_id, lg.cost from lane_gates lg where lg.tenant_id = p_tenant and lg.lane_id = p_like
    order by lg.gate_id on conflict do nothing;
  update due d set lane = v_lane where d.tenant_id = p_tenant and d.id = p_run and d.lane is null;
  update ready w set lane = v_lane, pool = w.pool + 1000 where w.tenant_id = p_tenant and w.id = p_run and w.lane is null and w.pool > 0;
end $f$;

-- accept_within, or with details accept_detailed, for flushes in which some run minds a limit of its own: p_lane says which
-- lane it takes, and the last six what lanes there are. Answers 6 for a run that found the backlog full.
create or replace function accept_limited(
  p_tenant uuid[], p_project uuid[], p_id uuid[], p_queue uuid[], p_priority int2[], p_attempts_max int2[],
  p_due_ms float8[], p_block uuid[], p_offset int[], p_source int2[], p_job uuid[], p_job_version int[], p_replay_of uuid[],
  p_key text[], p_fingerprint text[], p_actor text[], p_request text[], p_batch boolean, p_digest text,
  p_block_tenant uuid[], p_block_id uuid[], p_block_sealed bytea[], p_overlap int2, p_start_ms float8[], p_end_ms float8[], p_details jsonb,
  p_lane uuid[], g_tenant uuid[], g_lane uuid[], g_gate uuid[], g_limit uuid[], g_key text[], g_cost int[])
returns table (o int, outcome int, run_id uuid, due_ms float8, created_ms float8, is_ready boolean)
language plpgsql security definer set search_path = public, pg_temp set enable_nestloop = on as $f$
#variable_conflict use_column
declare
  v_kept int[] := array(select n from generate_subscripts(p_id, 1) n order by n);
  v_refused int[] := '{}'; v_over record;
  r_o int[]; r_outcome int[]; r_id uuid[]; r_due float8[]; r_created float8[]; r_ready boolean[];
  b_tenant uuid[]; b_gate uuid[]; b_room int[];
begin
  perform ensure_lanes(g_tenant, g_lane, g_gate, g_limit, g_key, g_cost);
  select array_agg(b.o_tenant), array_agg(b.o_gate), array_agg(b.o_room) into b_tenant, b_gate, b_room
    from lock_backlogs(g_tenant, g_gate) b where b.o_rejects;
  select coalesce(array_agg(distinct x.n), '{}') into v_refused from (
    select r.n::int as n, row_number() over (partition by b.t, b.g order by r.n) > b.room as is_over
    from unnest(b_tenant, b_gate, b_room) b(t, g, room)
    join unnest(g_tenant, g_lane, g_gate) d(t, l, g) on d.t = b.t and d.g = b.g
    join unnest(p_tenant, p_lane, p_project, p_key, p_source) with ordinality r(t, l, p, k, s, n) on r.t = d.t and r.l = d.l
    -- What tells of others is never refused: nobody would ask again.
    where r.s <> 5
      -- A request that is made again, or that a key leads to an earlier run, adds nothing.
      and not exists (select from idempotency_keys i where i.tenant_id = r.t and i.project_id = r.p and i.key = r.k)
      and not exists (
        select from run_keys k where k.tenant_id = r.t and k.scope_id = (p_details->(r.n::int - 1)->'key'->>'scope')::uuid
          and k.kind = p_details->(r.n::int - 1)->'key'->>'kind' and k.kind <> 'collect' and k.key = p_details->(r.n::int - 1)->'key'->>'key'
          and k.expires_at > clock_timestamp())) x
    where x.is_over;
  v_kept := array(select n from unnest(v_kept) n where n <> all(v_refused) order by n);
  if cardinality(v_kept) > 0 then
    with a as materialized (
      select x.* from accept_within(
        array(select p_tenant[n] from unnest(v_kept) n), array(select p_project[n] from unnest(v_kept) n), array(select p_id[n] from unnest(v_kept) n),
        array(select p_queue[n] from unnest(v_kept) n), array(select p_priority[n] from unnest(v_kept) n), array(select p_attempts_max[n] from unnest(v_kept) n),
        array(select p_due_ms[n] from unnest(v_kept) n), array(select p_block[n] from unnest(v_kept) n), array(select p_offset[n] from unnest(v_kept) n),
        array(select p_source[n] from unnest(v_kept) n), array(select p_job[n] from unnest(v_kept) n), array(select p_job_version[n] from unnest(v_kept) n),
        array(select p_replay_of[n] from unnest(v_kept) n), array(select p_key[n] from unnest(v_kept) n), array(select p_fingerprint[n] from unnest(v_kept) n),
        array(select p_actor[n] from unnest(v_kept) n), array(select p_request[n] from unnest(v_kept) n), p_batch, p_digest,
        p_block_tenant, p_block_id, p_block_sealed, p_overlap, array(select p_start_ms[n] from unnest(v_kept) n), array(select p_end_ms[n] from unnest(v_kept) n)) x where p_details is null
      union all
      select x.* from accept_detailed(
        array(select p_tenant[n] from unnest(v_kept) n), array(select p_project[n] from unnest(v_kept) n), array(select p_id[n] from unnest(v_kept) n),
        array(select p_queue[n] from unnest(v_kept) n), array(select p_priority[n] from unnest(v_kept) n), array(select p_attempts_max[n] from unnest(v_kept) n),
        array(select p_due_ms[n] from unnest(v_kept) n), array(select p_block[n] from unnest(v_kept) n), array(select p_offset[n] from unnest(v_kept) n),
        array(select p_source[n] from unnest(v_kept) n), array(select p_job[n] from unnest(v_kept) n), array(select p_job_version[n] from unnest(v_kept) n),
        array(select p_replay_of[n] from unnest(v_kept) n), array(select p_key[n] from unnest(v_kept) n), array(select p_fingerprint[n] from unnest(v_kept) n),
        array(select p_actor[n] from unnest(v_kept) n), array(select p_request[n] from unnest(v_kept) n), p_batch, p_digest,
        p_block_tenant, p_block_id, p_block_sealed, p_overlap, array(select p_start_ms[n] from unnest(v_kept) n), array(select p_end_ms[n] from unnest(v_kept) n),
        (select jsonb_agg(p_details->(n - 1) order by n) from unnest(v_kept) n)) x where p_details is not null)
    select array_agg(v_kept[a.o]), array_agg(a.outcome), array_agg(a.run_id), array_agg(a.due_ms), array_agg(a.created_ms), array_agg(a.is_ready)
      into r_o, r_outcome, r_id, r_due, r_created, r_ready from a;
  end if;
  update ready w set lane = p_lane[u.n], pool = case when w.pool > 0 then w.pool + 1000 else w.pool end from unnest(r_o, r_outcome, r_id) u(n, c, i)
    where u.c = 0 and p_lane[u.n] is not null and w.tenant_id = p_tenant[u.n] and w.id = u.i;
  -- A run that waits under the key of this row does by now what this row asks for.
  update due d set lane = p_lane[u.n] from unnest(r_o, r_outcome, r_id) u(n, c, i)
    where u.c in (0, 5) and d.lane is distinct from p_lane[u.n] and d.tenant_id = p_tenant[u.n] and d.id = u.i;
  if p_details is not null then
    perform give_batch_lane(p_tenant[x.n], x.batch, p_lane[x.n]) from (
      select distinct on (d.tenant_id, d.batch_id) u.n, d.batch_id as batch from unnest(r_o, r_outcome, r_id) u(n, c, i)
      join run_details d on d.tenant_id = p_tenant[u.n] and d.run_id = u.i and d.batch_id is not null
      where u.c = 0 and p_lane[u.n] is not null order by d.tenant_id, d.batch_id, u.n) x;
  end if;
  for v_over in
    select distinct g.tenant_id as t, g.id as gate, f.backlog_max as most
    from unnest(g_tenant, g_gate) u(t, i) join gates g on g.tenant_id = u.t and g.id = u.i
    join flow_limits f on f.tenant_id = g.tenant_id and f.id = g.limit_id and f.when_full = 'drop-oldest'
  loop
    perform drop_oldest(v_over.t, v_over.gate, v_over.most);
  end loop;
  return query
    select n, c, i, d, r, y from unnest(r_o, r_outcome, r_id, r_due, r_created, r_ready) x(n, c, i, d, r, y)
    union all select n, 6, null::uuid, null::float8, null::float8, false from unnest(v_refused) n;
end $f$;

-- Gives back what runs took of rates that were let through and not performed. Gates are locked in the order of their ids.
create function return_tokens(p_tenant uuid[], p_queue uuid[], p_lane uuid[]) returns void
language plpgsql set enable_nestloop = on as $f$
begin
  if p_lane is null or not exists (select from unnest(p_lane) l where l is not null) and not exists (select from limits where gated) then
    return;
  end if;
  perform from gates g where (g.tenant_id, g.id) in (
      select u.t, n.gate_id from unnest(p_tenant, p_queue, p_lane) u(t, q, l) cross join lateral gates_of(u.t, u.q, u.l) n)
    order by g.tenant_id, g.id for update;
  update gates g set full_at = g.full_at - b.units * f.rate_ms / f.rate_count * interval '1 millisecond'
    from (
      select u.t, n.gate_id, sum(n.cost) as units from unnest(p_tenant, p_queue, p_lane) u(t, q, l)
      cross join lateral gates_of(u.t, u.q, u.l) n group by 1, 2) b
    join flow_limits f on f.tenant_id = b.t and f.rate_count is not null
    where g.tenant_id = b.t and g.id = b.gate_id and g.limit_id = f.id;
end $f$;

-- When a rate next lets through a run of a pool that waits for it; null: none waits for a rate.
create function next_token(p_pool smallint) returns timestamptz
language sql set enable_nestloop = on as $f$
  select min(g.full_at - (f.rate_burst - n.cost) * f.rate_ms::float8 / f.rate_count * interval '1 millisecond')
  from (
    select o_tenant as t, o_queue as q, o_lane as l from waiting_lanes(p_pool)
    union all
    select l.tenant_id, l.queue_id, null from limits l
      where l.gated and exists (select from ready w where w.pool = p_pool and w.tenant_id = l.tenant_id and w.queue_id = l.queue_id)) w
  cross join lateral gates_of(w.t, w.q, w.l) n
  join gates g on g.tenant_id = w.t and g.id = n.gate_id
  join flow_limits f on f.tenant_id = g.tenant_id and f.id = g.limit_id and f.rate_count is not null and f.paused_at is null
  where tokens_at(clock_timestamp(), g.full_at, f.rate_count, f.rate_ms, f.rate_burst) < n.cost
$f$;

-- Asks for runs that an executor has claimed and not begun whether they may call their host. Those that may not go back
-- to wait, and neither their attempt nor what they took of a rate counts. Verdicts: 0 goes, 1 held, 2 not found as claimed (taken away, or touched this
-- very moment), 3 goes as the probe.
create or replace function hold_runs(p_pool smallint, p_tenant uuid[], p_queue uuid[], p_id uuid[], p_fence int[], p_host text[])
returns table (o int, verdict smallint)
language plpgsql set enable_nestloop = on as $f$
#variable_conflict use_column
begin
  -- Nobody may close a breaker between the look at it and the holding.
  perform from breakers b
    where b.state <> 'closed' and (b.tenant_id, b.host) in (select t, h from unnest(p_tenant, p_host) u(t, h))
    order by b.tenant_id, b.host for share;
  return query
  with x as materialized (
    select u.*, k.place, k.due_at, case
      when b.state is null then 0
      when k.place is null then 2
      when b.probe_run = u.i then 3
      when (k.due_at, u.i) <= (b.passed_at, b.passed_id) then 0
      else 1 end::smallint as fate
    from unnest(p_tenant, p_queue, p_id, p_fence, p_host) with ordinality u(t, q, i, f, h, n)
    left join lateral (select b.state, b.probe_run, b.passed_at, b.passed_id from breakers b
      where b.tenant_id = u.t and b.host = u.h and b.state <> 'closed' offset 0) b on true
    left join lateral (select h.ctid as place, h.due_at from held h
      where h.pool = p_pool and h.tenant_id = u.t and h.queue_id = u.q and h.id = u.i and h.fence = u.f and h.state + 0 = 3 offset 0) k on true
  ),
  gone as (
    delete from held h using x where x.fate = 1 and h.ctid = x.place and h.state + 0 = 3 and h.fence = x.f
    returning h.*, x.h as host, x.n
  ),
  waits as (
    insert into breaker_waits (tenant_id, host, due_at, run_id, queue_id, pool, since)
    select tenant_id, host, due_at, id, queue_id, pool, clock_timestamp() from gone
    on conflict do nothing
  ),
  kept as (
    insert into ready (pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week, job_id, nominal_at, lane)
    select -pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt - 1, attempts_max, fence, keep_week, job_id, nominal_at, lane
    from gone
  ),
  told as (
    insert into events (tenant_id, project_id, type, subject, job_id, data)
    select tenant_id, project_id, 'run.held', id, job_id, jsonb_build_object('host', host) from gone
  )
  select x.n::int, case when x.fate = 1 and g.n is null then 2::smallint else x.fate end
  from x left join gone g on g.n = x.n
  cross join (select return_tokens(array_agg(tenant_id), array_agg(queue_id), array_agg(lane)) from gone) back;
end $f$;

do $$
declare f text;
begin
  foreach f in array array['lock_backlogs(uuid[],uuid[])', 'give_batch_lane(uuid,uuid,uuid)', 'return_tokens(uuid[],uuid[],uuid[])',
    'next_token(smallint)'] loop
    execute format('revoke execute on function %s from public', f);
    execute format('grant execute on function %s to meridian_engine', f);
  end loop;
end $$;
