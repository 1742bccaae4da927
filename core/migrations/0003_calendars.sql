-- What decides about a schedule's instants beside the schedule: calendars and blackouts of a tenant. And what a
-- schedule was at any time, so that its ledger can be held against it.

create table calendars (
  tenant_id uuid not null references tenants on delete cascade,
  id uuid not null,
  name text not null check (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$'),
  version int not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, id),
  unique (tenant_id, name)
);

create table calendar_versions (
  tenant_id uuid not null,
  calendar_id uuid not null,
  version int not null,
  -- Description, dates, ranges, weekly hours, holidays, as on the wire. Never updated: caches know it by its version.
  definition jsonb not null,
  created_by text not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, calendar_id, version),
  foreign key (tenant_id, calendar_id) references calendars on delete cascade
);

create table blackouts (
  tenant_id uuid not null references tenants on delete cascade,
  id uuid not null,
  -- Null: all projects.
  project_id uuid,
  name text not null,
  from_at timestamptz not null,
  until_at timestamptz not null check (until_at > from_at),
  -- What becomes of what falls into it: skip, or next (waits for its end).
  roll text not null default 'skip' check (roll in ('skip', 'next')),
  created_by text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  version int not null default 1,
  primary key (tenant_id, id),
  foreign key (tenant_id, project_id) references projects on delete cascade
);
create index blackouts_until on blackouts (tenant_id, until_at);

-- The few schedules that name calendars.
create index schedules_calendars on schedules (tenant_id) where spec ?| array['onlyOn', 'notOn'];

-- What a schedule was: from each row until the next one of the job. A span holds the instants after from_at.
create table schedule_spans (
  tenant_id uuid not null,
  job_id uuid not null,
  from_at timestamptz not null,
  job_version int not null,
  -- With its anchor; null: it had none.
  spec jsonb,
  paused boolean not null,
  tz_version text not null,
  primary key (tenant_id, job_id, from_at),
  foreign key (tenant_id, job_id) references jobs on delete cascade
);

-- Whoever writes schedules can't forget it. Instants are whole milliseconds, and what a schedule has not decided yet
-- belongs to what it is now.
create function record_schedule_span() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $f$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
begin
  if tg_op = 'DELETE' then
    insert into schedule_spans (tenant_id, job_id, from_at, job_version, spec, paused, tz_version)
      select old.tenant_id, old.job_id, v_now, old.job_version, null, false, old.tz_version
      -- A job that is going altogether takes its spans with it.
      where exists (select from jobs where tenant_id = old.tenant_id and id = old.job_id)
      on conflict (tenant_id, job_id, from_at) do update set spec = null, paused = false;
    return null;
  end if;
  insert into schedule_spans (tenant_id, job_id, from_at, job_version, spec, paused, tz_version)
    values (new.tenant_id, new.job_id, least(v_now, new.next_at - interval '1 millisecond'), new.job_version, new.spec,
      new.paused, new.tz_version)
    on conflict (tenant_id, job_id, from_at) do update
      set job_version = excluded.job_version, spec = excluded.spec, paused = excluded.paused, tz_version = excluded.tz_version;
  return null;
end $f$;
revoke execute on function record_schedule_span() from public;

insert into schedule_spans (tenant_id, job_id, from_at, job_version, spec, paused, tz_version)
  select tenant_id, job_id, least(date_trunc('milliseconds', clock_timestamp()), next_at - interval '1 millisecond'),
    job_version, spec, paused, tz_version from schedules;

create trigger schedule_spans_insert after insert on schedules
  for each row execute function record_schedule_span();
create trigger schedule_spans_update after update of job_version, spec, paused, tz_version on schedules
  for each row when ((old.job_version, old.spec, old.paused, old.tz_version)
    is distinct from (new.job_version, new.spec, new.paused, new.tz_version))
  execute function record_schedule_span();
create trigger schedule_spans_delete after delete on schedules
  for each row execute function record_schedule_span();

do $$
declare t text;
begin
  foreach t in array array['calendars', 'calendar_versions', 'blackouts', 'schedule_spans'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy app on %I to meridian_app using (tenant_id = (select current_tenant())) with check (tenant_id = (select current_tenant()))', t);
    execute format('create policy engine on %I for select to meridian_engine using (true)', t);
    execute format('create policy owner on %I to %I using (true) with check (true)', t, current_user);
    execute format('grant select on %I to meridian_app, meridian_engine', t);
  end loop;
end $$;
grant insert, update, delete on calendars, blackouts to meridian_app;
grant insert on calendar_versions to meridian_app;
-- Deleting a calendar takes its versions with it.
grant delete on calendar_versions to meridian_app;
