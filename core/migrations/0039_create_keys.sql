-- Under which key a run was created, for as long as the run is known: run_keys forgets it when its window is over.
alter table run_details
  add column key_kind text check (key_kind in ('deduplicate', 'debounce', 'collect')),
  -- The project, job or queue in which the key means something.
  add column key_scope uuid,
  add column key text,
  add constraint run_details_key check (num_nulls(key_kind, key_scope, key) in (0, 3));

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
  if v_tags = '{}' and not p_details ?| array['metadata', 'callbackOf', 'batchId', 'key'] then return; end if;
  insert into run_details (tenant_id, run_id, project_id, tags, metadata, callback_of, batch_id, key_kind, key_scope, key)
    values (p_tenant, p_run, p_project, v_tags, p_details->'metadata', (p_details->>'callbackOf')::uuid, (p_details->>'batchId')::uuid,
      -- What is asked for stands behind the key of those that are performed together.
      p_details->'key'->>'kind', (p_details->'key'->>'scope')::uuid, split_part(p_details->'key'->>'key', chr(31), 1))
    on conflict do nothing;
  insert into run_tags (tenant_id, project_id, tag, run_id) select p_tenant, p_project, t, p_run from unnest(v_tags) t on conflict do nothing;
end $f$;
