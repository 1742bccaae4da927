-- How many of its slots an executor keeps free for critical runs, where queues have classes: what those who divide go by.
alter table executors add column spare int not null default 0 check (spare between 0 and capacity);
