-- The rules of running: where an occurrence goes in time, what happens to the ones that are late, forbidden or in each
-- other's way, and the ledger that tells of all of them.

-- The ledger --------------------------------------------------------------------------------------------------

alter table occurrences
  -- When it runs, where that is not its nominal instant.
  add column effective_at timestamptz,
  -- A run of equal outcomes shares a row: its last instant, and how many there are. Only instants that had passed when
  -- they were decided do, so that whatever is still to come can be decided again one by one.
  add column until_at timestamptz,
  add column count int not null default 1,
  -- A person moved it, or wrote something beside it.
  add column moved boolean not null default false,
  add column note text,
  add column edited_by text;

-- Schedules ---------------------------------------------------------------------------------------------------

alter table schedules
  -- How long before its nominal instant an occurrence may start: calendars can roll it back.
  add column lead_ms bigint not null default 0,
  -- How many of the late ones run, and how late they may be, under the catch-up rule 2 (all).
  add column catch_up_max int not null default 100,
  add column catch_up_window_ms bigint,
  -- Runs that are left of those it may have; null: no end.
  add column runs_left int,
  -- The ledger may hold rows from next_at on: it was set back, or somebody edited what is to come.
  add column revisits boolean not null default false,
  -- After so many failures in a row the job is paused; 1: once it is over and still, the job is deleted.
  add column pause_after int,
  add column when_over smallint not null default 0;

-- Milliseconds are the same in every time zone, so this does not depend on one.
create function look_at(next_at timestamptz, lead_ms bigint) returns timestamptz
language sql immutable parallel safe as $f$ select next_at - lead_ms * interval '1 millisecond' $f$;

drop index schedules_next;
create index schedules_look on schedules (shard_id, look_at(next_at, lead_ms)) where next_at is not null and not paused;
create index schedules_over on schedules (shard_id) where next_at is null and when_over > 0;

-- Whoever sets a schedule back need not remember that there is a ledger.
create function mark_revisit() returns trigger language plpgsql as $f$
begin
  new.revisits := true;
  return new;
end $f$;
create trigger schedules_revisit before update of next_at on schedules
  for each row when (new.next_at < old.next_at or (old.next_at is null and new.next_at is not null))
  execute function mark_revisit();

-- What a schedule had not decided when it was changed, resumed or removed: its instants from next_at up to until_at,
-- with the rules they had. The scheduler works them off.
create table schedule_rests (
  tenant_id uuid not null,
  job_id uuid not null,
  until_at timestamptz not null,
  project_id uuid not null,
  queue_id uuid not null,
  pool smallint not null,
  shard_id smallint not null,
  job_version int not null,
  spec jsonb not null,
  overlap smallint not null,
  catch_up smallint not null,
  catch_up_max int not null,
  catch_up_window_ms bigint,
  grace_seconds int not null,
  priority smallint not null,
  attempts_max smallint not null,
  runs_left int,
  next_at timestamptz not null,
  -- Why none of them runs; null: its rules decide.
  reason text,
  primary key (tenant_id, job_id, until_at),
  foreign key (tenant_id, job_id) references jobs on delete cascade
);
create index schedule_rests_shard on schedule_rests (shard_id);

alter table jobs add column pause_until timestamptz;
create index jobs_pause_until on jobs (pause_until) where pause_until is not null;

-- Waiting for an earlier run of its job -------------------------------------------------------------------------

-- A due run whose job is busy lies in `due` under the negative number of its pool: still scheduled to every reader, and
-- out of the way of those that are looked for by time.
create index due_behind on due (pool, tenant_id, job_id, due_at, id) where pool < 0;

-- The first of those that wait, job by job, where nothing of the job is open any more.
create function release_waiting(p_pool smallint) returns void
language plpgsql set enable_nestloop = on as $f$
begin
  with recursive j as (
    (select w.tenant_id, w.job_id from due w where w.pool = -p_pool and w.pool < 0 order by w.tenant_id, w.job_id limit 1)
    union all
    select n.tenant_id, n.job_id from j, lateral (
      select w.tenant_id, w.job_id from due w
      where w.pool = -p_pool and w.pool < 0 and (w.tenant_id, w.job_id) > (j.tenant_id, j.job_id)
      order by w.tenant_id, w.job_id limit 1) n
  ),
  free as materialized (
    select f.place from j cross join lateral (
      select w.ctid as place from due w
      where w.pool = -p_pool and w.pool < 0 and w.tenant_id = j.tenant_id and w.job_id = j.job_id order by w.due_at, w.id limit 1) f
    where not exists (select from held h where h.tenant_id = j.tenant_id and h.job_id = j.job_id offset 0)
      and not exists (select from ready r where r.tenant_id = j.tenant_id and r.job_id = j.job_id offset 0)
      and not exists (select from due d where d.tenant_id = j.tenant_id and d.job_id = j.job_id and d.attempt > 0 offset 0)
  ),
  gone as (delete from due d where d.ctid = any(array(select place from free)) returning d.*),
  kept as (
    insert into ready (pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week, job_id, nominal_at)
    select -pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week, job_id, nominal_at
    from gone
  )
  update occurrences o set outcome = 'run', decided_at = clock_timestamp() from gone g
    where o.tenant_id = g.tenant_id and o.job_id = g.job_id and o.nominal_at = g.nominal_at and o.outcome = 'pending';
end $f$;


-- due -> ready, with the overlap decision of each occurrence, and of each run by hand that asked for one:
--   0 skip: ends here as skipped while the job has an open run that started its way earlier.
--   1 allow.
--   2 queue-one: one may wait behind it, further ones are skipped.  3 queue-all: all of them wait.
--   4 cancel-running: what is open is cancelled.  5 replace: like 2, but the newest one is the one that waits.
-- Returns what was stopped while it was with an executor, which has to be told.
create function promote_due(p_pool smallint, p_until timestamptz, p_limit int)
returns table (s_tenant uuid, s_queue uuid, s_id uuid, s_fence int)
language plpgsql set enable_nestloop = on as $f$
#variable_conflict use_column
declare
  v_waits boolean := exists (select from due where pool = -p_pool and pool < 0);
begin
  return query
  with c as materialized (
    select d.ctid as place, d.tenant_id, d.job_id, d.due_at, d.id, d.nominal_at, d.overlap, d.attempt
    from due d where d.pool = p_pool and d.due_at <= p_until order by d.due_at limit p_limit
  ),
  occurrence as materialized (
    select c.*, row_number() over (partition by tenant_id, job_id order by due_at, id) as turn,
      count(*) over (partition by tenant_id, job_id) as turns
    from c where job_id is not null and case when nominal_at is null then overlap <> 1 and attempt = 0
      -- A retry kept its decision: its occurrence is not pending any more.
      else exists (select from occurrences o where o.tenant_id = c.tenant_id and o.job_id = c.job_id
        and o.nominal_at = c.nominal_at and o.outcome = 'pending' offset 0) end
  ),
  seen as materialized (
    select x.*,
      x.overlap <> 1 and (x.turn = 1 or x.overlap > 1) and (
        exists (select from held h where h.tenant_id = x.tenant_id and h.job_id = x.job_id offset 0)
        or exists (select from ready r where r.tenant_id = x.tenant_id and r.job_id = x.job_id offset 0)
        or exists (select from due d where d.tenant_id = x.tenant_id and d.job_id = x.job_id and d.attempt > 0 offset 0)) as busy,
      x.overlap <> 1 and v_waits and exists (select from due d where d.pool = -p_pool and d.pool < 0
        and d.tenant_id = x.tenant_id and d.job_id = x.job_id offset 0) as queued
    from occurrence x
  ),
  fate as materialized (
    select s.*, case
      when s.overlap = 1 then 'go'
      when s.overlap = 4 then case when s.turn = s.turns then 'go' else 'skip' end
      when s.turn = 1 and not s.busy and not s.queued then 'go'
      when s.overlap = 3 then 'wait'
      when s.overlap = 2 and not s.queued and s.turn = case when s.busy then 1 else 2 end then 'wait'
      when s.overlap = 5 and s.turn = s.turns then 'wait'
      else 'skip' end as fate
    from seen s
  ),
  -- Whose place the newest takes: all that is open, or what has waited.
  displaced as materialized (
    select distinct tenant_id, job_id, overlap from fate where overlap = 4 and (busy or queued) or overlap = 5 and queued
  ),
  stays as materialized (
    select place from fate where fate = 'wait'
    union all
    select c.place from c join displaced x on x.overlap = 4 and x.tenant_id = c.tenant_id and x.job_id = c.job_id where c.attempt > 0
  ),
  waits as (
    update due d set pool = -d.pool where d.ctid = any(array(select place from fate where fate = 'wait'))
  ),
  gone as (
    delete from due d where d.ctid = any(array(select place from c where place not in (select place from stays)))
    returning d.*, d.ctid as place
  ),
  kept as (
    insert into ready (pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week, job_id, nominal_at)
    select pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week, job_id, nominal_at
    from gone where place not in (select place from fate where fate = 'skip')
  ),
  stopped as (
    delete from held h using displaced x where x.overlap = 4 and h.tenant_id = x.tenant_id and h.job_id = x.job_id returning h.*
  ),
  unready as (
    delete from ready r using displaced x where x.overlap = 4 and r.tenant_id = x.tenant_id and r.job_id = x.job_id returning r.*
  ),
  undue as (
    delete from due d using displaced x
    where d.tenant_id = x.tenant_id and d.job_id = x.job_id and (d.pool < 0 or x.overlap = 4 and d.attempt > 0)
    returning d.*
  ),
  ended as (
    insert into runs (tenant_id, project_id, id, queue_id, pool, state, attempt, fence, due_at, started_at, ended_at, duration_ms, error,
      job_id, nominal_at, executor_id)
    select tenant_id, project_id, id, queue_id, abs(pool), state, attempt, fence, due_at, since, clock_timestamp(),
      (extract(epoch from clock_timestamp() - since) * 1000)::int, 'overlap', job_id, nominal_at, executor_id
    from (
      select tenant_id, project_id, id, queue_id, pool, 8 as state, attempt, fence, due_at, null::timestamptz as since, job_id, nominal_at,
        null::uuid as executor_id
      from gone where place in (select place from fate where fate = 'skip')
      union all
      select tenant_id, project_id, id, queue_id, pool, case when attempt = 0 then 8 else 6 end, attempt, fence, due_at, null, job_id,
        nominal_at, null from undue
      union all
      select tenant_id, project_id, id, queue_id, pool, 6, attempt, fence, due_at, null, job_id, nominal_at, null from unready
      union all
      select tenant_id, project_id, id, queue_id, pool, 6, attempt, fence, due_at, case when state = 3 then since end, job_id, nominal_at,
        executor_id from stopped) x
    returning tenant_id, project_id, id, job_id, state
  ),
  told as (
    insert into events (tenant_id, project_id, type, subject, job_id, data)
    select tenant_id, project_id, case when state = 8 then 'run.skipped' else 'run.cancelled' end, id, job_id, '{"reason": "overlap"}'
    from ended
  ),
  decided as (
    update occurrences o set outcome = x.outcome, reason = x.reason, decided_at = clock_timestamp()
    from (
      select tenant_id, job_id, nominal_at, case when fate = 'go' then 'run' else 'skipped' end as outcome,
        case when fate = 'go' then null else 'overlap' end as reason
      from fate where fate <> 'wait' and nominal_at is not null
      union all
      select tenant_id, job_id, nominal_at, 'skipped', 'overlap' from undue where attempt = 0 and nominal_at is not null) x
    where o.tenant_id = x.tenant_id and o.job_id = x.job_id and o.nominal_at = x.nominal_at and o.outcome = 'pending'
  )
  select tenant_id, queue_id, id, fence from stopped where state = 3;
end $f$;

-- Admits up to p_batch runs of a pool, so that at most p_cap are held. Whoever gets the lock dispatches; nobody
-- owns it. First every run that is due within p_ahead_ms gets its overlap decision and moves to ready; then slots
-- are given, lowest slots-in-use / weight first among tenants, then by priority and due instant. Slots are
-- counted from live rows. With less than p_room_min slots free it leaves the rest to the next look.
-- Those that wait for an earlier run of their job are looked at first. A row without a due instant is a run to be stopped.
create function admit_runs(p_pool smallint, p_batch int, p_cap int, p_ahead_ms float8, p_queued_seconds float8, p_room_min int)
returns table (o_tenant uuid, o_queue uuid, o_id uuid, o_fence int, o_due_ms float8, o_week date)
language plpgsql set enable_nestloop = off as $f$
#variable_conflict use_column
declare
  v_until timestamptz;
begin
  if not pg_try_advisory_xact_lock(42, p_pool) then return; end if;
  v_until := clock_timestamp() + p_ahead_ms * interval '1 millisecond';
  if exists (select from due where pool = -p_pool and pool < 0) then perform release_waiting(p_pool); end if;
  if exists (select from due where pool = p_pool and due_at <= v_until) then
    return query select s_tenant, s_queue, s_id, s_fence, null::float8, null::date from promote_due(p_pool, v_until, 2 * p_batch);
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

grant execute on function admit_runs, release_waiting, promote_due to meridian_engine;
revoke execute on function admit_runs, release_waiting, promote_due from public;

-- A run by hand that minds the job's other runs: accepted like any other, a moment ahead of now, so that promotion decides.
create function accept_minding(
  p_tenant uuid[], p_project uuid[], p_id uuid[], p_queue uuid[], p_priority int2[], p_attempts_max int2[],
  p_due_ms float8[], p_block uuid[], p_offset int[], p_source int2[], p_job uuid[], p_job_version int[], p_replay_of uuid[],
  p_key text[], p_fingerprint text[], p_actor text[], p_request text[], p_batch boolean, p_digest text,
  p_block_tenant uuid[], p_block_id uuid[], p_block_sealed bytea[], p_overlap int2)
returns table (o int, outcome int, run_id uuid, due_ms float8, created_ms float8, is_ready boolean)
language plpgsql security definer set search_path = public, pg_temp as $f$
#variable_conflict use_column
begin
  return query select * from accept_runs(p_tenant, p_project, p_id, p_queue, p_priority, p_attempts_max,
    array(select greatest(d, round(extract(epoch from clock_timestamp())::float8 * 1000) + 25) from unnest(p_due_ms) with ordinality u(d, n) order by n),
    p_block, p_offset, p_source, p_job, p_job_version, p_replay_of, p_key, p_fingerprint, p_actor, p_request, p_batch, p_digest,
    p_block_tenant, p_block_id, p_block_sealed);
  update due set overlap = p_overlap from unnest(p_tenant, p_id) u(t, i) where due.tenant_id = t and due.id = i;
end $f$;

do $$ begin
  execute 'grant create on schema public to meridian_engine';
  alter function accept_minding owner to meridian_engine;
  revoke execute on function accept_minding from public;
  grant execute on function accept_minding to meridian_app;
  grant execute on function accept_runs to meridian_engine;
  execute 'revoke create on schema public from meridian_engine';
end $$;

-- Who may -----------------------------------------------------------------------------------------------------

do $$ begin
  alter table schedule_rests enable row level security;
  alter table schedule_rests force row level security;
  create policy app on schedule_rests to meridian_app using (tenant_id = (select current_tenant())) with check (tenant_id = (select current_tenant()));
  create policy engine on schedule_rests to meridian_engine using (true) with check (true);
  execute format('create policy owner on schedule_rests to %I using (true) with check (true)', current_user);
end $$;
grant select on schedule_rests to meridian_app, meridian_engine;
grant insert on schedule_rests to meridian_app;
grant insert, update, delete on schedule_rests to meridian_engine;
-- A job that is over is deleted by the engine, in the tenant's name.
grant delete on schedules to meridian_engine;
-- Edits of one occurrence. Its run is the scheduler's to write.
grant insert on occurrences to meridian_app;
-- Whoever writes a schedule keeps its calendars from changing meanwhile; a bulk edit does so as the engine.
create policy engine_hold on calendars for update to meridian_engine using (true) with check (false);
grant update on calendars to meridian_engine;
