-- Breakers: what has a host failed too often is held back for, so that no attempt is spent on a target that is down. A
-- host that is well has no row here, and costs nothing.

create table breakers (
  tenant_id uuid not null references tenants on delete cascade,
  -- As URLs name it: with the port when that is not the scheme's.
  host text not null,
  id uuid not null,
  -- Where it was noticed; its events are told there.
  project_id uuid not null,
  -- open: runs are held, one at a time is let go to see whether the host is back. draining: it is, and what was held goes
  -- in order, faster and faster. closed: kept for a while to be looked at.
  state text not null check (state in ('open', 'draining', 'closed')),
  since timestamptz not null,
  opened_at timestamptz not null,
  -- Opened by a person or a key: closed by one, too.
  opened_by text,
  reason text,
  closed_at timestamptz,
  closed_by text,
  -- What it was opened for: failures within the window, and the last of them.
  failures int not null default 0,
  error text,
  http_status smallint,
  probes_failed int not null default 0,
  -- Null: nothing is let go until it is closed by hand.
  probe_at timestamptz,
  probe_run uuid,
  probe_pool smallint,
  probe_queue uuid,
  -- How far what was held has been let go, in its order.
  passed_at timestamptz,
  passed_id uuid,
  paced_at timestamptz,
  primary key (tenant_id, host),
  unique (tenant_id, id),
  check ((state = 'closed') = (closed_at is not null)),
  check (probe_run is null or state = 'open')
);
create index breakers_active on breakers (tenant_id, host) where state <> 'closed';
create index breakers_age on breakers (closed_at) where closed_at is not null;

-- Runs that are held for a host, in the order in which they go. The run itself waits in `ready` under the negative number
-- of its pool: due and open to every reader, and out of the way of admission. A row whose run is gone means nothing.
create table breaker_waits (
  tenant_id uuid not null,
  host text not null,
  due_at timestamptz not null,
  run_id uuid not null,
  queue_id uuid not null,
  pool smallint not null,
  since timestamptz not null,
  primary key (tenant_id, host, due_at, run_id)
);
create index breaker_waits_run on breaker_waits (tenant_id, run_id);

-- What a tenant wants of its breakers; without a row, the defaults of the program.
create table breaker_settings (
  tenant_id uuid primary key references tenants on delete cascade,
  is_enabled boolean not null,
  failures int not null check (failures > 0),
  failure_share real not null check (failure_share > 0 and failure_share <= 1),
  window_seconds int not null check (window_seconds > 0),
  updated_at timestamptz not null default clock_timestamp(),
  version int not null default 1
);

do $$
declare t text;
begin
  foreach t in array array['breakers', 'breaker_waits', 'breaker_settings'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy app on %I to meridian_app using (tenant_id = (select current_tenant())) with check (tenant_id = (select current_tenant()))', t);
    execute format('create policy engine on %I to meridian_engine using (true) with check (true)', t);
    execute format('create policy owner on %I to %I using (true) with check (true)', t, current_user);
    execute format('grant select on %I to meridian_app, meridian_engine', t);
  end loop;
end $$;
grant insert, update on breakers, breaker_settings to meridian_app;
grant insert, update, delete on breakers, breaker_waits to meridian_engine;

-- When the next run is let go to a host that has failed so many probes: after 1 s, then twice as long, up to 30 s; later
-- when the host itself asked for that, up to ten minutes.
create function probe_after(p_failed int, p_asked_ms float8) returns interval
language sql immutable parallel safe as $f$
  select greatest(least(power(2, least(p_failed, 10)), 30), least(coalesce(p_asked_ms, 0) / 1000, 600)) * interval '1 second'
$f$;

-- Asks for runs that an executor has claimed and not begun whether they may call their host. Those that may not go back
-- to wait, and their attempt is not counted. Verdicts: 0 goes, 1 held, 2 not found as claimed (taken away, or touched this
-- very moment), 3 goes as the probe.
create function hold_runs(p_pool smallint, p_tenant uuid[], p_queue uuid[], p_id uuid[], p_fence int[], p_host text[])
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
    insert into ready (pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week, job_id, nominal_at)
    select -pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt - 1, attempts_max, fence, keep_week, job_id, nominal_at
    from gone
  ),
  told as (
    insert into events (tenant_id, project_id, type, subject, job_id, data)
    select tenant_id, project_id, 'run.held', id, job_id, jsonb_build_object('host', host) from gone
  )
  select x.n::int, case when x.fate = 1 and g.n is null then 2::smallint else x.fate end
  from x left join gone g on g.n = x.n;
end $f$;

-- Lets go what may go: a probe of each open breaker whose time has come, the next of each one that is draining, so many a
-- second, twice as many each second; closes those that hold nothing any more. One caller at a time works.
create function release_held(p_pace float8, p_batch int)
returns table (r_pool smallint, r_count int)
language plpgsql set enable_nestloop = on as $f$
#variable_conflict use_column
declare
  b breakers; v_now timestamptz; v_count int;
begin
  if not exists (select from breakers where state <> 'closed') then return; end if;
  if not pg_try_advisory_xact_lock(43, 0) then return; end if;
  for b in select * from breakers where state <> 'closed' order by tenant_id, host limit 1000 for update loop
    v_now := clock_timestamp();
    -- The run of a probe tells how it went. One that ended without a word, or waits for its next try, tells nothing.
    if b.probe_run is not null and not exists (select from ready r where r.tenant_id = b.tenant_id and r.id = b.probe_run)
      and not exists (select from held h where h.pool = b.probe_pool and h.tenant_id = b.tenant_id and h.queue_id = b.probe_queue and h.id = b.probe_run)
    then
      b.probe_run := null;
    end if;
    v_count := case
      when b.probe_run is not null or b.probe_at > v_now or b.state = 'open' and b.probe_at is null then 0
      when b.state = 'open' then 1
      else least(p_batch, ceil(p_pace * power(2, least(extract(epoch from v_now - b.since)::float8, 20))
        * extract(epoch from v_now - b.paced_at)::float8)) end;
    continue when v_count = 0;
    -- Runs that were cancelled while they waited are passed over.
    delete from breaker_waits x where x.ctid = any(array(
      select y.ctid from (select ctid, * from breaker_waits where tenant_id = b.tenant_id and host = b.host order by due_at, run_id limit v_count + 1000) y
      where not exists (select from ready r where r.tenant_id = y.tenant_id and r.id = y.run_id and r.pool = -y.pool offset 0)));
    if exists (select from breaker_waits where tenant_id = b.tenant_id and host = b.host) then
      return query
      with next as materialized (
        select * from breaker_waits where tenant_id = b.tenant_id and host = b.host order by due_at, run_id limit v_count),
      gone as (
        delete from breaker_waits x using next n
        where x.tenant_id = n.tenant_id and x.host = n.host and x.due_at = n.due_at and x.run_id = n.run_id),
      let_go as (
        update ready r set pool = n.pool from next n where r.tenant_id = n.tenant_id and r.id = n.run_id and r.pool = -n.pool
        returning r.pool),
      last as (select * from next order by due_at desc, run_id desc limit 1),
      moved as (
        update breakers x set paced_at = v_now,
          passed_at = case when b.state = 'draining' then l.due_at end, passed_id = case when b.state = 'draining' then l.run_id end,
          probe_run = case when b.state = 'open' then l.run_id end, probe_pool = l.pool, probe_queue = l.queue_id
        from last l where x.tenant_id = b.tenant_id and x.host = b.host)
      select pool, count(*)::int from let_go group by pool;
    elsif b.state = 'draining' or b.probe_at < v_now - interval '10 minutes' then
      update breakers x set state = 'closed', since = v_now, closed_at = v_now, probe_run = null, probe_at = null,
          passed_at = null, passed_id = null
        where x.tenant_id = b.tenant_id and x.host = b.host;
      insert into events (tenant_id, project_id, type, subject, data)
        values (b.tenant_id, b.project_id, 'breaker.closed', b.id, jsonb_build_object('host', b.host, 'openedAt', b.opened_at));
    elsif b.probe_run is null then
      -- What comes next is its probe.
      update breakers x set probe_run = null where x.tenant_id = b.tenant_id and x.host = b.host and x.probe_run is not null;
    end if;
  end loop;
end $f$;

grant execute on function hold_runs, release_held, probe_after to meridian_engine;
revoke execute on function hold_runs, release_held, probe_after from public;
