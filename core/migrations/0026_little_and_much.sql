-- Who has little on the way does not wait because others have much.

-- Admits up to p_batch runs of a pool, so that at most p_cap are held. Whoever gets the lock dispatches; nobody
-- owns it. First every run that is due within p_ahead_ms gets its overlap decision and moves to ready; then slots
-- are given. Slots are counted from live rows. With less than p_room_min slots free it leaves the rest to the next look,
-- except for tenants that have less than half of an even share of what is on its way: some slots beyond p_cap are theirs, so
-- that nobody waits because others have filled the road.
-- Where all that wait get one, or all wait in one line, nothing has to be divided, and they are admitted here. Else nothing
-- is: the last row then tells, in o_lines, how many slots are free, how many may be held, and how lines stand, at most 64 of those that have the least.
-- Those that wait for an earlier run of their job are looked at first. A row without a due instant is a run to be stopped.
create or replace function admit_runs(p_pool smallint, p_batch int, p_cap int, p_ahead_ms float8, p_queued_seconds float8, p_room_min int)
returns table (o_tenant uuid, o_queue uuid, o_id uuid, o_fence int, o_due_ms float8, o_week date, o_lines jsonb)
language plpgsql set enable_nestloop = off as $f$
#variable_conflict use_column
declare
  v_until timestamptz; v_lanes boolean; v_gated boolean; v_count int; v_waiting int; v_room int; v_cap int := p_cap;
  -- Tenants that wait for the next look.
  v_busy uuid[] := '{}';
  -- Lines in which runs wait, and slots in use.
  l_tenant uuid[]; l_queue uuid[]; l_lane uuid[]; l_gated boolean[];
  u_tenant uuid[]; u_queue uuid[]; u_lane uuid[]; u_count int[];
begin
  if not pg_try_advisory_xact_lock(42, p_pool) then return; end if;
  v_until := clock_timestamp() + p_ahead_ms * interval '1 millisecond';
  if exists (select from due where pool = -p_pool and pool < 0) then perform release_waiting(p_pool); end if;
  if exists (select from due where pool = p_pool and due_at <= v_until) then
    return query select s_tenant, s_queue, s_id, s_fence, null::float8, null::date, null::jsonb from promote_due(p_pool, v_until, 2 * p_batch);
  end if;
  v_lanes := exists (select from ready where pool = p_pool + 1000);
  if not v_lanes and not exists (select from ready where pool = p_pool) then return; end if;
  select array_agg(t), array_agg(q), array_agg(l), array_agg(n), least(p_batch, p_cap - coalesce(sum(n), 0))
    into u_tenant, u_queue, u_lane, u_count, v_room
    from (select tenant_id as t, queue_id as q, lane as l, count(*)::int as n from held where pool = p_pool group by 1, 2, 3) u;
  -- Where slots come free by the thousand, one here and there is not worth a walk over all queues.
  if v_room < greatest(1, p_room_min) then
    if p_room_min <= 1 or u_tenant is null then return; end if;
    v_cap := p_cap + 64;
    v_room := least(p_batch, v_room + 64);
    if v_room < 1 then return; end if;
    select array_agg(t) into v_busy from (
      select t, sum(n) as n, sum(sum(n)) over () / 2 / count(*) over () as little from unnest(u_tenant, u_count) u(t, n) group by 1) x
    where n > little;
  end if;
  with recursive q as (
    (select w.tenant_id, w.queue_id from ready w where w.pool = p_pool order by w.tenant_id, w.queue_id limit 1)
    union all
    select n.tenant_id, n.queue_id from q, lateral (
      select w.tenant_id, w.queue_id from ready w
      where w.pool = p_pool and (w.tenant_id, w.queue_id) > (q.tenant_id, q.queue_id)
      order by w.tenant_id, w.queue_id limit 1) n
  ),
  l as (
    select tenant_id, queue_id, null::uuid as lane from q
    union all select o_tenant, o_queue, o_lane from waiting_lanes(p_pool) where v_lanes)
  select array_agg(tenant_id), array_agg(queue_id), array_agg(lane), count(*) into l_tenant, l_queue, l_lane, v_count from l
    where tenant_id <> all(v_busy);
  if v_count = 0 then return; end if;
  if v_count = 1 then
    return query
    select a.o_tenant, a.o_queue, a.o_id, a.o_fence, a.o_due_ms, a.o_week, null::jsonb
    from weigh_lines(l_tenant, l_queue, l_lane, u_tenant, u_queue, u_lane, u_count) w
    cross join lateral take_lines(p_pool, p_queued_seconds, l_tenant, l_queue, l_lane,
      array[greatest(0, least(v_room, w.o_queue_max - w.o_queue_used, w.o_tenant_max - w.o_tenant_used))], array[w.o_gated]) a;
    return;
  end if;
  v_waiting := (select count(*)::int from (
    select from ready where pool = p_pool union all select from ready where pool = p_pool + 1000 limit v_room + 1) x);
  if v_waiting <= v_room and v_busy = '{}' then
    select array_agg(w.o_gated order by w.o_line) into l_gated
      from weigh_lines(l_tenant, l_queue, l_lane, u_tenant, u_queue, u_lane, u_count) w
      having min(least(w.o_queue_max - w.o_queue_used, w.o_tenant_max - w.o_tenant_used)) >= v_waiting;
    if l_gated is not null then
      return query
      select a.o_tenant, a.o_queue, a.o_id, a.o_fence, a.o_due_ms, a.o_week, null::jsonb from take_lines(p_pool, p_queued_seconds,
        l_tenant, l_queue, l_lane, array_fill(v_waiting, array[v_count]), l_gated) a;
      return;
    end if;
  end if;
  v_gated := v_lanes or exists (select from limits where gated);
  return query
  with w as materialized (
    select w.*, l_tenant[w.o_line] as t from weigh_lines(l_tenant, l_queue, l_lane, u_tenant, u_queue, u_lane, u_count) w
    where w.o_queue_used < w.o_queue_max and w.o_tenant_used < w.o_tenant_max),
  asks as materialized (
    select array_agg(o_line) as line, array_agg(l_tenant[o_line]) as t, array_agg(l_queue[o_line]) as q, array_agg(l_lane[o_line]) as l
    from w where v_gated and o_gated),
  gate as materialized (
    select asks.line[r.o_line] as line, min(floor(r.o_room / r.o_cost)) as runs
    from asks cross join lateral gate_rooms(asks.t, asks.q, asks.l) r where asks.t is not null group by 1),
  -- A tenant's second line stands behind every tenant's first, so that many queues give nobody more than one does; the rest
  -- is chance, so that nobody is passed over for ever.
  lowest as (
    select w.*, g.runs from w left join gate g on g.line = w.o_line where coalesce(g.runs, 1) > 0
    order by (w.o_tenant_used + random() + row_number() over (partition by w.t order by (w.o_queue_used + random()) / w.o_queue_weight))
      / w.o_tenant_weight limit 64)
  select null::uuid, null::uuid, null::uuid, null::int, null::float8, null::date, jsonb_build_object('room', v_room, 'cap', v_cap, 'lines', jsonb_agg(jsonb_build_array(
    l_tenant[o_line], l_queue[o_line], l_lane[o_line], o_tenant_weight, o_tenant_used, o_tenant_max,
    o_queue_weight, o_queue_used, o_queue_max, o_used, runs)))
  from lowest having count(*) > 0;
end $f$;
