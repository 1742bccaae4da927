-- Who pinned a limit. Of those that were pinned before, only the audit trail tells.
alter table flow_limits add column pinned_by text;
