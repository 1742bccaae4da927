-- The whole first shape of the data: directory, a shard, roles, row-level security, weekly partitions.
-- Ids are UUIDv7 made in the app. Every tenant row starts its keys with tenant_id.

-- Roles. Logins are made by whoever installs (infra/local, Terraform); here they are only made sure of.
do $$
declare r text;
begin
  foreach r in array array['meridian_app', 'meridian_engine', 'meridian_intake', 'meridian_directory'] loop
    if not exists (select from pg_roles where rolname = r) then execute format('create role %I nologin', r); end if;
  end loop;
  -- Functions below are handed to these two, which takes membership.
  execute format('grant meridian_intake, meridian_directory to %I', current_user);
  execute format('alter database %I set statement_timeout = ''30s''', current_database());
end $$;

revoke create on schema public from public;
grant usage on schema public to meridian_app, meridian_engine, meridian_intake, meridian_directory;

-- Directory -------------------------------------------------------------------------------------------------

create table regions (id text primary key, name text not null);

create table shards (
  id smallint primary key,
  region_id text not null references regions,
  -- Raised by every promotion: a primary of an older epoch is refused.
  epoch int not null default 1
);

create table pools (
  id smallint primary key,
  shard_id smallint not null references shards,
  region_id text not null references regions,
  class text not null check (class in ('critical', 'standard', 'bulk')),
  unique (shard_id, region_id, class)
);

insert into regions values ('local', 'Local');
insert into shards values (1, 'local', 1);
insert into pools values (1, 1, 'local', 'standard');

create table tenants (
  id uuid primary key,
  slug text not null unique check (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  name text not null,
  shard_id smallint not null default 1 references shards,
  residency text,
  created_at timestamptz not null default now()
);

create table users (
  id uuid primary key,
  email text not null,
  name text not null,
  created_at timestamptz not null default now()
);
create unique index users_email on users (lower(email));

create table identities (
  issuer text not null,
  subject text not null,
  user_id uuid not null references users on delete cascade,
  primary key (issuer, subject)
);

create table memberships (
  tenant_id uuid not null references tenants on delete cascade,
  user_id uuid not null references users on delete cascade,
  role text not null check (role in ('owner', 'admin', 'operator', 'viewer', 'auditor')),
  created_at timestamptz not null default now(),
  primary key (tenant_id, user_id)
);
create index memberships_user on memberships (user_id);

-- Only the hash of a session token is kept. Idle and absolute limits are enforced by find_session.
create table sessions (
  token_hash bytea primary key,
  id uuid not null unique,
  user_id uuid not null references users on delete cascade,
  created_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index sessions_user on sessions (user_id);

create table api_keys (
  tenant_id uuid not null references tenants on delete cascade,
  id uuid not null,
  project_id uuid not null,
  name text not null,
  hash bytea not null,
  -- The last characters, so that a person can tell keys apart.
  hint text not null,
  scopes text[] not null,
  created_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  primary key (tenant_id, id)
);
create unique index api_keys_hash on api_keys (hash);

-- Data keys, wrapped by the key provider. Destroying one erases what it encrypted.
create table data_keys (
  tenant_id uuid not null references tenants on delete cascade,
  version smallint not null,
  wrapped bytea,
  provider text not null,
  created_at timestamptz not null default now(),
  destroyed_at timestamptz,
  primary key (tenant_id, version)
);

-- Projects, queues, limits ----------------------------------------------------------------------------------

create table projects (
  tenant_id uuid not null references tenants on delete cascade,
  id uuid not null,
  slug text not null check (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  name text not null,
  label text not null default 'production' check (label in ('production', 'staging', 'development')),
  requires_idempotency_key boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  version int not null default 1,
  primary key (tenant_id, id),
  unique (tenant_id, slug)
);

create table queues (
  tenant_id uuid not null,
  id uuid not null,
  project_id uuid not null,
  name text not null check (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'),
  pool smallint not null default 1 references pools,
  paused_at timestamptz,
  paused_by text,
  pause_reason text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  version int not null default 1,
  primary key (tenant_id, id),
  unique (tenant_id, project_id, name),
  foreign key (tenant_id, project_id) references projects on delete cascade
);

-- What admission reads, one row a queue and one (queue_id nil) for the tenant as a whole.
create table limits (
  tenant_id uuid not null references tenants on delete cascade,
  queue_id uuid not null,
  -- The most runs that may be queued or running at once.
  concurrency int not null check (concurrency >= 0),
  weight real not null default 1 check (weight > 0),
  paused boolean not null default false,
  primary key (tenant_id, queue_id)
);

-- Live executors and what they can take; a row older than 10 s is dead.
create table executors (
  id uuid primary key,
  pool smallint not null references pools,
  capacity int not null,
  running int not null default 0,
  finished_per_second real not null default 0,
  seen_at timestamptz not null default now()
);

-- Jobs and schedules ----------------------------------------------------------------------------------------

create table jobs (
  tenant_id uuid not null,
  id uuid not null,
  project_id uuid not null,
  external_id text,
  name text not null,
  description text,
  tags text[] not null default '{}',
  version int not null default 1,
  state text not null default 'active' check (state in ('active', 'paused', 'archived')),
  paused_at timestamptz,
  paused_by text,
  pause_reason text,
  queue_id uuid not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, project_id) references projects on delete cascade,
  foreign key (tenant_id, queue_id) references queues,
  check ((state = 'paused') = (paused_at is not null))
);
create unique index jobs_external_id on jobs (tenant_id, project_id, external_id) where external_id is not null;
create index jobs_project on jobs (tenant_id, project_id, id);

create table job_versions (
  tenant_id uuid not null,
  job_id uuid not null,
  version int not null,
  -- Everything but the target: name, schedule, queue, policies, as on the wire.
  definition jsonb not null,
  -- Envelope of the target (method, URL, headers, body).
  target bytea not null,
  restored_from int,
  created_by text not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, job_id, version),
  foreign key (tenant_id, job_id) references jobs on delete cascade
);

create table schedules (
  tenant_id uuid not null,
  job_id uuid not null,
  project_id uuid not null,
  queue_id uuid not null,
  pool smallint not null default 1,
  shard_id smallint not null default 1,
  job_version int not null,
  spec jsonb not null,
  -- 0 skip, 1 allow; more rules come with their own numbers.
  overlap smallint not null default 0,
  -- 0 one, 1 skip, 2 all.
  catch_up smallint not null default 0,
  grace_seconds int not null default 60,
  priority smallint not null default 3,
  attempts_max smallint not null default 6,
  paused boolean not null default false,
  -- The next nominal instant that is not in the ledger yet; null when there is none.
  next_at timestamptz,
  tz_version text not null,
  updated_at timestamptz not null default now(),
  primary key (tenant_id, job_id),
  foreign key (tenant_id, job_id) references jobs on delete cascade
);
create index schedules_next on schedules (shard_id, next_at) where next_at is not null and not paused;

create table occurrences (
  tenant_id uuid not null,
  job_id uuid not null,
  nominal_at timestamptz not null,
  project_id uuid not null,
  job_version int not null,
  outcome text not null default 'pending' check (outcome in ('pending', 'run', 'skipped', 'missed')),
  reason text,
  run_id uuid,
  caught_up boolean not null default false,
  tz_version text not null,
  decided_at timestamptz,
  primary key (tenant_id, job_id, nominal_at)
) partition by range (nominal_at);

-- Runs ------------------------------------------------------------------------------------------------------

-- What a run is, written once when it is accepted. keep_week is the week it is due, or 9999-12-31 when that
-- is beyond the partitions made ahead; a partition is dropped whole once its runs are past their retention.
create table inputs (
  tenant_id uuid not null,
  project_id uuid not null,
  id uuid not null,
  keep_week date not null,
  created_at timestamptz not null,
  due_at timestamptz not null,
  queue_id uuid not null,
  pool smallint not null,
  priority smallint not null,
  -- 0 api, 1 schedule, 2 by hand, 3 replay
  source smallint not null,
  job_id uuid,
  job_version int,
  nominal_at timestamptz,
  replay_of uuid,
  -- Where the request lies: a block, and the byte where it begins in it. Null: the target of the job's version as it
  -- stands.
  payload_block uuid,
  payload_offset int
) partition by range (keep_week);
create index inputs_run on inputs (tenant_id, project_id, id);
create index inputs_job on inputs (tenant_id, job_id, id) where job_id is not null;

-- Requests of one tenant that were accepted together, sealed as one envelope. Kept as long as the longest kept of them.
create table input_blocks (
  tenant_id uuid not null,
  id uuid not null,
  keep_week date not null,
  sealed bytea not null
) partition by range (keep_week);
create index input_blocks_block on input_blocks (tenant_id, id);
-- What is encrypted can't be compressed.
alter table input_blocks alter column sealed set storage external;

-- Three narrow tables, one a state. A run lives in exactly one of them until it ends; then in `runs`.
-- due: scheduled for later, or waiting for its next try. Never led by priority: the far future costs nothing.
create table due (
  pool smallint not null,
  due_at timestamptz not null,
  id uuid not null,
  tenant_id uuid not null,
  project_id uuid not null,
  queue_id uuid not null,
  priority smallint not null,
  attempt smallint not null default 0,
  attempts_max smallint not null,
  fence int not null default 0,
  keep_week date not null,
  overlap smallint not null default 1,
  job_id uuid,
  nominal_at timestamptz,
  primary key (pool, due_at, id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);
create unique index due_run on due (tenant_id, id);
create index due_job on due (tenant_id, job_id) where job_id is not null;

-- ready: due, waits for a slot. Read tenant by tenant and queue by queue, so a neighbour's backlog costs nothing.
create table ready (
  pool smallint not null,
  tenant_id uuid not null,
  queue_id uuid not null,
  priority smallint not null,
  due_at timestamptz not null,
  id uuid not null,
  project_id uuid not null,
  attempt smallint not null default 0,
  attempts_max smallint not null,
  fence int not null default 0,
  keep_week date not null,
  job_id uuid,
  nominal_at timestamptz,
  primary key (pool, tenant_id, queue_id, priority, due_at, id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);
create unique index ready_run on ready (tenant_id, id);
create index ready_job on ready (tenant_id, job_id) where job_id is not null;

-- held: a slot is taken; 2 queued (carried, unclaimed), 3 running (leased). State and lease are in no index, so
-- the claim stays on its page (HOT); the key serves guard and counts.
create table held (
  pool smallint not null,
  tenant_id uuid not null,
  queue_id uuid not null,
  id uuid not null,
  project_id uuid not null,
  state smallint not null check (state in (2, 3)),
  priority smallint not null,
  attempt smallint not null,
  attempts_max smallint not null,
  fence int not null,
  epoch int not null default 1,
  due_at timestamptz not null,
  keep_week date not null,
  job_id uuid,
  nominal_at timestamptz,
  -- queued: when it was admitted; running: when the attempt was claimed.
  since timestamptz not null,
  -- queued: when it counts as lost on the way; running: when its executor counts as dead.
  lease_until timestamptz not null,
  executor_id uuid,
  primary key (pool, tenant_id, queue_id, id)
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);
create index held_job on held (tenant_id, job_id) where job_id is not null;

-- runs: how a run ended. Appended once, never updated. The last attempt is inline; earlier ones are in `attempts`.
create table runs (
  tenant_id uuid not null,
  project_id uuid not null,
  id uuid not null,
  queue_id uuid not null,
  pool smallint not null,
  -- 4 succeeded, 5 failed, 6 cancelled, 7 expired, 8 skipped
  state smallint not null check (state between 4 and 8),
  attempt smallint not null,
  fence int not null,
  due_at timestamptz not null,
  started_at timestamptz,
  ended_at timestamptz not null,
  duration_ms int,
  http_status smallint,
  error text,
  job_id uuid,
  nominal_at timestamptz,
  executor_id uuid,
  -- Where the response's head and (capped) body lie: a block, and the byte where they begin in it.
  response_block uuid,
  response_offset int,
  -- Key of the whole body in the object store, when it was larger than the cap.
  response_object text
) partition by range (ended_at);
create index runs_run on runs (tenant_id, project_id, id);
create index runs_unsuccessful on runs (tenant_id, project_id, id) where state <> 4;
create index runs_job on runs (tenant_id, job_id, id) where job_id is not null;

-- Attempts that were not a run's last.
create table attempts (
  tenant_id uuid not null,
  run_id uuid not null,
  attempt smallint not null,
  fence int not null,
  due_at timestamptz not null,
  started_at timestamptz,
  ended_at timestamptz not null,
  duration_ms int,
  http_status smallint,
  error text not null,
  retry_at timestamptz not null,
  executor_id uuid,
  response_block uuid,
  response_offset int,
  response_object text
) partition by range (ended_at);
create index attempts_run on attempts (tenant_id, run_id, attempt);

-- Responses of one tenant that were recorded together, sealed as one envelope: to seal each by itself would cost more
-- than all the rest of its record.
create table response_blocks (
  tenant_id uuid not null,
  id uuid not null,
  ended_at timestamptz not null default clock_timestamp(),
  sealed bytea not null
) partition by range (ended_at);
create index response_blocks_block on response_blocks (tenant_id, id);
-- What is encrypted can't be compressed.
alter table response_blocks alter column sealed set storage external;

create table run_logs (
  tenant_id uuid not null,
  run_id uuid not null,
  at timestamptz not null,
  id uuid not null,
  attempt smallint not null,
  level text not null check (level in ('debug', 'info', 'warn', 'error')),
  -- Envelope: a line may quote the target's words.
  message bytea not null
) partition by range (at);
create index run_logs_run on run_logs (tenant_id, run_id, id);

-- Events, audit, idempotency --------------------------------------------------------------------------------

-- Told once, in the transaction that made it true. (xid, seq) is the order in which readers may move on: all
-- rows below the oldest transaction still open are final.
create table events (
  xid xid8 not null default pg_current_xact_id(),
  seq bigint generated always as identity,
  tenant_id uuid not null,
  project_id uuid,
  type text not null,
  subject uuid,
  job_id uuid,
  at timestamptz not null default clock_timestamp(),
  data jsonb,
  primary key (xid, seq, at)
) partition by range (at);
create index events_subject on events (tenant_id, subject) where subject is not null;

create table audit_entries (
  tenant_id uuid not null,
  id uuid not null,
  at timestamptz not null default clock_timestamp(),
  project_id uuid,
  -- 'key:<uuid>', 'user:<uuid>', 'system'
  actor text not null,
  action text not null,
  subject uuid,
  data jsonb,
  request_id text,
  -- Given by the sealer, in commit order.
  seq bigint,
  hash bytea,
  xid xid8 not null default pg_current_xact_id()
) partition by range (at);
create index audit_entries_tenant on audit_entries (tenant_id, id);

create table idempotency_keys (
  tenant_id uuid not null,
  project_id uuid not null,
  key text not null,
  -- SHA-256 over method, path and canonical body.
  fingerprint bytea not null,
  subject uuid not null,
  created_at timestamptz not null default clock_timestamp(),
  -- What was answered, for those that can't be rebuilt from the subject: an envelope, it may hold a secret.
  response bytea,
  primary key (tenant_id, project_id, key)
) partition by hash (tenant_id);
create index idempotency_keys_age on idempotency_keys using brin (created_at);
do $$ begin
  for i in 0..7 loop
    execute format('create table idempotency_keys_%s partition of idempotency_keys for values with (modulus 8, remainder %s)', i, i);
  end loop;
end $$;

-- Partitions ------------------------------------------------------------------------------------------------

create table inputs_far partition of inputs for values from ('9999-12-31') to (maxvalue);

-- Payloads of the far future are found again by when their runs were due.
create index inputs_far_due on inputs_far (due_at);

create table input_blocks_far partition of input_blocks for values from ('9999-12-31') to (maxvalue);
create index inputs_far_block on inputs_far (tenant_id, payload_block) where payload_block is not null;

create function weekly_tables() returns setof text language sql immutable as $f$
  select unnest(array['occurrences', 'inputs', 'input_blocks', 'runs', 'attempts', 'response_blocks', 'run_logs', 'events', 'audit_entries'])
$f$;

-- Weeks start on Monday, UTC. Makes this week, the last one, and `ahead` weeks to come, of one weekly table: whoever holds
-- the lock of one and waits for another makes everybody wait. Attaching lets the table itself be written meanwhile; for
-- one that is busy for long the next call does it. Rows that came while their week was not there lie in the default
-- partition; they move.
create function ensure_partitions(parent text, ahead int) returns int
language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' set lock_timeout = '500ms' as $f$
declare
  key text; week date; name text; others text := parent || '_default'; has_rows boolean; made int := 0;
begin
  select a.attname into strict key from pg_partitioned_table p join pg_attribute a on a.attrelid = p.partrelid and a.attnum = p.partattrs[0]
    where p.partrelid = parent::regclass and parent in (select weekly_tables());
  if to_regclass(others) is null then execute format('create table %I partition of %I default', others, parent); end if;
  for i in -1..ahead loop
    week := date_trunc('week', clock_timestamp())::date + 7 * i;
    name := format('%s_w%s', parent, to_char(week, 'IYYY_IW'));
    continue when to_regclass(name) is not null;
    execute format('create table %I (like %I including defaults including constraints including storage)', name, parent);
    execute format('select exists (select from %I where %I >= %L and %2$I < %4$L)', others, key, week, week + 7) into has_rows;
    if has_rows then
      execute format('lock table %I in access exclusive mode', others);
      execute format('with gone as (delete from %I where %I >= %L and %2$I < %4$L returning *) insert into %5$I select * from gone',
        others, key, week, week + 7, name);
    end if;
    execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name, week, week + 7);
    made := made + 1;
  end loop;
  return made;
end $f$;

-- Weekly tables with rows outside every week that was made.
create function find_overflow() returns setof text
language plpgsql stable security definer set search_path = public, pg_temp as $f$
declare
  parent text; has_rows boolean;
begin
  for parent in select weekly_tables() loop
    execute format('select exists (select from %I)', parent || '_default') into has_rows;
    if has_rows then return next parent; end if;
  end loop;
end $f$;

-- Drops one week that ended more than `days` ago, by this clock and no other, and returns its name; null when there is
-- none. Inputs of runs that are still open move to inputs_far first; those of runs that were cancelled long before they
-- were due go with their history.
create function drop_partition(days int) returns text
language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' set lock_timeout = '500ms' as $f$
declare
  part record;
begin
  select c.relname, p.relname as parent, to_date(right(c.relname, 7), 'IYYY_IW') as week into part
    from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
    where p.relname in (select weekly_tables()) and c.relname ~ '_w\d{4}_\d{2}$'
      and to_date(right(c.relname, 7), 'IYYY_IW') + 7 <= clock_timestamp()::date - days
    -- Blocks last: those of requests that are still needed move with these.
    order by week, p.relname = 'input_blocks', c.relname limit 1;
  if not found then return null; end if;
  if part.parent = 'inputs' then
    with open as (
      update due set keep_week = '9999-12-31' where keep_week = part.week returning tenant_id, id),
    open_ready as (
      update ready set keep_week = '9999-12-31' where keep_week = part.week returning tenant_id, id),
    open_held as (
      update held set keep_week = '9999-12-31' where keep_week = part.week returning tenant_id, id),
    still as (select * from open union all select * from open_ready union all select * from open_held),
    moved as (
      update inputs i set keep_week = '9999-12-31' from still s
        where i.keep_week = part.week and i.tenant_id = s.tenant_id and i.id = s.id
        returning i.tenant_id, i.payload_block)
    update input_blocks b set keep_week = '9999-12-31'
      from (select distinct tenant_id, payload_block from moved where payload_block is not null) m
      where b.keep_week >= part.week and b.keep_week < '9999-12-31' and b.tenant_id = m.tenant_id and b.id = m.payload_block;
  elsif part.parent = 'runs' then
    delete from inputs i using runs r
      where r.ended_at >= part.week and r.ended_at < part.week + 7 and r.state = 6 and r.due_at > r.ended_at
        and i.keep_week = '9999-12-31' and i.tenant_id = r.tenant_id and i.project_id = r.project_id and i.id = r.id;
  end if;
  execute format('drop table %I', part.relname);
  return part.relname;
end $f$;

-- Deletes by place, partition by partition, whatever the planner believes about their sizes. Returns how many went.
create function forget_idempotency_keys(hours int, at_most int) returns int
language plpgsql security definer set search_path = public, pg_temp as $f$
declare
  before timestamptz := clock_timestamp() - make_interval(hours => hours); gone int := 0; deleted int;
begin
  for i in 0..7 loop
    execute format('delete from %1$I where ctid = any(array(select ctid from %1$I where created_at < $1 limit $2))', 'idempotency_keys_' || i)
      using before, at_most - gone;
    get diagnostics deleted = row_count;
    gone := gone + deleted;
  end loop;
  return gone;
end $f$;

select ensure_partitions(t, 8) from weekly_tables() t;

-- Row-level security ----------------------------------------------------------------------------------------
-- The second wall behind the explicit predicates. The app sees the tenant of its transaction and nothing
-- without one; the engine is let in by name, not by BYPASSRLS.

create function current_tenant() returns uuid language sql stable parallel safe
as $f$ select nullif(current_setting('app.tenant_id', true), '')::uuid $f$;

do $$
declare t text;
begin
  foreach t in array array['api_keys', 'data_keys', 'projects', 'queues', 'limits', 'jobs', 'job_versions', 'schedules',
    'occurrences', 'inputs', 'input_blocks', 'due', 'ready', 'held', 'runs', 'attempts', 'response_blocks', 'run_logs', 'events', 'audit_entries',
    'idempotency_keys', 'memberships'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy app on %I to meridian_app using (tenant_id = (select current_tenant())) with check (tenant_id = (select current_tenant()))', t);
    execute format('create policy engine on %I to meridian_engine using (true) with check (true)', t);
    execute format('create policy owner on %I to %I using (true) with check (true)', t, current_user);
    execute format('grant select on %I to meridian_app, meridian_engine', t);
  end loop;
  foreach t in array array['tenants', 'users', 'identities', 'sessions'] loop
    execute format('alter table %I enable row level security', t);
    execute format('alter table %I force row level security', t);
    execute format('create policy owner on %I to %I using (true) with check (true)', t, current_user);
  end loop;
end $$;

create policy app on tenants for select to meridian_app using (id = (select current_tenant()));
create policy engine on tenants for select to meridian_engine using (true);
create policy app on users for select to meridian_app
  using (exists (select from memberships m where m.user_id = users.id and m.tenant_id = (select current_tenant())));
grant select on tenants, regions, shards, pools to meridian_app, meridian_engine;
grant select on users to meridian_app;

grant insert, update, delete on api_keys, projects, queues, limits, jobs, job_versions, schedules, memberships to meridian_app;
grant insert on data_keys, events, audit_entries, run_logs, runs, attempts, idempotency_keys to meridian_app;
grant update on data_keys, occurrences, idempotency_keys to meridian_app;
-- Cancelling and taking back: the app ends runs, it never starts one.
grant update, delete on due, ready, held to meridian_app;
grant delete on inputs, occurrences to meridian_app;
grant select on executors to meridian_app;

grant select, insert, update, delete on executors, due, ready, held, occurrences to meridian_engine;
grant insert, update, delete on inputs to meridian_engine;
grant delete on input_blocks to meridian_engine;
grant insert on runs, attempts, response_blocks, run_logs, events, audit_entries, data_keys to meridian_engine;
grant update on schedules, jobs, audit_entries to meridian_engine;
grant execute on function ensure_partitions(text, int), find_overflow(), drop_partition(int), forget_idempotency_keys(int, int) to meridian_engine;
revoke execute on function ensure_partitions(text, int), find_overflow(), drop_partition(int), forget_idempotency_keys(int, int) from public;

-- Intake: inserts and looks at what an insert has to know; nothing else.
do $$
declare t text;
begin
  foreach t in array array['inputs', 'input_blocks', 'due', 'ready', 'events', 'audit_entries', 'idempotency_keys'] loop
    execute format('create policy intake on %I for insert to meridian_intake with check (true)', t);
    execute format('grant insert on %I to meridian_intake', t);
  end loop;
  foreach t in array array['idempotency_keys', 'queues'] loop
    execute format('create policy intake_read on %I for select to meridian_intake using (true)', t);
    execute format('grant select on %I to meridian_intake', t);
  end loop;
end $$;

-- Directory: finds who a credential belongs to, before there is a tenant to speak of.
do $$
declare t text;
begin
  foreach t in array array['tenants', 'users', 'identities', 'memberships', 'projects', 'api_keys', 'sessions'] loop
    execute format('create policy directory on %I to meridian_directory using (true) with check (true)', t);
    execute format('grant select on %I to meridian_directory', t);
  end loop;
end $$;
grant insert, update, delete on sessions to meridian_directory;
grant insert on identities to meridian_directory;
grant update (last_used_at) on api_keys to meridian_directory;

-- Who holds this key. The caller checks expiry and revocation, so that it can say which it was.
create function find_api_key(p_hash bytea)
returns table (tenant_id uuid, id uuid, project_id uuid, scopes text[], expires_at timestamptz, revoked_at timestamptz, requires_idempotency_key boolean)
language sql stable security definer set search_path = public, pg_temp as $f$
  select k.tenant_id, k.id, k.project_id, k.scopes, k.expires_at, k.revoked_at, p.requires_idempotency_key
  from api_keys k join projects p on p.tenant_id = k.tenant_id and p.id = k.project_id where k.hash = p_hash
$f$;

create function touch_api_keys(p_hashes bytea[]) returns void
language sql security definer set search_path = public, pg_temp as $f$
  update api_keys set last_used_at = now() where hash = any(p_hashes)
$f$;

-- Opens a session for a known identity, or for a person invited by email who signs in for the first time.
-- Returns no row when nobody knows them.
create function open_session(p_issuer text, p_subject text, p_email text, p_email_verified boolean, p_session uuid, p_token_hash bytea, p_hours int)
returns table (user_id uuid, email text, name text, expires_at timestamptz)
language plpgsql security definer set search_path = public, pg_temp as $f$
#variable_conflict use_column
declare u users;
begin
  select users.* into u from identities i join users on users.id = i.user_id where i.issuer = p_issuer and i.subject = p_subject;
  if u.id is null and p_email_verified then
    select users.* into u from users where lower(users.email) = lower(p_email)
      and not exists (select from identities i where i.user_id = users.id and i.issuer = p_issuer);
    if u.id is not null then insert into identities values (p_issuer, p_subject, u.id) on conflict do nothing; end if;
  end if;
  if u.id is null then return; end if;
  return query insert into sessions (token_hash, id, user_id, expires_at)
    values (p_token_hash, p_session, u.id, now() + make_interval(hours => p_hours))
    returning sessions.user_id, u.email, u.name, sessions.expires_at;
end $f$;

-- The person behind a session token; touches it. No row when it is idle too long, too old, or closed.
create function find_session(p_token_hash bytea, p_idle_minutes int)
returns table (session_id uuid, user_id uuid, email text, name text, expires_at timestamptz)
language sql security definer set search_path = public, pg_temp as $f$
  update sessions s set last_seen_at = now() from users u
  where s.token_hash = p_token_hash and u.id = s.user_id and s.expires_at > now()
    and s.last_seen_at > now() - make_interval(mins => p_idle_minutes)
  returning s.id, u.id, u.email, u.name, s.expires_at
$f$;

create function close_session(p_token_hash bytea) returns void
language sql security definer set search_path = public, pg_temp as $f$ delete from sessions where token_hash = p_token_hash $f$;

-- Every project a person may enter, with their role there.
create function list_memberships(p_user uuid)
returns table (tenant_id uuid, tenant_slug text, tenant_name text, role text, project_id uuid, project_slug text, project_name text, label text, requires_idempotency_key boolean)
language sql stable security definer set search_path = public, pg_temp as $f$
  select t.id, t.slug, t.name, m.role, p.id, p.slug, p.name, p.label, p.requires_idempotency_key
  from memberships m join tenants t on t.id = m.tenant_id join projects p on p.tenant_id = t.id
  where m.user_id = p_user order by t.slug, p.slug
$f$;

do $$
declare f text;
begin
  execute 'grant create on schema public to meridian_directory';
  foreach f in array array['find_api_key(bytea)', 'touch_api_keys(bytea[])', 'open_session(text,text,text,boolean,uuid,bytea,int)',
    'find_session(bytea,int)', 'close_session(bytea)', 'list_memberships(uuid)'] loop
    execute format('alter function %s owner to meridian_directory', f);
    execute format('revoke execute on function %s from public', f);
    execute format('grant execute on function %s to meridian_app', f);
  end loop;
  execute 'revoke create on schema public from meridian_directory';
end $$;
