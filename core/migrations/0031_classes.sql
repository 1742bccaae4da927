-- Classes of queues: critical work has slots of its own, standard work borrows what is idle, bulk takes what is left.

alter table limits
  -- 0 critical, 1 standard, 2 bulk.
  add column class smallint not null default 1 check (class between 0 and 2),
  -- Whether running work of the queue may be taken off its slot for critical work.
  add column preemptible boolean not null default false check (not preemptible or class = 2);
-- Whether there is any class but one is asked all the time, and mostly there is none.
create index limits_class on limits (class) where class <> 1;

-- Whether any queue of the installation has a class of its own. Says no more than that, so everybody may ask.
create function uses_classes() returns boolean
language sql stable security definer set search_path = public, pg_temp as $f$ select exists (select from limits where class <> 1) $f$;

drop function pool_standing(smallint);

-- How a pool stands, class by class: `tenants` have slots in use; `lines` are those
-- in which runs wait that might have a slot, but for want of one: of each class at most p_most of those that have the least.
-- What a tenant has is counted in the class of the line, and what it may have there is what it may have in all less what it
-- has in other classes. Null when nothing is in use and nobody asks for lines.
create function pool_standing(p_pool smallint, p_most int default null) returns jsonb
language plpgsql set enable_nestloop = off as $f$
#variable_conflict use_column
declare
  l_tenant uuid[]; l_queue uuid[]; l_lane uuid[]; u_tenant uuid[]; u_queue uuid[]; u_lane uuid[]; u_count int[];
begin
  select array_agg(t), array_agg(q), array_agg(l), array_agg(n) into u_tenant, u_queue, u_lane, u_count
    from (select tenant_id as t, queue_id as q, lane as l, count(*)::int as n from held where pool = p_pool group by 1, 2, 3) u;
  if u_tenant is null and p_most is null then return null; end if;
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
    union all select o_tenant, o_queue, o_lane from waiting_lanes(p_pool) where exists (select from ready where pool = p_pool + 1000))
  select array_agg(tenant_id), array_agg(queue_id), array_agg(lane) into l_tenant, l_queue, l_lane from l;
  return (
    with used as materialized (
      select u.t, ql.class, sum(u.n)::int as n from unnest(u_tenant, u_queue, u_count) u(t, q, n)
      join limits ql on ql.tenant_id = u.t and ql.queue_id = u.q group by 1, 2),
    w as materialized (
      select w.*, l_tenant[w.o_line] as t, ql.class, coalesce(u.n, 0) as class_used
      from weigh_lines(l_tenant, l_queue, l_lane, u_tenant, u_queue, u_lane, u_count) w
      join limits ql on ql.tenant_id = l_tenant[w.o_line] and ql.queue_id = l_queue[w.o_line]
      left join used u on u.t = l_tenant[w.o_line] and u.class = ql.class
      where w.o_queue_used < w.o_queue_max and w.o_tenant_used < w.o_tenant_max),
    asks as materialized (
      select array_agg(o_line) as line, array_agg(l_tenant[o_line]) as t, array_agg(l_queue[o_line]) as q, array_agg(l_lane[o_line]) as l
      from w where o_gated),
    gate as materialized (
      select asks.line[r.o_line] as line, min(floor(r.o_room / r.o_cost)) as runs
      from asks cross join lateral gate_rooms(asks.t, asks.q, asks.l) r where asks.t is not null group by 1),
    -- As admit_runs: a tenant's second line stands behind every tenant's first, and the rest is chance.
    turns as (
      select w.*, g.runs, row_number() over (partition by w.class, w.t order by (w.o_queue_used + random()) / w.o_queue_weight) as turn
      from w left join gate g on g.line = w.o_line where coalesce(g.runs, 1) > 0),
    ranked as (
      select *, row_number() over (partition by class order by (class_used + random() + turn) / o_tenant_weight) as place from turns)
    select jsonb_build_object(
      'lines', (select coalesce(jsonb_agg(jsonb_build_array(l_tenant[o_line], l_queue[o_line], l_lane[o_line], o_tenant_weight,
          class_used, o_tenant_max - o_tenant_used + class_used, o_queue_weight, o_queue_used, o_queue_max, o_used, runs, class)), '[]')
        from ranked where place <= p_most or p_most is null),
      'tenants', (select coalesce(jsonb_agg(jsonb_build_array(u.t, tl.weight, u.n, u.class)), '[]') from used u
        join limits tl on tl.tenant_id = u.t and tl.queue_id = '00000000-0000-0000-0000-000000000000')));
end $f$;

revoke execute on function pool_standing, uses_classes from public;
grant execute on function pool_standing to meridian_engine;
grant execute on function uses_classes to meridian_app, meridian_engine;
