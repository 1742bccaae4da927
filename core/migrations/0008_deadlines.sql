-- Deadlines: until when a run has to have begun, and to have ended. One narrow row a run that has one, so that all
-- others cost nothing; it goes when its run has ended, or was ended by it.

create table run_deadlines (
  tenant_id uuid not null,
  run_id uuid not null,
  project_id uuid not null,
  pool smallint not null,
  queue_id uuid not null,
  start_by timestamptz,
  end_by timestamptz,
  -- When to look next.
  check_at timestamptz not null,
  primary key (tenant_id, run_id),
  check (start_by is not null or end_by is not null)
);
create index run_deadlines_next on run_deadlines (check_at);

alter table schedules add column start_within_ms bigint;
alter table schedules add column end_within_ms bigint;

do $$ begin
  alter table run_deadlines enable row level security;
  alter table run_deadlines force row level security;
  create policy app on run_deadlines for select to meridian_app using (tenant_id = (select current_tenant()));
  create policy engine on run_deadlines to meridian_engine using (true) with check (true);
  execute format('create policy owner on run_deadlines to %I using (true) with check (true)', current_user);
end $$;
grant select on run_deadlines to meridian_app;
grant select, insert, update, delete on run_deadlines to meridian_engine;

-- accept_runs for flushes in which some run has a deadline, or (with an overlap rule) accept_minding. Milliseconds after
-- the run is due; null: none. What waits for a test clock has its deadlines by that clock: its executor minds them.
create function accept_within(
  p_tenant uuid[], p_project uuid[], p_id uuid[], p_queue uuid[], p_priority int2[], p_attempts_max int2[],
  p_due_ms float8[], p_block uuid[], p_offset int[], p_source int2[], p_job uuid[], p_job_version int[], p_replay_of uuid[],
  p_key text[], p_fingerprint text[], p_actor text[], p_request text[], p_batch boolean, p_digest text,
  p_block_tenant uuid[], p_block_id uuid[], p_block_sealed bytea[], p_overlap int2, p_start_ms float8[], p_end_ms float8[])
returns table (o int, outcome int, run_id uuid, due_ms float8, created_ms float8, is_ready boolean)
language plpgsql security definer set search_path = public, pg_temp as $f$
#variable_conflict use_column
begin
  return query
  with a as materialized (
    select * from accept_runs(p_tenant, p_project, p_id, p_queue, p_priority, p_attempts_max, p_due_ms, p_block, p_offset, p_source,
      p_job, p_job_version, p_replay_of, p_key, p_fingerprint, p_actor, p_request, p_batch, p_digest,
      p_block_tenant, p_block_id, p_block_sealed) where p_overlap is null
    union all
    select * from accept_minding(p_tenant, p_project, p_id, p_queue, p_priority, p_attempts_max, p_due_ms, p_block, p_offset, p_source,
      p_job, p_job_version, p_replay_of, p_key, p_fingerprint, p_actor, p_request, p_batch, p_digest,
      p_block_tenant, p_block_id, p_block_sealed, p_overlap) where p_overlap is not null),
  d as (
    insert into run_deadlines (tenant_id, run_id, project_id, pool, queue_id, start_by, end_by, check_at)
    select t, a.run_id, p, qu.pool, q, to_timestamp((due_ms + s) / 1000), to_timestamp((due_ms + e) / 1000),
      to_timestamp((due_ms + least(s, e)) / 1000)
    from a join unnest(p_tenant, p_project, p_queue, p_start_ms, p_end_ms) with ordinality u(t, p, q, s, e, n) on u.n = a.o
    join queues qu on qu.tenant_id = t and qu.id = q
    where a.outcome = 0 and qu.pool <> 0 and (s is not null or e is not null))
  select * from a;
end $f$;

do $$ begin
  execute 'grant create on schema public to meridian_engine';
  alter function accept_within owner to meridian_engine;
  revoke execute on function accept_within from public;
  grant execute on function accept_within to meridian_app;
  execute 'revoke create on schema public from meridian_engine';
end $$;
