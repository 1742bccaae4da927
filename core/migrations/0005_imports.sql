-- Schedules taken over from other systems: the imports, jobs that run in their shadow, and the pings by which the old
-- system tells what it does.

-- In shadow a schedule is kept in the ledger and starts nothing.
alter table jobs add column shadow boolean not null default false;
alter table schedules add column shadow boolean not null default false;

create table imports (
  tenant_id uuid not null,
  id uuid not null,
  project_id uuid not null,
  format text not null,
  -- What the external ids of its jobs start with.
  prefix text not null,
  file_name text,
  timezone text not null,
  created int not null,
  updated int not null,
  unchanged int not null,
  refused int not null,
  -- Envelope of the source, the template and the commands: they may hold secrets.
  sealed bytea not null,
  created_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, id),
  foreign key (tenant_id, project_id) references projects on delete cascade
);
create index imports_project on imports (tenant_id, project_id, id);

create table import_entries (
  tenant_id uuid not null,
  import_id uuid not null,
  position int not null,
  outcome text not null check (outcome in ('created', 'updated', 'unchanged', 'refused')),
  job_id uuid,
  -- What was said of it then, without its command.
  proposal jsonb not null,
  primary key (tenant_id, import_id, position),
  foreign key (tenant_id, import_id) references imports on delete cascade,
  foreign key (tenant_id, job_id) references jobs on delete cascade,
  check ((outcome = 'refused') = (job_id is null))
);
create index import_entries_job on import_entries (tenant_id, job_id);

create table ping_urls (
  tenant_id uuid not null,
  job_id uuid not null,
  project_id uuid not null,
  token_hash bytea not null,
  -- Envelope of the token: whoever may change the job is shown it again.
  sealed bytea not null,
  created_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, job_id),
  foreign key (tenant_id, job_id) references jobs on delete cascade
);
create unique index ping_urls_token on ping_urls (token_hash);

create table pings (
  tenant_id uuid not null,
  job_id uuid not null,
  at timestamptz not null,
  id uuid not null,
  kind text not null check (kind in ('start', 'finish', 'fail')),
  exit_code smallint,
  -- Envelope of what was sent along, cut to its first kilobytes.
  body bytea,
  primary key (tenant_id, job_id, at, id),
  foreign key (tenant_id, job_id) references jobs on delete cascade
);

do $$
declare t text;
begin
  foreach t in array array['imports', 'import_entries', 'ping_urls', 'pings'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy app on %I to meridian_app using (tenant_id = (select current_tenant())) with check (tenant_id = (select current_tenant()))', t);
    execute format('create policy owner on %I to %I using (true) with check (true)', t, current_user);
    execute format('grant select, insert on %I to meridian_app', t);
  end loop;
end $$;
grant update, delete on ping_urls to meridian_app;
-- A ping takes those that are too old with it.
grant delete on pings to meridian_app;

create policy directory on ping_urls for select to meridian_directory using (true);
grant select on ping_urls to meridian_directory;

-- Which job a ping is of, before there is a tenant to speak of.
create function find_ping_url(p_hash bytea) returns table (tenant_id uuid, project_id uuid, job_id uuid)
language sql stable security definer set search_path = public, pg_temp as $f$
  select u.tenant_id, u.project_id, u.job_id from ping_urls u where u.token_hash = p_hash
$f$;

do $$ begin
  execute 'grant create on schema public to meridian_directory';
  alter function find_ping_url(bytea) owner to meridian_directory;
  revoke execute on function find_ping_url(bytea) from public;
  grant execute on function find_ping_url(bytea) to meridian_app;
  execute 'revoke create on schema public from meridian_directory';
end $$;
