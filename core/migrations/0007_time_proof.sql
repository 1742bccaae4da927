-- Jobs that are put away, and what time asks for beside them.

-- An archived job is out of the lists and starts nothing, keeps its history, and can be brought back. What was called
-- archived until now is gone for everybody but its history.
alter table jobs drop constraint jobs_state_check;
update jobs set state = 'deleted' where state = 'archived';
alter table jobs add constraint jobs_state_check check (state in ('active', 'paused', 'deleted'));
alter table jobs add column archived_at timestamptz;
