-- The two decisions that are one round trip each: accept (intake) and admit (dispatcher).

-- Accepts the runs of one flush: any tenants, any mix. Each row is answered by itself:
--   0 accepted, 1 the key was used for this very request (run_id is the first one's), 2 the key was used for
--   another request, 3 the queue is not one of the tenant's project.
-- Tenant ids come from authenticated contexts only. `batch`: one event and one audit line for all rows, which
-- then must be of one tenant and project.
create function accept_runs(
  p_tenant uuid[], p_project uuid[], p_id uuid[], p_queue uuid[], p_priority int2[], p_attempts_max int2[],
  p_due_ms float8[], p_block uuid[], p_offset int[], p_source int2[], p_job uuid[], p_job_version int[], p_replay_of uuid[],
  p_key text[], p_fingerprint text[], p_actor text[], p_request text[], p_batch boolean, p_digest text,
  p_block_tenant uuid[], p_block_id uuid[], p_block_sealed bytea[])
returns table (o int, outcome int, run_id uuid, due_ms float8, created_ms float8, is_ready boolean)
language plpgsql security definer set search_path = public, pg_temp as $f$
#variable_conflict use_column
declare
  -- Instants have milliseconds, so that every reader is shown the same one.
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
begin
  if exists (select from unnest(p_key) k where k is not null) then
    insert into idempotency_keys (tenant_id, project_id, key, fingerprint, subject, created_at)
      select t, p, k, decode(f, 'base64'), i, v_now
      from unnest(p_tenant, p_project, p_key, p_fingerprint, p_id, p_queue) with ordinality u(t, p, k, f, i, q, o)
      where k is not null and exists (select from queues where queues.tenant_id = t and queues.id = q and queues.project_id = p)
      order by t, p, k, o
      on conflict do nothing;
  end if;
  return query
  with u as materialized (
    -- A key keeps the instant of its first use, so a repeated request is answered as the first one was.
    select x.*, coalesce(ik.created_at, v_now) as created,
      coalesce(to_timestamp(d / 1000), ik.created_at, v_now) as due, qu.pool,
      case when k is null then null else ik.subject end as holder,
      case when k is null then null else ik.fingerprint end as held_print
    from unnest(p_tenant, p_project, p_id, p_queue, p_priority, p_attempts_max, p_due_ms, p_block, p_offset, p_source, p_job,
      p_job_version, p_replay_of, p_key, p_fingerprint, p_actor, p_request)
      with ordinality x(t, p, i, q, pr, am, d, bl, bo, so, j, jv, ro, k, fp, ac, rq, o)
    left join lateral (select queues.pool from queues where queues.tenant_id = t and queues.id = q and queues.project_id = p offset 0) qu on true
    left join lateral (select s.subject, s.fingerprint, s.created_at from idempotency_keys s
      where k is not null and s.tenant_id = t and s.project_id = p and s.key = k offset 0) ik on true
  ),
  w as materialized (
    select u.*, greatest(u.due, v_now) as keep_at from u where u.pool is not null and (u.k is null or u.holder = u.i)
  ),
  weeks as materialized (
    select w.*, case when w.keep_at < v_now + interval '8 weeks'
      then date_trunc('week', w.keep_at at time zone 'UTC')::date else date '9999-12-31' end as week from w
  ),
  i_ as (
    insert into inputs (tenant_id, project_id, id, keep_week, created_at, due_at, queue_id, pool, priority, source, job_id, job_version, replay_of, payload_block, payload_offset)
    select t, p, i, week, v_now, due, q, pool, pr, so, j, jv, ro, bl, bo from weeks
  ),
  -- Those of refused rows alone are not kept.
  b_ as (
    insert into input_blocks (tenant_id, id, keep_week, sealed)
    select bt, bi, k.week, bs from unnest(p_block_tenant, p_block_id, p_block_sealed) b(bt, bi, bs)
    join (select t, bl, max(week) as week from weeks where bl is not null group by t, bl) k on k.t = bt and k.bl = bi
  ),
  r_ as (
    insert into ready (pool, tenant_id, queue_id, priority, due_at, id, project_id, attempts_max, keep_week, job_id)
    select pool, t, q, pr, due, i, p, am, week, j from weeks where due <= v_now
  ),
  d_ as (
    insert into due (pool, due_at, id, tenant_id, project_id, queue_id, priority, attempts_max, keep_week, job_id)
    select pool, due, i, t, p, q, pr, am, week, j from weeks where due > v_now
  ),
  e_ as (
    insert into events (tenant_id, project_id, type, subject, job_id, at)
    select t, p, 'run.created', i, j, v_now from weeks where not p_batch
  ),
  eb as (
    insert into events (tenant_id, project_id, type, at, data)
    select p_tenant[1], p_project[1], 'runs.created', v_now, jsonb_build_object('count', (select count(*) from weeks))
    where p_batch and exists (select from weeks)
  ),
  a_ as (
    insert into audit_entries (tenant_id, id, at, project_id, actor, action, subject, request_id)
    select t, i, v_now, p, ac, 'run.create', i, rq from weeks where not p_batch
  ),
  ab as (
    insert into audit_entries (tenant_id, id, at, project_id, actor, action, data, request_id)
    select p_tenant[1], p_id[1], v_now, p_project[1], p_actor[1], 'run.create-batch',
      jsonb_build_object('count', (select count(*) from weeks), 'digest', p_digest), p_request[1]
    where p_batch and exists (select from weeks)
  )
  select u.o::int,
    case when u.pool is null then 3 when u.k is null or u.holder = u.i then 0
      when u.held_print = decode(u.fp, 'base64') then 1 else 2 end,
    case when u.k is null then u.i else coalesce(u.holder, u.i) end,
    round(extract(epoch from u.due)::float8 * 1000), round(extract(epoch from u.created)::float8 * 1000), u.due <= u.created
  from u;
end $f$;

do $$ begin
  execute 'grant create on schema public to meridian_intake';
  alter function accept_runs owner to meridian_intake;
  revoke execute on function accept_runs from public;
  grant execute on function accept_runs to meridian_app;
  execute 'revoke create on schema public from meridian_intake';
end $$;

-- Admits up to p_batch runs of a pool, so that at most p_cap are held. Whoever gets the lock dispatches; nobody
-- owns it. First every run that is due within p_ahead_ms gets its overlap decision and moves to ready; then slots
-- are given, lowest slots-in-use / weight first among tenants, then by priority and due instant. Slots are
-- counted from live rows. With less than p_room_min slots free it leaves the rest to the next look.
create function admit_runs(p_pool smallint, p_batch int, p_cap int, p_ahead_ms float8, p_queued_seconds float8, p_room_min int)
returns table (o_tenant uuid, o_queue uuid, o_id uuid, o_fence int, o_due_ms float8, o_week date)
language plpgsql set enable_nestloop = off as $f$
#variable_conflict use_column
declare
  v_until timestamptz;
begin
  if not pg_try_advisory_xact_lock(42, p_pool) then return; end if;
  v_until := clock_timestamp() + p_ahead_ms * interval '1 millisecond';
  if exists (select from due where pool = p_pool and due_at <= v_until) then
    perform promote_due(p_pool, v_until, 2 * p_batch);
  end if;
  if not exists (select from ready where pool = p_pool) then return; end if;
  return query
  with recursive
  used as materialized (
    select h.tenant_id, h.queue_id, count(*)::int n from held h where h.pool = p_pool group by 1, 2),
  -- Where slots come free by the thousand, one here and there is not worth a walk over all queues.
  room as materialized (
    select least(p_cap - free.used, p_batch) n from (select coalesce(sum(n), 0)::int used from used) free
    where p_cap - free.used >= greatest(1, p_room_min)),
  q as (
    (select w.tenant_id, w.queue_id from room, ready w where w.pool = p_pool order by w.tenant_id, w.queue_id limit 1)
    union all
    select n.tenant_id, n.queue_id from q, lateral (
      select w.tenant_id, w.queue_id from ready w
      where w.pool = p_pool and (w.tenant_id, w.queue_id) > (q.tenant_id, q.queue_id)
      order by w.tenant_id, w.queue_id limit 1) n
  ),
  tused as materialized (select tenant_id, sum(n)::int n from used group by 1),
  -- A tenant's second queue stands behind every tenant's first, so that many queues give nobody more than one does.
  open as materialized (
    select q.*, coalesce(u.n, 0) un, coalesce(tu.n, 0) tn, ql.concurrency qmax, tl.concurrency tmax, tl.weight
    from q
    join limits ql on ql.tenant_id = q.tenant_id and ql.queue_id = q.queue_id
    join limits tl on tl.tenant_id = q.tenant_id and tl.queue_id = '00000000-0000-0000-0000-000000000000'
    left join used u on u.tenant_id = q.tenant_id and u.queue_id = q.queue_id
    left join tused tu on tu.tenant_id = q.tenant_id
    where not ql.paused and not tl.paused and coalesce(u.n, 0) < ql.concurrency and coalesce(tu.n, 0) < tl.concurrency
    order by (coalesce(tu.n, 0) + row_number() over (partition by q.tenant_id order by coalesce(u.n, 0), random())) / tl.weight limit 64
  ),
  share as materialized (select tenant_id, count(*)::int queues, (count(*) over ())::int tenants from open group by tenant_id),
  candidates as (
    select c.*, row_number() over (partition by o.tenant_id order by c.priority, c.due_at) + o.tn as rank, o.tmax, o.weight
    from open o join share s on s.tenant_id = o.tenant_id cross join room cross join lateral (
      select w.ctid as place, w.priority, w.due_at from ready w
      where w.pool = p_pool and w.tenant_id = o.tenant_id and w.queue_id = o.queue_id
      order by w.priority, w.due_at
      limit greatest(0, least(room.n, 1 + (3 * room.n) / (2 * s.tenants * s.queues), o.qmax - o.un))) c
  ),
  pick as materialized (
    select place from candidates where rank <= tmax order by rank / weight, priority, due_at limit (select n from room)),
  gone as (delete from ready w where w.ctid = any(array(select place from pick)) returning w.*),
  taken as (
    insert into held (pool, tenant_id, queue_id, id, project_id, state, priority, attempt, attempts_max, fence, due_at,
      keep_week, job_id, nominal_at, since, lease_until, epoch)
    select g.pool, g.tenant_id, g.queue_id, g.id, g.project_id, 2, g.priority, g.attempt, g.attempts_max, g.fence + 1, g.due_at,
      g.keep_week, g.job_id, g.nominal_at, clock_timestamp(), clock_timestamp() + p_queued_seconds * interval '1 second',
      (select s.epoch from shards s join pools p on p.shard_id = s.id where p.id = p_pool)
    from gone g
    returning tenant_id, queue_id, id, fence, due_at, keep_week
  )
  select t.tenant_id, t.queue_id, t.id, t.fence, round(extract(epoch from t.due_at)::float8 * 1000), t.keep_week
  from taken t order by t.due_at;
end $f$;

-- due -> ready, with the overlap decision: an occurrence under "skip" whose job still has an open run that started
-- its way earlier ends here as skipped. Returns how many rows moved.
create function promote_due(p_pool smallint, p_until timestamptz, p_limit int) returns int
language plpgsql set enable_nestloop = on as $f$
#variable_conflict use_column
declare
  v_moved int;
begin
  with c as materialized (
    select d.ctid as place, d.tenant_id, d.job_id, d.due_at, d.id, d.nominal_at, d.overlap
    from due d where d.pool = p_pool and d.due_at <= p_until order by d.due_at limit p_limit
  ),
  occurrence as materialized (
    select c.*, row_number() over (partition by tenant_id, job_id order by due_at, id) as turn
    from c where nominal_at is not null and job_id is not null
      -- A retry kept its decision: its occurrence is not pending any more.
      and exists (select from occurrences o where o.tenant_id = c.tenant_id and o.job_id = c.job_id
        and o.nominal_at = c.nominal_at and o.outcome = 'pending' offset 0)
  ),
  skip as materialized (
    select x.place, x.tenant_id, x.job_id, x.nominal_at from occurrence x where x.overlap = 0 and (
      x.turn > 1
      or exists (select from held h where h.tenant_id = x.tenant_id and h.job_id = x.job_id offset 0)
      or exists (select from ready r where r.tenant_id = x.tenant_id and r.job_id = x.job_id offset 0)
      or exists (select from due d where d.tenant_id = x.tenant_id and d.job_id = x.job_id and d.attempt > 0 offset 0))
  ),
  gone as (delete from due d where d.ctid = any(array(select place from c)) returning d.*, d.ctid as place),
  kept as (
    insert into ready (pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week, job_id, nominal_at)
    select pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week, job_id, nominal_at
    from gone where place not in (select place from skip)
    returning tenant_id, job_id, nominal_at, id
  ),
  ended as (
    insert into runs (tenant_id, project_id, id, queue_id, pool, state, attempt, fence, due_at, ended_at, error, job_id, nominal_at)
    select tenant_id, project_id, id, queue_id, pool, 8, attempt, fence, due_at, clock_timestamp(), 'overlap', job_id, nominal_at
    from gone where place in (select place from skip)
    returning tenant_id, project_id, id, job_id
  ),
  told as (
    insert into events (tenant_id, project_id, type, subject, job_id, data)
    select tenant_id, project_id, 'run.skipped', id, job_id, '{"reason": "overlap"}' from ended
  ),
  decided as (
    update occurrences o set outcome = case when s.place is null then 'run' else 'skipped' end,
      reason = case when s.place is null then null else 'overlap' end, decided_at = clock_timestamp()
    from occurrence x left join skip s on s.place = x.place
    where o.tenant_id = x.tenant_id and o.job_id = x.job_id and o.nominal_at = x.nominal_at and o.outcome = 'pending'
  )
  select count(*) into v_moved from gone;
  return v_moved;
end $f$;

grant execute on function admit_runs, promote_due to meridian_engine;
grant select on shards, pools to meridian_engine;
-- Dispatchers vacuum what they churn.
grant maintain on due, ready, held to meridian_engine;
revoke execute on function admit_runs, promote_due from public;

-- Counters for pictures of time, kept by the relay with its position, so that each event counts once.
create table relay_positions (
  name text primary key,
  xid xid8 not null,
  seq bigint not null
);

create table run_minutes (
  tenant_id uuid not null,
  project_id uuid not null,
  minute timestamptz not null,
  -- 4 succeeded ... 8 skipped, as in runs.
  state smallint not null,
  count int not null,
  primary key (tenant_id, project_id, minute, state)
);

create table job_hours (
  tenant_id uuid not null,
  job_id uuid not null,
  hour timestamptz not null,
  state smallint not null,
  count int not null,
  primary key (tenant_id, job_id, hour, state)
);

-- Counters come in the order of time, so their age needs no more than this.
create index run_minutes_age on run_minutes using brin (minute);
create index job_hours_age on job_hours using brin (hour);

do $$
declare t text;
begin
  foreach t in array array['run_minutes', 'job_hours'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy app on %I for select to meridian_app using (tenant_id = (select current_tenant()))', t);
    execute format('create policy engine on %I to meridian_engine using (true) with check (true)', t);
    execute format('create policy owner on %I to %I using (true) with check (true)', t, current_user);
    execute format('grant select on %I to meridian_app', t);
    execute format('grant select, insert, update, delete on %I to meridian_engine', t);
  end loop;
end $$;
grant select, insert, update on relay_positions to meridian_engine;
