-- How far the watchdog has come in its round over all schedules: it looks at a few of them each time. Null: a round begins.
alter table watchdog_passes add column seen_tenant uuid, add column seen_job uuid;
