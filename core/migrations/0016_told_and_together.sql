-- Runs whose end is told by a call, and runs that are performed together.

-- Runs that have said themselves that their end is to be told, until it is; those of a job say it by their job's version.
create table run_callbacks (
  tenant_id uuid not null,
  run_id uuid not null,
  project_id uuid not null,
  on_success boolean not null,
  on_failure boolean not null,
  primary key (tenant_id, run_id)
);
create index job_versions_callbacks on job_versions (tenant_id, job_id, version) where definition->'target' ? 'callbacks';

do $$ begin
  alter table run_callbacks enable row level security;
  alter table run_callbacks force row level security;
  create policy app on run_callbacks for select to meridian_app using (tenant_id = (select current_tenant()));
  create policy engine on run_callbacks to meridian_engine using (true) with check (true);
  execute format('create policy owner on run_callbacks to %I using (true) with check (true)', current_user);
end $$;
grant select on run_callbacks to meridian_app;
grant select, insert, delete on run_callbacks to meridian_engine;

-- As before, and `key` of the kind `collect` { scope, key, ms, max, batchId }: the run is performed together with others of its key,
-- by a run of source 6 that is made with the first of them and due `ms` later, or once there are `max`. Until that one
-- has ended the others lie in `due` under the pool -(1000 + pool), where nobody looks; run_details.batch_id names it.
create or replace function accept_detailed(
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
  -- Runs that perform others, accepted behind the rows: the row each is like, its id, when it is due.
  x_rows int[] := '{}'; x_ids uuid[] := '{}'; x_due float8[] := '{}';
  -- The others, until when they wait, and the rows with which as many have come as may.
  v_batch uuid; v_members uuid[] := '{}'; v_parked timestamptz[] := '{}'; v_full int[] := '{}';
begin
  for v in
    select d.n::int as n, d.j->'key' as k, (d.j->'key'->>'scope')::uuid as scope, d.j->'key'->>'kind' as kind, d.j->'key'->>'key' as key,
      (d.j->'key'->>'ms')::float8 * interval '1 millisecond' as length, (d.j->'key'->>'maxMs')::float8 * interval '1 millisecond' as longest
    from jsonb_array_elements(p_details) with ordinality d(j, n) where jsonb_typeof(d.j) = 'object' and d.j ? 'key'
    order by p_tenant[d.n], 3, 4, 5, d.n
  loop
    v_base := coalesce(to_timestamp((v.k->>'nowMs')::float8 / 1000), v_now);
    insert into run_keys as k (tenant_id, scope_id, kind, key, project_id, run_id, first_at, expires_at)
      values (p_tenant[v.n], v.scope, v.kind, v.key, p_project[v.n], coalesce((v.k->>'batchId')::uuid, p_id[v.n]), v_base, v_base + v.length)
      on conflict (tenant_id, scope_id, kind, key) do update set hits = k.hits + 1
      returning k.run_id, k.first_at, k.expires_at, k.hits into v_known;
    v_until := least(v_base + v.length, v_known.first_at + v.longest);
    v_at := array_position(v_ids, v_known.run_id);

    if v.kind = 'collect' then
      v_batch := v_known.run_id;
      v_at := array_position(x_ids, v_batch);
      if v_at is not null then
        v_until := to_timestamp(x_due[v_at] / 1000);
      else
        -- Locked, so that it does not leave without this one.
        select d.due_at into v_until from due d
          where d.tenant_id = p_tenant[v.n] and d.id = v_batch and d.attempt = 0 and d.pool >= 0 for update;
        if not found then
          v_batch := (v.k->>'batchId')::uuid;
          v_until := v_base + v.length;
          v_known.hits := 0;
          update run_keys k set run_id = v_batch, first_at = v_base, expires_at = v_until, hits = 0
            where k.tenant_id = p_tenant[v.n] and k.scope_id = v.scope and k.kind = v.kind and k.key = v.key;
          x_rows := x_rows || v.n; x_ids := x_ids || v_batch; x_due := x_due || extract(epoch from v_until)::float8 * 1000;
          v_at := cardinality(x_ids);
        end if;
      end if;
      -- Into due, wherever time stands: it waits there for the other one.
      v_due[v.n] := extract(epoch from greatest(v_until, v_now + interval '10 seconds'))::float8 * 1000;
      v_members := v_members || v_ids[v.n]; v_parked := v_parked || v_until;
      p_details := jsonb_set(p_details, array[(v.n - 1)::text, 'batchId'], to_jsonb(v_batch));
      if v_known.hits + 1 >= (v.k->>'max')::int then
        if v_at is not null then x_due[v_at] := extract(epoch from v_base)::float8 * 1000;
        else update due d set due_at = v_base where d.tenant_id = p_tenant[v.n] and d.id = v_batch;
        end if;
        v_full := v_full || v.n;
        delete from run_keys k
          where k.tenant_id = p_tenant[v.n] and k.scope_id = v.scope and k.kind = v.kind and k.key = v.key;
      end if;
      continue;
    end if;

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
    with u as materialized (
      select x.*, row_number() over (order by n, own)::int as at from (
        select n, v_ids[n] as i, v_due[n] as d, v_source[n] as c, true as own from unnest(v_rows) n
        union all select x.n, x.i, x.d, 6::int2, false from unnest(x_rows, x_ids, x_due) x(n, i, d)) x),
    a as materialized (
      select * from accept_within(
        array(select p_tenant[n] from u order by at), array(select p_project[n] from u order by at), array(select i from u order by at),
        array(select p_queue[n] from u order by at), array(select p_priority[n] from u order by at), array(select p_attempts_max[n] from u order by at),
        array(select d from u order by at), array(select p_block[n] from u order by at), array(select p_offset[n] from u order by at),
        array(select c from u order by at), array(select case when own then p_job[n] end from u order by at), array(select case when own then p_job_version[n] end from u order by at),
        array(select case when own then p_replay_of[n] end from u order by at), array(select case when own then p_key[n] end from u order by at), array(select p_fingerprint[n] from u order by at),
        array(select p_actor[n] from u order by at), array(select p_request[n] from u order by at), p_batch, p_digest,
        p_block_tenant, p_block_id, p_block_sealed, p_overlap,
        array(select case when own then p_start_ms[n] end from u order by at), array(select case when own then p_end_ms[n] end from u order by at)))
    select array_agg(u.n), array_agg(a.outcome), array_agg(a.run_id), array_agg(a.due_ms), array_agg(a.created_ms), array_agg(a.is_ready)
      into r_o, r_outcome, r_id, r_due, r_created, r_ready from a join u on u.at = a.o where u.own;
    perform write_run_details(p_tenant[n], p_project[n], i, p_details->(n - 1)) from unnest(r_o, r_outcome, r_id) r(n, c, i)
      where c = 0 and jsonb_typeof(p_details->(n - 1)) = 'object';
    if v_members <> '{}' then
      update due d set pool = -(1000 + d.pool), due_at = m.until from unnest(v_members, v_parked) m(i, until)
        where d.id = m.i and d.tenant_id = any(p_tenant) and d.pool >= 0;
      -- Whoever wakes dispatchers has to know.
      r_due := array(select case when n = any(v_full) then extract(epoch from v_now)::float8 * 1000 else d end
        from unnest(r_o, r_due) with ordinality x(n, d, at) order by at);
    end if;
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

create or replace function write_run_details(p_tenant uuid, p_project uuid, p_run uuid, p_details jsonb) returns void
language plpgsql as $f$
declare
  v_tags text[] := array(select jsonb_array_elements_text(coalesce(p_details->'tags', '[]')));
begin
  if p_details->'key'->>'kind' = 'debounce' then
    delete from run_callbacks c where c.tenant_id = p_tenant and c.run_id = p_run;
  end if;
  if p_details ? 'tells' then
    insert into run_callbacks (tenant_id, run_id, project_id, on_success, on_failure)
      values (p_tenant, p_run, p_project, p_details->'tells' ? 'success', p_details->'tells' ? 'failure') on conflict do nothing;
  end if;
  if v_tags = '{}' and not p_details ?| array['metadata', 'callbackOf', 'batchId'] then return; end if;
  insert into run_details (tenant_id, run_id, project_id, tags, metadata, callback_of, batch_id)
    values (p_tenant, p_run, p_project, v_tags, p_details->'metadata', (p_details->>'callbackOf')::uuid, (p_details->>'batchId')::uuid)
    on conflict do nothing;
  insert into run_tags (tenant_id, project_id, tag, run_id) select p_tenant, p_project, t, p_run from unnest(v_tags) t on conflict do nothing;
end $f$;
