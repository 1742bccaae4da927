-- Work on many things at once as a durable thing (operations), runs of the past (backfills), and projects whose due
-- instants follow a clock of their own (test clocks).

create table operations (
  tenant_id uuid not null,
  id uuid not null,
  project_id uuid not null,
  shard_id smallint not null default 1,
  kind text not null,
  -- What was asked for, as its kind reads it.
  plan jsonb not null,
  state text not null default 'running' check (state in ('running', 'paused', 'aborted', 'finished')),
  total int not null,
  done int not null default 0,
  unchanged int not null default 0,
  failed int not null default 0,
  -- The most items a second; null: as fast as it goes.
  rate real check (rate > 0),
  actor text not null,
  undo_of uuid,
  undone_by uuid,
  -- The first few items, for a person to recognise.
  sample jsonb not null,
  -- When the next step may be taken, and when the last one was: tenants take turns by it.
  next_at timestamptz not null default clock_timestamp(),
  stepped_at timestamptz,
  told_at timestamptz not null default clock_timestamp(),
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  primary key (tenant_id, id),
  foreign key (tenant_id, project_id) references projects on delete cascade,
  check (done + unchanged + failed <= total),
  check ((state in ('aborted', 'finished')) = (finished_at is not null))
);
create index operations_next on operations (shard_id, tenant_id, next_at) where state = 'running';
create index operations_project on operations (tenant_id, project_id, id);
create index operations_age on operations (finished_at) where finished_at is not null;

-- What an operation does, one row a thing, written with it: what was counted is what is done.
create table operation_items (
  tenant_id uuid not null,
  operation_id uuid not null,
  position int not null,
  -- The job it is about, or the run it made; null until there is one.
  item_id uuid,
  name text not null,
  data jsonb,
  -- 0 waiting, 1 done, 2 unchanged, 3 failed
  state smallint not null default 0 check (state between 0 and 3),
  -- What an undo has to know; null when there is nothing to undo.
  before jsonb,
  detail text,
  primary key (tenant_id, operation_id, position),
  foreign key (tenant_id, operation_id) references operations on delete cascade
);
create index operation_items_waiting on operation_items (tenant_id, operation_id, position) where state = 0;

-- Instants of the past that were run later. Beside the ledger, which says what the schedule did at the time.
create table backfills (
  tenant_id uuid not null,
  job_id uuid not null,
  nominal_at timestamptz not null,
  run_id uuid not null,
  operation_id uuid not null,
  primary key (tenant_id, job_id, nominal_at),
  foreign key (tenant_id, job_id) references jobs on delete cascade
);

-- Test clocks ------------------------------------------------------------------------------------------------

-- A project is marked when it is made, for good: what is due there waits in a pool that no dispatcher serves and on a
-- shard that no scheduler looks at, until its clock lets it go. Other projects pay nothing for it.
alter table projects add column has_test_clock boolean not null default false;
alter table pools drop constraint pools_class_check;
alter table pools add constraint pools_class_check check (class in ('critical', 'standard', 'bulk', 'virtual'));
insert into shards values (0, 'local');
insert into pools values (0, 0, 'local', 'virtual');
create index due_virtual on due (tenant_id, project_id, due_at) where pool = 0;
create index ready_virtual on ready (tenant_id, project_id, due_at) where pool = 0;

create table test_clocks (
  tenant_id uuid not null,
  id uuid not null,
  project_id uuid not null,
  -- Who moves it on, and who performs what it lets go.
  shard_id smallint not null default 1,
  pool smallint not null default 1,
  name text not null,
  now_at timestamptz not null,
  -- Where it is on its way to; null: it stands still.
  target_at timestamptz,
  -- Runs it let go that have not been seen to end, with their queues: it waits for them before it goes on.
  open_runs uuid[] not null default '{}',
  open_queues uuid[] not null default '{}',
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, id),
  unique (tenant_id, project_id),
  foreign key (tenant_id, project_id) references projects on delete cascade,
  check (target_at >= now_at)
);
create index test_clocks_shard on test_clocks (shard_id);

-- Occurrences of such a project lie in any year, so they are no sign of a janitor that was away.
create or replace function find_overflow() returns setof text
language plpgsql stable security definer set search_path = public, pg_temp as $f$
declare
  parent text; has_rows boolean;
begin
  for parent in select weekly_tables() loop
    if parent = 'occurrences' then
      select exists (select from occurrences_default o join projects p on p.tenant_id = o.tenant_id and p.id = o.project_id
        where not p.has_test_clock) into has_rows;
    else
      execute format('select exists (select from %I)', parent || '_default') into has_rows;
    end if;
    if has_rows then return next parent; end if;
  end loop;
end $f$;

-- Walls ------------------------------------------------------------------------------------------------------

do $$
declare t text;
begin
  foreach t in array array['operations', 'operation_items', 'backfills', 'test_clocks'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy app on %I to meridian_app using (tenant_id = (select current_tenant())) with check (tenant_id = (select current_tenant()))', t);
    execute format('create policy engine on %I to meridian_engine using (true) with check (true)', t);
    execute format('create policy owner on %I to %I using (true) with check (true)', t, current_user);
    execute format('grant select on %I to meridian_app, meridian_engine', t);
  end loop;
end $$;
grant insert, update on operations, operation_items to meridian_app;
grant insert, update, delete on test_clocks to meridian_app;
grant update, delete on operations, operation_items to meridian_engine;
grant insert, update, delete on backfills to meridian_engine;
grant update on test_clocks to meridian_engine;
-- A step does what its verb does, as whoever asked for the operation.
grant insert on job_versions, schedules, queues, limits to meridian_engine;
grant delete on schedules to meridian_engine;
