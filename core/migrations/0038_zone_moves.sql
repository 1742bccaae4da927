-- What another version of the time zone data moved when it was applied: a row for each schedule whose next instant became
-- another one. Events tell the same, but go with their week; this stays as long as the job.
create table zone_moves (
  tenant_id uuid not null,
  project_id uuid not null,
  tz_version text not null,
  job_id uuid not null,
  from_version text not null,
  at timestamptz not null default clock_timestamp(),
  -- The next instant as it was, and as it is now; null: there is none.
  before_at timestamptz,
  after_at timestamptz,
  primary key (tenant_id, project_id, tz_version, job_id),
  foreign key (tenant_id, job_id) references jobs on delete cascade
);
create index zone_moves_job on zone_moves (tenant_id, job_id);

alter table zone_moves enable row level security;
alter table zone_moves force row level security;
create policy app on zone_moves to meridian_app using (tenant_id = (select current_tenant())) with check (tenant_id = (select current_tenant()));
create policy engine on zone_moves to meridian_engine using (true) with check (true);
do $$ begin
  execute format('create policy owner on zone_moves to %I using (true) with check (true)', current_user);
end $$;
grant select on zone_moves to meridian_app;
grant select, insert, update on zone_moves to meridian_engine;
