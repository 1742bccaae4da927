-- What tenants should have had of the slots of a pool, and what they had: sampled from live rows, apart from whoever divides.

-- Sums over samples. A tenant that neither has nor wants slots has no row.
create table share_minutes (
  tenant_id uuid not null,
  pool smallint not null,
  minute timestamptz not null,
  received float8 not null,
  entitled float8 not null,
  primary key (tenant_id, pool, minute)
);
create index share_minutes_pool on share_minutes (pool, minute);

-- The same of all tenants together, which everybody may see.
create table pool_minutes (
  pool smallint not null references pools,
  minute timestamptz not null,
  samples int not null,
  sampled_at timestamptz not null,
  slots float8 not null,
  tenants float8 not null,
  -- How even the shares were, each for what it should have been.
  jain float8 not null default 1,
  primary key (pool, minute)
);

-- How a pool stands: `tenants` have slots in use, or runs that wait; `lines` are those in which runs wait that might have a
-- slot, but for want of one. Null when nothing does.
create function pool_standing(p_pool smallint) returns jsonb
language plpgsql set enable_nestloop = off as $f$
#variable_conflict use_column
declare
  l_tenant uuid[]; l_queue uuid[]; l_lane uuid[]; u_tenant uuid[]; u_queue uuid[]; u_lane uuid[]; u_count int[];
begin
  select array_agg(t), array_agg(q), array_agg(l), array_agg(n) into u_tenant, u_queue, u_lane, u_count
    from (select tenant_id as t, queue_id as q, lane as l, count(*)::int as n from held where pool = p_pool group by 1, 2, 3) u;
  if u_tenant is null then return null; end if;
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
    with w as materialized (
      select w.* from weigh_lines(l_tenant, l_queue, l_lane, u_tenant, u_queue, u_lane, u_count) w
      where w.o_queue_used < w.o_queue_max and w.o_tenant_used < w.o_tenant_max),
    asks as materialized (
      select array_agg(o_line) as line, array_agg(l_tenant[o_line]) as t, array_agg(l_queue[o_line]) as q, array_agg(l_lane[o_line]) as l
      from w where o_gated),
    gate as materialized (
      select asks.line[r.o_line] as line, min(floor(r.o_room / r.o_cost)) as runs
      from asks cross join lateral gate_rooms(asks.t, asks.q, asks.l) r where asks.t is not null group by 1)
    select jsonb_build_object(
      'lines', (select coalesce(jsonb_agg(jsonb_build_array(l_tenant[o_line], l_queue[o_line], l_lane[o_line], o_tenant_weight,
          o_tenant_used, o_tenant_max, o_queue_weight, o_queue_used, o_queue_max, o_used, g.runs)), '[]')
        from w left join gate g on g.line = w.o_line where coalesce(g.runs, 1) > 0),
      'tenants', (select jsonb_agg(jsonb_build_array(u.t, tl.weight, u.n))
        from (select t, sum(n) as n from unnest(u_tenant, u_count) u(t, n) group by 1) u
        join limits tl on tl.tenant_id = u.t and tl.queue_id = '00000000-0000-0000-0000-000000000000')));
end $f$;

-- Adds a sample. Of several that are taken within a second the first counts. Returns how even the shares of this minute
-- have been so far, or null when it was not the first.
create function note_shares(p_pool smallint, p_tenant uuid[], p_received float8[], p_entitled float8[]) returns float8
language plpgsql as $f$
declare
  v_minute timestamptz := date_trunc('minute', clock_timestamp()); v_jain float8;
begin
  -- Across the turn of a minute, too.
  if (select m.sampled_at from pool_minutes m where m.pool = p_pool order by m.minute desc limit 1) > clock_timestamp() - interval '1 second' then
    return null;
  end if;
  insert into pool_minutes as m (pool, minute, samples, sampled_at, slots, tenants)
    select p_pool, v_minute, 1, clock_timestamp(), sum(r), count(*) from unnest(p_received) r
    on conflict (pool, minute) do update set samples = m.samples + 1, sampled_at = excluded.sampled_at, slots = m.slots + excluded.slots,
      tenants = m.tenants + excluded.tenants
    where m.sampled_at < excluded.sampled_at - interval '1 second';
  if not found then return null; end if;
  insert into share_minutes as s (tenant_id, pool, minute, received, entitled)
    select t, p_pool, v_minute, r, e from unnest(p_tenant, p_received, p_entitled) u(t, r, e)
    on conflict (tenant_id, pool, minute) do update set received = s.received + excluded.received, entitled = s.entitled + excluded.entitled;
  -- Less than a tenth of a slot is too little to be measured in whole ones.
  update pool_minutes m set jain = coalesce((
      select power(sum(x), 2) / nullif(count(*) * sum(x * x), 0) from (
        select s.received / s.entitled as x from share_minutes s
        where s.pool = p_pool and s.minute = v_minute and s.entitled >= m.samples * 0.1) x), 1)
    where m.pool = p_pool and m.minute = v_minute returning m.jain into v_jain;
  return v_jain;
end $f$;

alter table share_minutes enable row level security;
alter table share_minutes force row level security;
create policy app on share_minutes for select to meridian_app using (tenant_id = (select current_tenant()));
create policy engine on share_minutes to meridian_engine using (true) with check (true);
do $$ begin execute format('create policy owner on share_minutes to %I using (true) with check (true)', current_user); end $$;
grant select on share_minutes, pool_minutes to meridian_app;
grant select, insert, update, delete on share_minutes, pool_minutes to meridian_engine;
grant execute on function pool_standing, note_shares to meridian_engine;
revoke execute on function pool_standing, note_shares from public;
