import { type Pool, runNamed } from '../db/client.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { InstallationAlarmKind, PromptAlarmKind } from './alarm.ts'

/** How long each thing may stand still, beside what it may by its own rules. */
export interface Patience {
  scheduleSeconds: number
  leaseSeconds: number
  operationSeconds: number
  breakerSeconds: number
  dispatchSeconds: number
  eventsSeconds: number
}

export const defaultPatience: Patience = {
  scheduleSeconds: 15,
  leaseSeconds: 10,
  operationSeconds: 60,
  breakerSeconds: 60,
  dispatchSeconds: 30,
  eventsSeconds: 30,
}

/** Something of a tenant that stands still. */
export interface Finding {
  tenantId: Uuid
  projectId: Uuid
  subject: Uuid
  sinceMs: number
}

/** No more of one kind are told apart. */
export const findingsMax = 1_000

const ms = (column: string): string => `extract(epoch from ${column})::float8 * 1000`
const seconds = "$2 * interval '1 second'"

const looks: Record<PromptAlarmKind, { patience: keyof Patience; text: string }> = {
  // What is past its grace is decided at the next look, whatever is decided: an instant that stays has no scheduler.
  'schedule-stuck': {
    patience: 'scheduleSeconds',
    text: `select tenant_id, project_id, job_id, ${ms('next_at')} from schedules
      where shard_id = $1 and next_at is not null and not paused and look_at(next_at, lead_ms) < (select clock_timestamp()) - ${seconds}
        and next_at + greatest(grace_seconds * interval '1 second', ${seconds}) < (select clock_timestamp())
      order by look_at(next_at, lead_ms) limit ${findingsMax}`,
  },
  'lease-stuck': {
    patience: 'leaseSeconds',
    text: `select h.tenant_id, h.project_id, h.id, ${ms('h.lease_until')} from held h join pools p on p.id = h.pool
      where p.shard_id = $1 and h.lease_until < (select clock_timestamp()) - ${seconds} limit ${findingsMax}`,
  },
  'operation-stuck': {
    patience: 'operationSeconds',
    text: `select tenant_id, project_id, id, ${ms('next_at')} from operations
      where shard_id = $1 and state = 'running' and next_at < (select clock_timestamp()) - ${seconds}
        and coalesce(stepped_at, created_at) < (select clock_timestamp()) - ${seconds} limit ${findingsMax}`,
  },
  // A probe that should have gone, or runs that are held for a breaker that is closed.
  'breaker-stuck': {
    patience: 'breakerSeconds',
    text: `select b.tenant_id, b.project_id, b.id, ${ms('coalesce(b.probe_at, b.paced_at, b.closed_at)')} from breakers b
      where $1 > 0 and coalesce(b.probe_at, b.paced_at, b.closed_at) < (select clock_timestamp()) - ${seconds} and b.probe_run is null
        and exists (select from breaker_waits w where w.tenant_id = b.tenant_id and w.host = b.host) limit ${findingsMax}`,
  },
}

/** What of that kind stands still in a shard now. */
export async function lookFor(
  engine: Pool,
  kind: PromptAlarmKind,
  { shard, patience }: { shard: number; patience: Patience },
): Promise<Finding[]> {
  const { text, patience: name } = looks[kind]
  const rows = await runNamed<[Uuid, Uuid, Uuid, number]>(engine, `watch_${kind}`, text, [shard, patience[name]])
  return rows.map(([tenantId, projectId, subject, sinceMs]) => ({ tenantId, projectId, subject, sinceMs }))
}

/** Something of the installation that stands still. */
export interface InstallationFinding {
  name: string
  sinceMs: number
}

const installationLooks: Record<InstallationAlarmKind, { patience: keyof Patience; text: string }> = {
  // Whatever limits there are, what is due leaves this table; and so does what is ready and free to go.
  'dispatch-stuck': {
    patience: 'dispatchSeconds',
    text: `select p.id::text, ${ms('min(x.since)')} from pools p cross join lateral (
        (select due_at as since from due where pool = p.id order by due_at limit 1) union all select waiting_since(p.id)) x
      where p.shard_id = $1 group by p.id having min(x.since) < (select clock_timestamp()) - ${seconds}`,
  },
  'events-stuck': {
    patience: 'eventsSeconds',
    text: `select r.name, ${ms('e.at')} from relay_positions r cross join lateral (
        select at from events where (xid, seq) > (r.xid, r.seq) and xid < pg_snapshot_xmin(pg_current_snapshot())
        order by events.xid, events.seq limit 1) e
      where $1 > 0 and e.at < (select clock_timestamp()) - ${seconds}`,
  },
  'deadlines-stuck': {
    patience: 'dispatchSeconds',
    text: `select 'deadlines', ${ms('min(check_at)')} from (select check_at from run_deadlines order by check_at limit 1) d
      having $1 > 0 and min(check_at) < (select clock_timestamp()) - ${seconds}`,
  },
  // The janitor keeps eight weeks ahead, so two are the sign of one that is not there.
  'partitions-missing': {
    patience: 'dispatchSeconds',
    text: `select t, ${ms('clock_timestamp()')} from weekly_tables() t
      where $1 > 0 and $2 > 0 and to_regclass(t || '_w' || to_char(date_trunc('week', clock_timestamp() at time zone 'UTC') + interval '2 weeks', 'IYYY_IW')) is null`,
  },
  'partition-overflow': {
    patience: 'dispatchSeconds',
    text: `select t, ${ms('clock_timestamp()')} from find_overflow() t where $1 > 0 and $2 > 0`,
  },
}

/** What of that kind stands still in the installation now. */
export async function lookAtInstallation(
  engine: Pool,
  kind: InstallationAlarmKind,
  { shard, patience }: { shard: number; patience: Patience },
): Promise<InstallationFinding[]> {
  const { text, patience: name } = installationLooks[kind]
  const rows = await runNamed<[string, number]>(engine, `watch_${kind}`, text, [shard, patience[name]])
  return rows.map(([found, sinceMs]) => ({ name: found, sinceMs }))
}
