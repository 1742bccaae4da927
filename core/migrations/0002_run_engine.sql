-- Accepting runs, in one round trip; what dispatchers may do; counters.

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

grant select on shards, pools to meridian_engine;
-- Dispatchers vacuum what they churn.
grant maintain on due, ready, held to meridian_engine;

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
