-- Dead letters: runs that failed or expired and wait for somebody to say what becomes of them.

create table dead_letters (
  tenant_id uuid not null,
  run_id uuid not null,
  project_id uuid not null,
  job_id uuid,
  queue_id uuid not null,
  -- 5 failed, 7 expired, as in runs.
  state smallint not null check (state in (5, 7)),
  error text not null,
  http_status smallint,
  -- Runs that came to the same end: of one job (or queue), for one error.
  fingerprint uuid not null,
  -- How often this very item has come to this end: it counts on when it is redriven.
  failures int not null default 1,
  first_failed_at timestamptz not null,
  failed_at timestamptz not null,
  handled_at timestamptz,
  handling text check (handling in ('redriven', 'discarded')),
  handled_by text,
  redriven_as uuid,
  primary key (tenant_id, run_id),
  foreign key (tenant_id, project_id) references projects on delete cascade,
  check ((handled_at is null) = (handling is null)),
  check ((redriven_as is not null) = (coalesce(handling, '') = 'redriven'))
);
create index dead_letters_open on dead_letters (tenant_id, project_id, run_id) where handled_at is null;
create index dead_letters_group on dead_letters (tenant_id, project_id, fingerprint, run_id) where handled_at is null;
create index dead_letters_age on dead_letters (handled_at) where handled_at is not null;

-- As before, and what dead letters ask for is kept as long as that of open runs.
create or replace function drop_partition(days int) returns text
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
    still as (
      select * from open union all select * from open_ready union all select * from open_held
      union all select tenant_id, run_id from dead_letters where handled_at is null),
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

do $$ begin
  alter table dead_letters enable row level security;
  alter table dead_letters force row level security;
  create policy app on dead_letters to meridian_app using (tenant_id = (select current_tenant())) with check (tenant_id = (select current_tenant()));
  create policy engine on dead_letters to meridian_engine using (true) with check (true);
  execute format('create policy owner on dead_letters to %I using (true) with check (true)', current_user);
end $$;
grant select, update on dead_letters to meridian_app;
grant select, insert, update, delete on dead_letters to meridian_engine;
