import { arrayLiteral, type Pool, runNamed } from '../db/client.ts'
import type { StoredEvent } from '../event/event.ts'
import { runSources } from '../run/run.ts'
import { clockSlack } from '../run/select.ts'
import { failuresMax } from './dead-letter.ts'

// One row a run, however often it is told. A replay that fails as the letter that it came from did counts on from there.
const statement = `
  with u as materialized (select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::float8[]) u(t, p, i, at)),
  n as materialized (
    select r.*, f.fingerprint, coalesce(l.failures, 0) + 1 as failures, coalesce(l.first_failed_at, r.ended_at) as first_failed_at
    from u
    cross join lateral (
      select r.* from runs r where r.tenant_id = u.t and r.project_id = u.p and r.id = u.i
        and r.ended_at between to_timestamp(u.at / 1000) - ${clockSlack} and to_timestamp(u.at / 1000) + ${clockSlack} offset 0) r
    cross join lateral (
      select md5(concat_ws(' ', coalesce(r.job_id, r.queue_id), r.state, r.error, r.http_status))::uuid as fingerprint) f
    left join lateral (
      select i.replay_of, i.source from inputs i where i.tenant_id = u.t and i.project_id = u.p and i.id = u.i offset 0) i on true
    left join lateral (
      select * from dead_letters l where l.tenant_id = u.t and l.run_id = i.replay_of and l.fingerprint = f.fingerprint offset 0) l on true
    left join lateral (
      select v.definition->>'deadLetters' as rule from jobs j
      join job_versions v on v.tenant_id = j.tenant_id and v.job_id = j.id and v.version = j.version
      where j.tenant_id = u.t and j.id = r.job_id offset 0) j on true
    left join lateral (select q.dead_letters as rule from queues q where q.tenant_id = u.t and q.id = r.queue_id offset 0) q on true
    -- What a batch did not do is kept run by run.
    where coalesce(j.rule, 'keep') = 'keep' and coalesce(q.rule, 'keep') = 'keep' and i.source is distinct from ${runSources.indexOf('batch')}),
  kept as (
    insert into dead_letters (tenant_id, run_id, project_id, job_id, queue_id, state, error, http_status, fingerprint, failures,
      first_failed_at, failed_at)
    select tenant_id, id, project_id, job_id, queue_id, state, coalesce(error, 'unknown'), http_status, fingerprint, failures,
      first_failed_at, ended_at from n
    on conflict (tenant_id, run_id) do nothing
    returning *),
  e as (
    insert into events (tenant_id, project_id, type, subject, job_id, data)
    select tenant_id, project_id, 'dead-letter.quarantined', run_id, job_id,
      jsonb_build_object('error', error, 'fingerprint', fingerprint, 'failures', failures)
    from kept where failures = ${failuresMax + 1})
  select count(*)::int from kept`

/**
 * Keeps the runs that have failed or expired, by these events, as dead letters, unless their job or their queue says otherwise. Telling
 * an event again changes nothing. Returns how many are new.
 */
export async function keepDead(pool: Pool, events: readonly StoredEvent[]): Promise<number> {
  const dead = events.filter(({ type }) => type === 'run.failed' || type === 'run.expired')
  if (dead.length === 0) return 0
  const rows = await runNamed<[number]>(pool, 'keep_dead', statement, [
    arrayLiteral(dead.map(({ tenantId }) => tenantId)),
    arrayLiteral(dead.map(({ projectId }) => projectId)),
    arrayLiteral(dead.map(({ subject }) => subject)),
    arrayLiteral(dead.map(({ at }) => at.getTime())),
  ])
  return rows[0]?.[0] ?? 0
}

/** Forgets letters that were handled more than `days` ago, at most `limit`. Returns how many. */
export async function forgetHandled(pool: Pool, days: number, limit: number): Promise<number> {
  const rows = await runNamed<[number]>(
    pool,
    'forget_handled',
    `with gone as (
       delete from dead_letters where ctid = any(array(
         select ctid from dead_letters where handled_at < (select clock_timestamp() - $1 * interval '1 day') order by handled_at limit $2))
       returning 1)
     select count(*)::int from gone`,
    [days, limit],
  )
  return rows[0]?.[0] ?? 0
}
