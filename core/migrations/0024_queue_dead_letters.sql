-- Queues whose runs leave no dead letters, whatever their jobs say.
alter table queues add column dead_letters text not null default 'keep' check (dead_letters in ('keep', 'drop'));
