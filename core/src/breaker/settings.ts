import { audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withRead, withTx } from '../db/context.ts'
import { append } from '../event/append.ts'
import { requireVersion } from '../kernel/version.ts'
import { type BreakerSettings, defaultBreakerSettings } from './breaker.ts'
import { letGo } from './set-state.ts'

/** The settings of a tenant; version 0: the defaults. */
export interface TenantBreakerSettings extends BreakerSettings {
  version: number
}

type SettingsRow = [isEnabled: boolean, failures: number, failureShare: number, windowSeconds: number, version: number]

async function readSettings(tx: Tx): Promise<TenantBreakerSettings> {
  const rows = await runNamed<SettingsRow>(
    tx.client,
    'tenant_breaker_settings',
    'select is_enabled, failures, failure_share, window_seconds, version from breaker_settings where tenant_id = $1',
    [tx.tenantId],
  )
  if (rows[0] === undefined) return { ...defaultBreakerSettings, version: 0 }
  const [isEnabled, failures, failureShare, windowSeconds, version] = rows[0]
  return { isEnabled, failures, failureShare, windowSeconds, version }
}

/** When the breakers of the tenant open. */
export const getBreakerSettings = (ctx: Ctx): Promise<TenantBreakerSettings> => {
  requireScope(ctx, 'queues:read')
  return withRead(ctx, readSettings)
}

/**
 * Changes when the tenant's breakers open; what is left out stays. Executors know it within seconds. Turned off, what is
 * held goes. Throws `precondition-failed` when they are not at `expectedVersion`.
 */
export async function updateBreakerSettings(
  ctx: Ctx,
  changes: { [Key in keyof BreakerSettings]?: BreakerSettings[Key] | undefined },
  expectedVersion?: number,
): Promise<TenantBreakerSettings> {
  requireScope(ctx, 'queues:write')
  return withTx(ctx, async (tx) => {
    await tx.client.query("select pg_advisory_xact_lock(hashtextextended('breaker-settings' || $1, 0))", [tx.tenantId])
    const { version, ...before } = await readSettings(tx)
    requireVersion('settings', version, expectedVersion)
    const given = Object.entries(changes).filter(([, value]) => value !== undefined)
    const after: BreakerSettings = { ...before, ...Object.fromEntries(given) }
    if (given.every(([key, value]) => before[key as keyof BreakerSettings] === value)) return { ...before, version }
    await runNamed(
      tx.client,
      'set_breaker_settings',
      `insert into breaker_settings (tenant_id, is_enabled, failures, failure_share, window_seconds) values ($1, $2, $3, $4, $5)
       on conflict (tenant_id) do update set is_enabled = excluded.is_enabled, failures = excluded.failures,
         failure_share = excluded.failure_share, window_seconds = excluded.window_seconds, updated_at = clock_timestamp(),
         version = breaker_settings.version + 1`,
      [tx.tenantId, after.isEnabled, after.failures, after.failureShare, after.windowSeconds],
    )
    if (!after.isEnabled) await letGo(tx, null)
    await append(tx, { type: 'breaker.configured', subject: tx.projectId, data: { ...after } })
    await audit(tx, 'breaker.configure', { data: { before, after } })
    return readSettings(tx)
  })
}
