import { type Pool, runNamed } from '../db/client.ts'
import type { Uuid } from '../kernel/ids.ts'
import { type BreakerSettings, defaultBreakerSettings } from './breaker.ts'

/** A breaker that is not closed, as executors know it. */
export interface ActiveBreaker {
  tenantId: Uuid
  host: string
  state: 'open' | 'draining'
}

/** When the latest of the breakers that are not closed changed, epoch milliseconds: whoever knows them up to there knows them all. */
export const breakersAt = "(select extract(epoch from max(since))::float8 * 1000 from breakers where state <> 'closed')"

/** All breakers that are not closed, mostly none, and when the latest of them changed, epoch milliseconds. */
export async function readActiveBreakers(engine: Pool): Promise<{ breakers: ActiveBreaker[]; atMs: number }> {
  const rows = await runNamed<[Uuid, string, ActiveBreaker['state'], number]>(
    engine,
    'active_breakers',
    `select tenant_id, host, state, ${breakersAt} from breakers where state <> 'closed'`,
    [],
  )
  return {
    breakers: rows.map(([tenantId, host, state]) => ({ tenantId, host, state })),
    atMs: rows[0]?.[3] ?? 0,
  }
}

/** What a tenant wants of its breakers. */
export async function readBreakerSettings(engine: Pool, tenantId: Uuid): Promise<BreakerSettings> {
  const rows = await runNamed<[boolean, number, number, number]>(
    engine,
    'breaker_settings',
    'select is_enabled, failures, failure_share, window_seconds from breaker_settings where tenant_id = $1',
    [tenantId],
  )
  if (rows[0] === undefined) return defaultBreakerSettings
  const [isEnabled, failures, failureShare, windowSeconds] = rows[0]
  return { isEnabled, failures, failureShare, windowSeconds }
}

/** What a host has done that its breaker opens for. */
export interface HostFailure {
  /** The id of the breaker, should the host have none yet. */
  id: Uuid
  tenantId: Uuid
  /** Where it was noticed. */
  projectId: Uuid
  host: string
  /** Within the window. */
  failures: number
  error: string
  httpStatus: number | null
  /** How long the host asked to be left alone. */
  askedMs: number | null
}

/**
 * Opens the breaker of a host, and tells it. One that was draining stays open for longer than before; one that is open,
 * or not wanted by its tenant, is left as it is. Returns whether it was opened by this.
 */
export async function tripBreaker(engine: Pool, failure: HostFailure): Promise<boolean> {
  const { id, tenantId, projectId, host, failures, error, httpStatus, askedMs } = failure
  const rows = await runNamed<[Uuid]>(
    engine,
    'trip_breaker',
    `with o as (
       insert into breakers as b (tenant_id, host, id, project_id, state, since, opened_at, failures, error, http_status, probe_at)
       select $1, $2, $3, $4, 'open', now, now, $5, $6, $7, now + probe_after(0, $8) from clock_timestamp() now
       where not exists (select from breaker_settings s where s.tenant_id = $1 and not s.is_enabled)
       on conflict (tenant_id, host) do update set state = 'open', since = excluded.since, project_id = excluded.project_id,
         opened_at = case when b.state = 'draining' then b.opened_at else excluded.opened_at end,
         probes_failed = case when b.state = 'draining' then b.probes_failed + 1 else 0 end,
         probe_at = excluded.since + probe_after(case when b.state = 'draining' then b.probes_failed + 1 else 0 end, $8),
         failures = excluded.failures, error = excluded.error, http_status = excluded.http_status,
         opened_by = null, reason = null, closed_at = null, closed_by = null, passed_at = null, passed_id = null, paced_at = null
       where b.state <> 'open'
       returning *)
     insert into events (tenant_id, project_id, type, subject, data)
     select tenant_id, project_id, 'breaker.opened', id, jsonb_build_object('host', host, 'error', error, 'httpStatus', http_status,
       'failures', failures, 'probeAt', probe_at) from o
     returning subject`,
    [tenantId, host, id, projectId, failures, error, httpStatus, askedMs],
  )
  return rows.length > 0
}

/** What the probe of a breaker found. */
export interface ProbeReport {
  tenantId: Uuid
  host: string
  runId: Uuid
  isUp: boolean
  error: string | null
  httpStatus: number | null
  askedMs: number | null
}

/**
 * Says how a probe went: what was held begins to drain, or the next probe is later. A report on any other run changes
 * nothing.
 */
export async function reportProbe(engine: Pool, report: ProbeReport): Promise<void> {
  const { tenantId, host, runId, isUp, error, httpStatus, askedMs } = report
  await runNamed(
    engine,
    'report_probe',
    `with p as (
       update breakers b set probe_run = null, state = case when $4 then 'draining' else 'open' end,
         since = case when $4 then now else b.since end, paced_at = case when $4 then now end,
         probes_failed = b.probes_failed + case when $4 then 0 else 1 end,
         probe_at = case when $4 then null else now + probe_after(b.probes_failed + 1, $7) end,
         error = coalesce($5, b.error), http_status = case when $4 then b.http_status else $6 end
       from clock_timestamp() now where b.tenant_id = $1 and b.host = $2 and b.state = 'open' and b.probe_run = $3
       returning b.*)
     insert into events (tenant_id, project_id, type, subject, data)
     select tenant_id, project_id, 'breaker.recovered', id, jsonb_build_object('host', host, 'openedAt', opened_at)
     from p where state = 'draining'`,
    [tenantId, host, runId, isUp, error, httpStatus, askedMs],
  )
}
