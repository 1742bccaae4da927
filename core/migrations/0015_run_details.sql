-- What some runs have beside what all runs have: tags, metadata, and what they belong to. One row a run that has any of
-- it, so that all others cost nothing.

create table run_details (
  tenant_id uuid not null,
  run_id uuid not null,
  project_id uuid not null,
  -- Its own ones; those of its job's version are that version's.
  tags text[] not null default '{}',
  metadata jsonb,
  -- The run whose end this one tells.
  callback_of uuid,
  -- The run that performs it together with others.
  batch_id uuid,
  primary key (tenant_id, run_id)
);
create index run_details_callbacks on run_details (tenant_id, callback_of, run_id) where callback_of is not null;
create index run_details_batch on run_details (tenant_id, batch_id, run_id) where batch_id is not null;
create index run_details_age on run_details using brin (run_id);

create table run_tags (
  tenant_id uuid not null,
  project_id uuid not null,
  tag text not null,
  run_id uuid not null,
  primary key (tenant_id, project_id, tag, run_id)
);
create index job_versions_tags on job_versions using gin ((definition->'tags'));

-- Keys under which creates find an earlier one: of deduplication, of debouncing, and of what is collected into one call.
create table run_keys (
  tenant_id uuid not null,
  -- The project, job or queue in which the key means something.
  scope_id uuid not null,
  kind text not null check (kind in ('deduplicate', 'debounce', 'collect')),
  key text not null,
  project_id uuid not null,
  run_id uuid not null,
  first_at timestamptz not null,
  expires_at timestamptz not null,
  -- Creates that found it.
  hits int not null default 0,
  primary key (tenant_id, scope_id, kind, key)
);
create index run_keys_age on run_keys (expires_at);

do $$
declare t text;
begin
  foreach t in array array['run_details', 'run_tags', 'run_keys'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy app on %I for select to meridian_app using (tenant_id = (select current_tenant()))', t);
    execute format('create policy engine on %I to meridian_engine using (true) with check (true)', t);
    execute format('create policy owner on %I to %I using (true) with check (true)', t, current_user);
    execute format('grant select on %I to meridian_app', t);
    execute format('grant select, insert, update, delete on %I to meridian_engine', t);
  end loop;
end $$;

-- accept_within for flushes in which some run has details. p_details: an array of objects, one a row; null for a row that
-- has none: tags, metadata, callbackOf, and `key` { kind, scope, key, now, ... } of what may find an earlier run. Outcomes beside those
-- of accept_runs: 4 an earlier run has this key, run_id is that one's and nothing was changed; 5 an earlier run waits under this
-- key and does now what this row asks for, due later.
-- A key is locked before anything else is, keys in their order: of two creates at once the second finds what the first did.
create function accept_detailed(
  p_tenant uuid[], p_project uuid[], p_id uuid[], p_queue uuid[], p_priority int2[], p_attempts_max int2[],
  p_due_ms float8[], p_block uuid[], p_offset int[], p_source int2[], p_job uuid[], p_job_version int[], p_replay_of uuid[],
  p_key text[], p_fingerprint text[], p_actor text[], p_request text[], p_batch boolean, p_digest text,
  p_block_tenant uuid[], p_block_id uuid[], p_block_sealed bytea[], p_overlap int2, p_start_ms float8[], p_end_ms float8[],
  p_details jsonb)
returns table (o int, outcome int, run_id uuid, due_ms float8, created_ms float8, is_ready boolean)
language plpgsql security definer set search_path = public, pg_temp as $f$
#variable_conflict use_column
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  -- What is to be accepted: the row it comes from, under which id, due when, from which source.
  v_rows int[] := array(select n from generate_subscripts(p_id, 1) n order by n);
  v_ids uuid[] := p_id;
  v_due float8[] := p_due_ms;
  v_source int2[] := p_source;
  -- How the rows are answered that are not accepted, or for which another one stands in.
  a_rows int[] := '{}'; a_outcomes int[] := '{}'; a_ids uuid[] := '{}'; a_due float8[] := '{}';
  -- What was accepted.
  r_o int[]; r_outcome int[]; r_id uuid[]; r_due float8[]; r_created float8[]; r_ready boolean[];
  v record; v_known record;
  v_base timestamptz; v_until timestamptz; v_at int;
begin
  for v in
    select d.n::int as n, d.j->'key' as k, (d.j->'key'->>'scope')::uuid as scope, d.j->'key'->>'kind' as kind, d.j->'key'->>'key' as key,
      (d.j->'key'->>'ms')::float8 * interval '1 millisecond' as length, (d.j->'key'->>'maxMs')::float8 * interval '1 millisecond' as longest
    from jsonb_array_elements(p_details) with ordinality d(j, n) where jsonb_typeof(d.j) = 'object' and d.j ? 'key'
    order by p_tenant[d.n], 3, 4, 5, d.n
  loop
    v_base := coalesce(to_timestamp((v.k->>'nowMs')::float8 / 1000), v_now);
    insert into run_keys as k (tenant_id, scope_id, kind, key, project_id, run_id, first_at, expires_at)
      values (p_tenant[v.n], v.scope, v.kind, v.key, p_project[v.n], p_id[v.n], v_base, v_base + v.length)
      on conflict (tenant_id, scope_id, kind, key) do update set hits = k.hits + 1
      returning k.run_id, k.first_at, k.expires_at, k.hits into v_known;
    v_until := least(v_base + v.length, v_known.first_at + v.longest);
    v_at := array_position(v_ids, v_known.run_id);

    if v.kind = 'deduplicate' or (v.kind = 'debounce' and (v.k->>'leading')::boolean) then
      if v_known.run_id = p_id[v.n] then continue; end if;
      if v_known.expires_at > v_base then
        if v.kind = 'debounce' then
          update run_keys k set expires_at = greatest(k.expires_at, v_until)
            where k.tenant_id = p_tenant[v.n] and k.scope_id = v.scope and k.kind = v.kind and k.key = v.key;
        end if;
        v_rows[v.n] := null;
        a_rows := a_rows || v.n; a_outcomes := a_outcomes || 4; a_ids := a_ids || v_known.run_id; a_due := a_due || null::float8;
        continue;
      end if;

    elsif v.kind = 'debounce' then
      if v_known.run_id = p_id[v.n] then
        v_due[v.n] := extract(epoch from v_until)::float8 * 1000;
        continue;
      end if;
      if v_at is not null then
        -- Both are of this very flush: the later one takes the place of the earlier one.
        v_rows[v_at] := null; v_ids[v_at] := null;
        v_ids[v.n] := v_known.run_id;
        v_due[v.n] := extract(epoch from v_until)::float8 * 1000;
        a_rows := a_rows || v_at; a_outcomes := a_outcomes || 5; a_ids := a_ids || v_known.run_id; a_due := a_due || v_due[v.n];
        continue;
      end if;
      if put_off(p_tenant[v.n], p_project[v.n], v_known.run_id, v_until) then
        update inputs i set payload_block = p_block[v.n], payload_offset = p_offset[v.n], job_version = p_job_version[v.n]
          where i.tenant_id = p_tenant[v.n] and i.project_id = p_project[v.n] and i.id = v_known.run_id;
        insert into input_blocks (tenant_id, id, keep_week, sealed)
          select bt, bi, i.keep_week, bs from unnest(p_block_tenant, p_block_id, p_block_sealed) b(bt, bi, bs)
          join inputs i on i.tenant_id = p_tenant[v.n] and i.project_id = p_project[v.n] and i.id = v_known.run_id
          where bi = p_block[v.n];
        update due d set attempts_max = p_attempts_max[v.n] where d.tenant_id = p_tenant[v.n] and d.id = v_known.run_id;
        delete from run_deadlines x where x.tenant_id = p_tenant[v.n] and x.run_id = v_known.run_id;
        insert into run_deadlines (tenant_id, run_id, project_id, pool, queue_id, start_by, end_by, check_at)
          select d.tenant_id, d.id, d.project_id, d.pool, d.queue_id, d.due_at + p_start_ms[v.n] * interval '1 millisecond',
            d.due_at + p_end_ms[v.n] * interval '1 millisecond', d.due_at + least(p_start_ms[v.n], p_end_ms[v.n]) * interval '1 millisecond'
          from due d where d.tenant_id = p_tenant[v.n] and d.id = v_known.run_id and d.pool > 0
            and (p_start_ms[v.n] is not null or p_end_ms[v.n] is not null);
        insert into events (tenant_id, project_id, type, subject, job_id, at, data)
          values (p_tenant[v.n], p_project[v.n], 'run.debounced', v_known.run_id, p_job[v.n], v_now,
            jsonb_build_object('dueAt', v_until, 'creates', v_known.hits + 1));
        insert into audit_entries (tenant_id, id, at, project_id, actor, action, subject, request_id)
          values (p_tenant[v.n], p_id[v.n], v_now, p_project[v.n], p_actor[v.n], 'run.debounce', v_known.run_id, p_request[v.n]);
        delete from run_tags t using run_details x where x.tenant_id = p_tenant[v.n] and x.run_id = v_known.run_id
          and t.tenant_id = x.tenant_id and t.project_id = x.project_id and t.tag = any(x.tags) and t.run_id = x.run_id;
        delete from run_details x where x.tenant_id = p_tenant[v.n] and x.run_id = v_known.run_id;
        perform write_run_details(p_tenant[v.n], p_project[v.n], v_known.run_id, p_details->(v.n - 1));
        update run_keys k set expires_at = v_until
          where k.tenant_id = p_tenant[v.n] and k.scope_id = v.scope and k.kind = v.kind and k.key = v.key;
        v_rows[v.n] := null;
        a_rows := a_rows || v.n; a_outcomes := a_outcomes || 5; a_ids := a_ids || v_known.run_id;
        a_due := a_due || extract(epoch from v_until)::float8 * 1000;
        continue;
      end if;
      v_due[v.n] := extract(epoch from v_base + v.length)::float8 * 1000;
    end if;

    -- The key has come to nothing by now: it is this run's.
    update run_keys k set run_id = p_id[v.n], first_at = v_base, expires_at = v_base + v.length, hits = 0
      where k.tenant_id = p_tenant[v.n] and k.scope_id = v.scope and k.kind = v.kind and k.key = v.key;
  end loop;

  v_rows := array_remove(v_rows, null);
  if cardinality(v_rows) > 0 then
    with u as materialized (select n, row_number() over (order by n)::int as at from unnest(v_rows) n),
    a as materialized (
      select * from accept_within(
        array(select p_tenant[n] from u order by at), array(select p_project[n] from u order by at), array(select v_ids[n] from u order by at),
        array(select p_queue[n] from u order by at), array(select p_priority[n] from u order by at), array(select p_attempts_max[n] from u order by at),
        array(select v_due[n] from u order by at), array(select p_block[n] from u order by at), array(select p_offset[n] from u order by at),
        array(select v_source[n] from u order by at), array(select p_job[n] from u order by at), array(select p_job_version[n] from u order by at),
        array(select p_replay_of[n] from u order by at), array(select p_key[n] from u order by at), array(select p_fingerprint[n] from u order by at),
        array(select p_actor[n] from u order by at), array(select p_request[n] from u order by at), p_batch, p_digest,
        p_block_tenant, p_block_id, p_block_sealed, p_overlap,
        array(select p_start_ms[n] from u order by at), array(select p_end_ms[n] from u order by at)))
    select array_agg(u.n), array_agg(a.outcome), array_agg(a.run_id), array_agg(a.due_ms), array_agg(a.created_ms), array_agg(a.is_ready)
      into r_o, r_outcome, r_id, r_due, r_created, r_ready from a join u on u.at = a.o;
    perform write_run_details(p_tenant[n], p_project[n], i, p_details->(n - 1)) from unnest(r_o, r_outcome, r_id) r(n, c, i)
      where c = 0 and jsonb_typeof(p_details->(n - 1)) = 'object';
    -- A key must not lead to a run that was not accepted: to the one that an idempotency key has, or to none.
    update run_keys k set run_id = i from unnest(r_o, r_outcome, r_id) r(n, c, i)
      where c = 1 and k.tenant_id = p_tenant[n] and k.run_id = v_ids[n] and k.kind = p_details->(n - 1)->'key'->>'kind'
        and k.scope_id = (p_details->(n - 1)->'key'->>'scope')::uuid and k.key = p_details->(n - 1)->'key'->>'key';
    delete from run_keys k using unnest(r_o, r_outcome) r(n, c)
      where c > 1 and k.tenant_id = p_tenant[n] and k.run_id = v_ids[n] and k.kind = p_details->(n - 1)->'key'->>'kind'
        and k.scope_id = (p_details->(n - 1)->'key'->>'scope')::uuid and k.key = p_details->(n - 1)->'key'->>'key';
  end if;
  return query
    select n, c, i, d, r, y from unnest(r_o, r_outcome, r_id, r_due, r_created, r_ready) x(n, c, i, d, r, y)
    union all
    -- What found a run of this very flush is answered as that run was.
    select n, case when r.c > 1 then r.c else a.c end, coalesce(r.i, a.i), coalesce(a.d, r.d, 0),
      extract(epoch from v_now)::float8 * 1000, false
    from unnest(a_rows, a_outcomes, a_ids, a_due) a(n, c, i, d)
    left join lateral (select x.c, x.i, x.d from unnest(r_o, r_outcome, r_id, r_due) x(n, c, i, d) where v_ids[x.n] = a.i limit 1) r on true;
end $f$;

-- Makes a run that has not begun due at another instant. False when it waits for its instant no more.
create function put_off(p_tenant uuid, p_project uuid, p_run uuid, p_until timestamptz) returns boolean
language plpgsql as $f$
declare
  v_week date := case when greatest(p_until, clock_timestamp()) < clock_timestamp() + interval '8 weeks'
    then date_trunc('week', greatest(p_until, clock_timestamp()) at time zone 'UTC')::date else date '9999-12-31' end;
begin
  update due set due_at = p_until, keep_week = v_week where tenant_id = p_tenant and id = p_run and attempt = 0 and pool >= 0;
  if not found then return false; end if;
  update inputs set due_at = p_until, keep_week = v_week where tenant_id = p_tenant and project_id = p_project and id = p_run;
  return true;
end $f$;

create function write_run_details(p_tenant uuid, p_project uuid, p_run uuid, p_details jsonb) returns void
language plpgsql as $f$
declare
  v_tags text[] := array(select jsonb_array_elements_text(coalesce(p_details->'tags', '[]')));
begin
  if v_tags = '{}' and not p_details ?| array['metadata', 'callbackOf', 'batchId'] then return; end if;
  insert into run_details (tenant_id, run_id, project_id, tags, metadata, callback_of, batch_id)
    values (p_tenant, p_run, p_project, v_tags, p_details->'metadata', (p_details->>'callbackOf')::uuid, (p_details->>'batchId')::uuid)
    on conflict do nothing;
  insert into run_tags (tenant_id, project_id, tag, run_id) select p_tenant, p_project, t, p_run from unnest(v_tags) t on conflict do nothing;
end $f$;

do $$
declare f text;
begin
  execute 'grant create on schema public to meridian_engine';
  foreach f in array array['accept_detailed', 'put_off', 'write_run_details'] loop
    execute format('alter function %I owner to meridian_engine', f);
    execute format('revoke execute on function %I from public', f);
  end loop;
  grant execute on function accept_detailed to meridian_app;
  execute 'revoke create on schema public from meridian_engine';
end $$;
-- What a debounced run does instead.
grant insert on input_blocks to meridian_engine;
