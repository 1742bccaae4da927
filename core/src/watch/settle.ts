import { arrayLiteral, type Pool, runNamed, textArrayLiteral } from '../db/client.ts'
import { type AlarmKind, alarmKinds, type InstallationAlarmKind } from './alarm.ts'
import type { Subject } from './astray.ts'
import { type Finding, findingsMax, type InstallationFinding } from './look.ts'

/** What a look changed. */
export interface Settled {
  raised: number
  cleared: number
}

const none: Settled = { raised: 0, cleared: 0 }
const toSettled = (rows: [number, number][]): Settled =>
  rows[0] === undefined ? none : { raised: rows[0][0], cleared: rows[0][1] }

/**
 * Raises what is new, clears what is over, and tells both to whom it belongs. Any number of watchdogs may do it. With
 * `looked` given, only those were looked at: what else is open stays.
 */
export async function settleAlarms(
  engine: Pool,
  kind: AlarmKind,
  findings: readonly Finding[],
  looked: readonly Subject[] | null = null,
): Promise<Settled> {
  const { noun, raised, cleared } = alarmKinds[kind]
  const rows = await runNamed<[number, number]>(
    engine,
    'settle_alarms',
    `with f as materialized (select * from unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::float8[]) u(t, p, s, since_ms)),
     up as (
       insert into alarms as a (tenant_id, kind, subject, project_id, since, raised_at)
       select t, $1, s, p, to_timestamp(since_ms / 1000), clock_timestamp() from f
       on conflict (tenant_id, kind, subject) do update set since = excluded.since, raised_at = excluded.raised_at, cleared_at = null
         where a.cleared_at is not null
       returning *),
     down as (
       update alarms a set cleared_at = clock_timestamp()
       where a.kind = $1 and a.cleared_at is null and $6 and not exists (select from f where f.t = a.tenant_id and f.s = a.subject)
         and ($10::uuid[] is null or exists (
           select from unnest($10::uuid[], $11::uuid[]) l(t, s) where l.t = a.tenant_id and l.s = a.subject))
       returning *),
     told as (
       insert into events (tenant_id, project_id, type, subject, job_id, data)
       select tenant_id, project_id, $7, subject, case when $9 then subject end, jsonb_build_object('since', since) from up
       union all
       select tenant_id, project_id, $8, subject, case when $9 then subject end, jsonb_build_object('since', since) from down)
     select (select count(*)::int from up), (select count(*)::int from down)`,
    [
      kind,
      arrayLiteral(findings.map(({ tenantId }) => tenantId)),
      arrayLiteral(findings.map(({ projectId }) => projectId)),
      arrayLiteral(findings.map(({ subject }) => subject)),
      arrayLiteral(findings.map(({ sinceMs }) => sinceMs)),
      // Where there are more than can be told apart, what is missing may only not have been seen.
      findings.length < findingsMax,
      raised,
      cleared,
      noun === 'job',
      looked && arrayLiteral(looked.map(({ tenantId }) => tenantId)),
      looked && arrayLiteral(looked.map(({ subject }) => subject)),
    ],
  )
  return toSettled(rows)
}

/** The same for what is nobody's. */
export async function settleInstallationAlarms(
  engine: Pool,
  kind: InstallationAlarmKind,
  findings: readonly InstallationFinding[],
): Promise<Settled> {
  const rows = await runNamed<[number, number]>(
    engine,
    'settle_installation_alarms',
    `with f as materialized (select * from unnest($2::text[], $3::float8[]) u(n, since_ms)),
     up as (
       insert into installation_alarms as a (kind, name, since, raised_at)
       select $1, n, to_timestamp(since_ms / 1000), clock_timestamp() from f
       on conflict (kind, name) do update set since = excluded.since, raised_at = excluded.raised_at, cleared_at = null
         where a.cleared_at is not null
       returning 1),
     down as (
       update installation_alarms a set cleared_at = clock_timestamp()
       where a.kind = $1 and a.cleared_at is null and not exists (select from f where f.n = a.name) returning 1)
     select (select count(*)::int from up), (select count(*)::int from down)`,
    [kind, textArrayLiteral(findings.map(({ name }) => name)), arrayLiteral(findings.map(({ sinceMs }) => sinceMs))],
  )
  return toSettled(rows)
}

/**
 * Says that a shard was looked at, and how far the round over its schedules has come (null: to its end). Forgets alarms
 * that were over so many days ago.
 */
export async function notePass(
  engine: Pool,
  shard: number,
  { keepDays, seen }: { keepDays: number; seen: Subject | null },
): Promise<void> {
  await runNamed(
    engine,
    'note_watchdog_pass',
    `with gone as (delete from alarms where cleared_at < clock_timestamp() - $2 * interval '1 day')
     insert into watchdog_passes (shard_id, passed_at, seen_tenant, seen_job) values ($1, clock_timestamp(), $3, $4)
     on conflict (shard_id) do update set passed_at = excluded.passed_at, seen_tenant = excluded.seen_tenant, seen_job = excluded.seen_job`,
    [shard, keepDays, seen?.tenantId ?? null, seen?.subject ?? null],
  )
}

/** How many alarms are open, by kind. */
export async function countAlarms(engine: Pool): Promise<Map<string, number>> {
  const rows = await runNamed<[string, number]>(
    engine,
    'count_alarms',
    `select kind, count(*)::int from alarms where cleared_at is null group by kind
     union all select kind, count(*)::int from installation_alarms where cleared_at is null group by kind`,
    [],
  )
  return new Map(rows)
}
