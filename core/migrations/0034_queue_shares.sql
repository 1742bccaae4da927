-- What the queues of tenants should have had of the slots of a pool, and what they had: of the same samples as their tenants.

-- Sums over samples. A queue that neither has nor wants slots has no row.
create table queue_share_minutes (
  tenant_id uuid not null,
  pool smallint not null,
  minute timestamptz not null,
  queue_id uuid not null,
  received float8 not null,
  entitled float8 not null,
  primary key (tenant_id, pool, minute, queue_id)
);

alter table queue_share_minutes enable row level security;
alter table queue_share_minutes force row level security;
create policy app on queue_share_minutes for select to meridian_app using (tenant_id = (select current_tenant()));
create policy engine on queue_share_minutes to meridian_engine using (true) with check (true);
do $$ begin execute format('create policy owner on queue_share_minutes to %I using (true) with check (true)', current_user); end $$;
grant select on queue_share_minutes to meridian_app;
grant select, insert, update, delete on queue_share_minutes to meridian_engine;
