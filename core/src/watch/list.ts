import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, withRead } from '../db/context.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { AlarmKind, Alarms, InstallationAlarmKind } from './alarm.ts'

const alarmsMax = 200
/** The watchdog looks every few seconds. */
const silentSeconds = 60

/** What stands still in the caller's project, and in the installation: the latest 200. */
export const listAlarms = (ctx: Ctx, { all }: { all: boolean }): Promise<Alarms> => {
  requireScope(ctx, 'jobs:read')
  return withRead(ctx, async (tx) => {
    const alarms = await runNamed<[AlarmKind, Uuid, string | null, Date, Date, Date | null]>(
      tx.client,
      'list_alarms',
      `select a.kind, a.subject, coalesce(j.name, b.host), a.since, a.raised_at, a.cleared_at from alarms a
       left join jobs j on j.tenant_id = a.tenant_id and j.id = a.subject
       left join breakers b on b.tenant_id = a.tenant_id and b.id = a.subject
       where a.tenant_id = $1 and a.project_id = $2 and ($3 or a.cleared_at is null) order by a.raised_at desc limit ${alarmsMax}`,
      [tx.tenantId, tx.projectId, all],
    )
    const installation = await runNamed<[InstallationAlarmKind, string, Date, Date]>(
      tx.client,
      'list_installation_alarms',
      `select kind, name, since, raised_at from installation_alarms where cleared_at is null order by raised_at desc limit ${alarmsMax}`,
      [],
    )
    const [[watchedAt, isSilent] = [null, true]] = await runNamed<[Date | null, boolean | null]>(
      tx.client,
      'watchdog_pass',
      `select min(passed_at), min(passed_at) < clock_timestamp() - interval '${silentSeconds} seconds' from watchdog_passes`,
      [],
    )
    return {
      alarms: alarms.map(([kind, subject, name, since, raisedAt, clearedAt]) => ({
        kind,
        subject,
        name,
        since,
        raisedAt,
        clearedAt,
      })),
      installation: installation.map(([kind, name, since, raisedAt]) => ({ kind, name, since, raisedAt })),
      watchedAt,
      isWatchdogSilent: isSilent ?? true,
    }
  })
}
