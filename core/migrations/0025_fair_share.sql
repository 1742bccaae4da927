-- Slots are shared among tenants by weight, then among the queues of a tenant by weight, then among the keys of a queue.

-- A step of priority is worth so much waiting: what is less urgent goes first once it has waited that much longer, so
-- that nothing waits for ever.
create function priority_step() returns interval language sql immutable as $f$ select interval '10 minutes' $f$;

drop function admit_runs(smallint, int, int, float8, float8, int);
drop function gated_candidates(smallint, int, uuid[], uuid[], uuid[]);

-- What gates have left, for each line that asks them: a line is a tenant, a queue, and a lane or none.
create function gate_rooms(p_tenant uuid[], p_queue uuid[], p_lane uuid[])
returns table (o_line int, o_tenant uuid, o_gate uuid, o_cost int, o_room float8)
language plpgsql stable set enable_nestloop = on set enable_seqscan = off as $f$
begin
  return query
  with used as materialized (
    select h.tenant_id as t, h.project_id as p, h.queue_id as q, h.lane as l, count(*)::int as n
    from held h where h.tenant_id = any(p_tenant) group by 1, 2, 3, 4),
  used_lanes as materialized (
    select lg.tenant_id as t, lg.gate_id, sum(u.n::bigint * lg.cost) as units from used u
    join lane_gates lg on lg.tenant_id = u.t and lg.lane_id = u.l group by 1, 2),
  need as materialized (
    select g.line::int as line, g.t, n.gate_id, n.cost from unnest(p_tenant, p_queue, p_lane) with ordinality g(t, q, l, line)
    cross join lateral gates_of(g.t, g.q, g.l) n),
  gate as materialized (
    select x.t, x.gate_id, case when f.paused_at is not null then 0 else floor(least(
      coalesce(f.concurrency - case when f.is_whole
        then (select coalesce(sum(u.n), 0) from used u
          where u.t = x.t and (f.scope = 'tenant' or (f.scope = 'project' and u.p = f.project_id) or u.q = f.queue_id))
        else (select coalesce(sum(ul.units), 0) from used_lanes ul where ul.t = x.t and ul.gate_id = x.gate_id) end, 1000000),
      case when f.rate_count is null then 1000000
        else tokens_at(clock_timestamp(), gt.full_at, f.rate_count, f.rate_ms, f.rate_burst) end)) end::float8 as room
    from (select distinct need.t, need.gate_id from need) x
    join gates gt on gt.tenant_id = x.t and gt.id = x.gate_id
    join flow_limits f on f.tenant_id = x.t and f.id = gt.limit_id)
  select n.line, n.t, n.gate_id, n.cost, g.room from need n join gate g on g.t = n.t and g.gate_id = n.gate_id;
end $f$;

-- Of each line the first p_most runs, and of these the ones that all gates of the line let through, so that none could be
-- over its limit if all of them were admitted. The gates are locked in the order of their ids, and what is in use is counted
-- behind that: a gate may lead to several pools.
create function gated_candidates(p_pool smallint, p_tenant uuid[], p_queue uuid[], p_lane uuid[], p_most int[])
returns table (o_place tid)
language plpgsql set enable_nestloop = on set enable_seqscan = off as $f$
begin
  perform from gates g where (g.tenant_id, g.id) in (
      select u.t, n.gate_id from unnest(p_tenant, p_queue, p_lane) u(t, q, l) cross join lateral gates_of(u.t, u.q, u.l) n)
    order by g.tenant_id, g.id for update;
  return query
  with need as materialized (select * from gate_rooms(p_tenant, p_queue, p_lane)),
  narrowest as materialized (select n.o_line, min(floor(n.o_room / n.o_cost)) as runs from need n group by 1),
  c as materialized (
    select o.ord, coalesce(u.n, 0) as un, w.*, row_number() over (partition by o.ord order by w.due_at + w.priority * priority_step()) as turn
    from (
      select g.t, g.q, g.l, g.ord, greatest(0, least(g.most, m.runs))::int as most
      from unnest(p_tenant, p_queue, p_lane, p_most) with ordinality g(t, q, l, most, ord) left join narrowest m on m.o_line = g.ord) o
    left join (select h.tenant_id, h.queue_id, h.lane, count(*)::int as n from held h where h.tenant_id = any(p_tenant) group by 1, 2, 3) u
      on u.tenant_id = o.t and u.queue_id = o.q and u.lane is not distinct from o.l
    cross join lateral (
      select x.* from generate_series(1, 5) p cross join lateral (
        (select w.ctid as place, w.id, w.priority, w.due_at from ready w
          where o.l is not null and w.tenant_id = o.t and w.lane = o.l and w.pool = p_pool + 1000 and w.priority = p order by w.due_at limit o.most)
        union all
        (select w.ctid, w.id, w.priority, w.due_at from ready w
          where o.l is null and w.pool = p_pool and w.tenant_id = o.t and w.queue_id = o.q and w.priority = p order by w.due_at limit o.most)) x
      order by x.due_at + x.priority * priority_step() limit o.most) w),
  -- Behind one that some other gate stops, the next look lets more through; but never one too many.
  asked as (
    select x.place, bool_and(x.units <= x.o_room) as passes from (
      select c.place, n.o_room, sum(n.o_cost) over (partition by n.o_tenant, n.o_gate order by c.un + c.turn, c.priority, c.due_at, c.id
        rows unbounded preceding) as units
      from c join need n on n.o_line = c.ord) x
    group by 1)
  select c.place from c left join asked a on a.place = c.place where coalesce(a.passes, true);
end $f$;

-- How lines stand: what each has in use of the pool, its weight, and what its queue and tenant may have.
-- u_*: slots in use in the pool, by tenant, queue and lane.
create function weigh_lines(p_tenant uuid[], p_queue uuid[], p_lane uuid[], u_tenant uuid[], u_queue uuid[], u_lane uuid[], u_count int[])
returns table (o_line int, o_used int, o_queue_used int, o_tenant_used int, o_queue_max int, o_tenant_max int,
  o_queue_weight real, o_tenant_weight real, o_gated boolean)
language sql stable set enable_nestloop = off as $f$
  with used as materialized (select * from unnest(u_tenant, u_queue, u_lane, u_count) u(t, q, l, n)),
  by_queue as materialized (select t, q, sum(n)::int as n from used group by 1, 2),
  by_tenant as materialized (select t, sum(n)::int as n from used group by 1)
  -- What is paused may have nothing.
  select w.line::int, coalesce(u.n, 0), coalesce(uq.n, 0), coalesce(ut.n, 0), case when ql.paused then 0 else ql.concurrency end,
    case when tl.paused then 0 else tl.concurrency end, ql.weight, tl.weight, w.l is not null or ql.gated
  from unnest(p_tenant, p_queue, p_lane) with ordinality w(t, q, l, line)
  join limits ql on ql.tenant_id = w.t and ql.queue_id = w.q
  join limits tl on tl.tenant_id = w.t and tl.queue_id = '00000000-0000-0000-0000-000000000000'
  left join used u on u.t = w.t and u.q = w.q and coalesce(u.l, u.q) = coalesce(w.l, w.q)
  left join by_queue uq on uq.t = w.t and uq.q = w.q
  left join by_tenant ut on ut.t = w.t
$f$;

-- Gives slots to runs of lines: to the first p_most of each. The first are those due first, a step of priority counting as
-- so much waiting.
create function take_lines(p_pool smallint, p_queued_seconds float8, p_tenant uuid[], p_queue uuid[], p_lane uuid[], p_most int[], p_gated boolean[])
returns table (o_tenant uuid, o_queue uuid, o_id uuid, o_fence int, o_due_ms float8, o_week date, o_lane uuid)
language plpgsql set enable_nestloop = off as $f$
#variable_conflict use_column
declare
  v_asks boolean := true = any(p_gated);
  -- What gates let through.
  g_place tid[];
begin
  if v_asks then
    select array_agg(c.o_place) into g_place from (
      select array_agg(t) as t, array_agg(q) as q, array_agg(l) as l, array_agg(most) as most
      from unnest(p_tenant, p_queue, p_lane, p_most, p_gated) u(t, q, l, most, gated) where gated and most > 0) a
    cross join lateral gated_candidates(p_pool, a.t, a.q, a.l, a.most) c where a.t is not null;
  end if;
  return query
  with pick as materialized (
    select c.place
    from unnest(p_tenant, p_queue, p_most, p_gated) u(t, q, most, gated) cross join lateral (
      select x.place from generate_series(1, 5) p cross join lateral (
        select w.ctid as place, w.due_at + w.priority * priority_step() as turn from ready w
        where w.pool = p_pool and w.tenant_id = u.t and w.queue_id = u.q and w.priority = p order by w.due_at limit u.most) x
      order by x.turn limit u.most) c
    where not u.gated and u.most > 0
    union all select unnest(g_place)),
  gone as (delete from ready w where w.ctid = any(array(select place from pick)) returning w.*),
  taken as (
    insert into held (pool, tenant_id, queue_id, id, project_id, state, priority, attempt, attempts_max, fence, due_at,
      keep_week, job_id, nominal_at, lane, since, lease_until, epoch)
    select p_pool, g.tenant_id, g.queue_id, g.id, g.project_id, 2, g.priority, g.attempt, g.attempts_max, g.fence + 1, g.due_at,
      g.keep_week, g.job_id, g.nominal_at, g.lane, clock_timestamp(), clock_timestamp() + p_queued_seconds * interval '1 second',
      (select s.epoch from shards s join pools p on p.shard_id = s.id where p.id = p_pool)
    from gone g
    returning tenant_id, queue_id, id, fence, due_at, keep_week, lane
  ),
  spent as (
    update gates g set full_at = greatest(g.full_at, clock_timestamp()) + u.units * f.rate_ms / f.rate_count * interval '1 millisecond'
    from (
      select t.tenant_id, n.gate_id, sum(t.runs * n.cost) as units
      from (select tenant_id, queue_id, lane, count(*) as runs from taken where v_asks group by 1, 2, 3) t
      cross join lateral gates_of(t.tenant_id, t.queue_id, t.lane) n group by 1, 2) u
    join flow_limits f on f.tenant_id = u.tenant_id and f.rate_count is not null
    where g.tenant_id = u.tenant_id and g.id = u.gate_id and g.limit_id = f.id
  )
  select t.tenant_id, t.queue_id, t.id, t.fence, round(extract(epoch from t.due_at)::float8 * 1000), t.keep_week, t.lane
  from taken t order by t.due_at;
end $f$;

-- Gives slots to lines, as a division says that was made a moment ago: so that a line holds no more than p_target in all.
-- Whatever has changed meanwhile, no more than p_cap are held in the pool, and no queue and no tenant is over its concurrency.
create function admit_lines(p_pool smallint, p_batch int, p_cap int, p_queued_seconds float8,
  p_tenant uuid[], p_queue uuid[], p_lane uuid[], p_target int[])
returns table (o_tenant uuid, o_queue uuid, o_id uuid, o_fence int, o_due_ms float8, o_week date, o_lane uuid)
language plpgsql set enable_nestloop = off as $f$
#variable_conflict use_column
declare
  u_tenant uuid[]; u_queue uuid[]; u_lane uuid[]; u_count int[]; v_room int; v_most int[]; v_gated boolean[];
begin
  if not pg_try_advisory_xact_lock(42, p_pool) then return; end if;
  select array_agg(t), array_agg(q), array_agg(l), array_agg(n), least(p_batch, p_cap - coalesce(sum(n), 0))
    into u_tenant, u_queue, u_lane, u_count, v_room
    from (select tenant_id as t, queue_id as q, lane as l, count(*)::int as n from held where pool = p_pool group by 1, 2, 3) u;
  with wish as (
    select w.*, p_tenant[w.o_line] as t, p_queue[w.o_line] as q,
      least(greatest(0, p_target[w.o_line] - w.o_used), greatest(0, w.o_queue_max - w.o_queue_used)) as n
    from weigh_lines(p_tenant, p_queue, p_lane, u_tenant, u_queue, u_lane, u_count) w),
  by_queue as (
    select w.*, least(n, greatest(0, o_queue_max - o_queue_used - coalesce(sum(n)
      over (partition by t, q order by o_line rows between unbounded preceding and 1 preceding), 0))) as nq
    from wish w),
  by_tenant as (
    select b.*, least(nq, greatest(0, o_tenant_max - o_tenant_used - coalesce(sum(nq)
      over (partition by t order by o_line rows between unbounded preceding and 1 preceding), 0))) as nt
    from by_queue b),
  by_pool as (
    select b.*, least(nt, greatest(0, v_room - coalesce(sum(nt)
      over (order by o_line rows between unbounded preceding and 1 preceding), 0)))::int as most
    from by_tenant b)
  select array_agg(b.most order by l.o), array_agg(coalesce(b.o_gated, false) order by l.o) into v_most, v_gated
    from generate_subscripts(p_tenant, 1) l(o) left join by_pool b on b.o_line = l.o;
  return query select * from take_lines(p_pool, p_queued_seconds, p_tenant, p_queue, p_lane, v_most, v_gated);
end $f$;

-- Admits up to p_batch runs of a pool, so that at most p_cap are held. Whoever gets the lock dispatches; nobody
-- owns it. First every run that is due within p_ahead_ms gets its overlap decision and moves to ready; then slots
-- are given. Slots are counted from live rows. With less than p_room_min slots free it leaves the rest to the next look.
-- Where all that wait get one, or all wait in one line, nothing has to be divided, and they are admitted here. Else nothing
-- is: the last row then tells, in o_lines, how many slots are free and how lines stand, at most 64 of those that have the least.
-- Those that wait for an earlier run of their job are looked at first. A row without a due instant is a run to be stopped.
create function admit_runs(p_pool smallint, p_batch int, p_cap int, p_ahead_ms float8, p_queued_seconds float8, p_room_min int)
returns table (o_tenant uuid, o_queue uuid, o_id uuid, o_fence int, o_due_ms float8, o_week date, o_lines jsonb)
language plpgsql set enable_nestloop = off as $f$
#variable_conflict use_column
declare
  v_until timestamptz; v_lanes boolean; v_gated boolean; v_count int; v_waiting int; v_room int;
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
  if v_room < greatest(1, p_room_min) then return; end if;
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
  select array_agg(tenant_id), array_agg(queue_id), array_agg(lane), count(*) into l_tenant, l_queue, l_lane, v_count from l;
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
  if v_waiting <= v_room then
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
  select null::uuid, null::uuid, null::uuid, null::int, null::float8, null::date, jsonb_build_object('room', v_room, 'lines', jsonb_agg(jsonb_build_array(
    l_tenant[o_line], l_queue[o_line], l_lane[o_line], o_tenant_weight, o_tenant_used, o_tenant_max,
    o_queue_weight, o_queue_used, o_queue_max, o_used, runs)))
  from lowest having count(*) > 0;
end $f$;

grant execute on function admit_runs, admit_lines, take_lines, weigh_lines, gated_candidates, gate_rooms to meridian_engine;
revoke execute on function admit_runs, admit_lines, take_lines, weigh_lines, gated_candidates, gate_rooms from public;
