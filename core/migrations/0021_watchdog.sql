-- What the watchdog has found to stand still, and when it last looked.

-- Things of tenants. An alarm that is over is kept for a while.
create table alarms (
  tenant_id uuid not null references tenants on delete cascade,
  kind text not null,
  -- The job, run, operation or breaker.
  subject uuid not null,
  project_id uuid not null,
  -- Since when it should have moved.
  since timestamptz not null,
  raised_at timestamptz not null,
  cleared_at timestamptz,
  primary key (tenant_id, kind, subject)
);
create index alarms_open on alarms (kind) where cleared_at is null;
create index alarms_age on alarms (cleared_at) where cleared_at is not null;

-- Things of the installation, which are nobody's: all may know that they stand still.
create table installation_alarms (
  kind text not null,
  name text not null,
  since timestamptz not null,
  raised_at timestamptz not null,
  cleared_at timestamptz,
  primary key (kind, name)
);

-- A watchdog that is silent is as bad as what it watches.
create table watchdog_passes (
  shard_id smallint primary key references shards,
  passed_at timestamptz not null
);

-- Since when a run of a pool has waited that nothing keeps from a slot: no executor is alive, or nothing of the pool is held
-- and its queue has no limit but what is held. Null where there is none.
create function waiting_since(p_pool smallint) returns timestamptz
language plpgsql stable set enable_nestloop = on set enable_seqscan = off as $f$
declare
  v_alive boolean := exists (select from executors e where e.pool = p_pool and e.seen_at > clock_timestamp() - interval '10 seconds');
begin
  if v_alive and exists (select from held h where h.pool = p_pool) then return null; end if;
  return (
    with recursive q as (
      (select w.tenant_id, w.queue_id from ready w where w.pool = p_pool order by w.tenant_id, w.queue_id limit 1)
      union all
      select n.tenant_id, n.queue_id from q, lateral (
        select w.tenant_id, w.queue_id from ready w where w.pool = p_pool and (w.tenant_id, w.queue_id) > (q.tenant_id, q.queue_id)
        order by w.tenant_id, w.queue_id limit 1) n)
    select min(x.due_at) from (
      select w.due_at from q
      join limits ql on ql.tenant_id = q.tenant_id and ql.queue_id = q.queue_id
      join limits tl on tl.tenant_id = q.tenant_id and tl.queue_id = '00000000-0000-0000-0000-000000000000'
      cross join lateral (select w.due_at from ready w
        where w.pool = p_pool and w.tenant_id = q.tenant_id and w.queue_id = q.queue_id order by w.priority, w.due_at limit 1) w
      where not v_alive or not (ql.paused or tl.paused or ql.gated or ql.concurrency = 0 or tl.concurrency = 0)
      union all
      -- What has a lane may wait for a limit; without an executor it waits for that, too.
      (select w.due_at from ready w where not v_alive and w.pool = p_pool + 1000 limit 1)) x);
end $f$;
revoke execute on function waiting_since(smallint) from public;
grant execute on function waiting_since(smallint) to meridian_engine;

alter table alarms enable row level security;
alter table alarms force row level security;
create policy app on alarms for select to meridian_app using (tenant_id = (select current_tenant()));
create policy engine on alarms to meridian_engine using (true) with check (true);
do $$ begin execute format('create policy owner on alarms to %I using (true) with check (true)', current_user); end $$;
grant select on alarms, installation_alarms, watchdog_passes to meridian_app, meridian_engine;
grant insert, update, delete on alarms, installation_alarms, watchdog_passes to meridian_engine;
