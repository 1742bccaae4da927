import { runNamed } from '../db/client.ts'
import type { Ctx, Tx } from '../db/context.ts'
import type { Uuid } from '../kernel/ids.ts'

export interface CalendarUser {
  id: Uuid
  name: string
  projectId: Uuid
}

/** The jobs of all the tenant's projects whose schedules name a calendar, paused ones too. */
export async function jobsUsing(tx: Tx, calendar: string): Promise<CalendarUser[]> {
  const rows = await runNamed<[Uuid, string, Uuid]>(
    tx.client,
    'calendar_users',
    `select j.id, j.name, j.project_id from schedules s join jobs j on j.tenant_id = s.tenant_id and j.id = s.job_id
     where s.tenant_id = $1 and s.spec ?| array['onlyOn', 'notOn'] and (s.spec -> 'onlyOn' ? $2 or s.spec -> 'notOn' ? $2)
     order by j.id`,
    [tx.tenantId, calendar],
  )
  return rows.map(([id, name, projectId]) => ({ id, name, projectId }))
}

/** How many jobs name each of some calendars; those that none names are left out. */
export async function countUsers(tx: Tx, names: readonly string[]): Promise<Map<string, number>> {
  const rows = await runNamed<[string, number]>(
    tx.client,
    'calendar_user_counts',
    `select n.name, count(*)::int from schedules s
     join unnest($2::text[]) n(name) on s.spec -> 'onlyOn' ? n.name or s.spec -> 'notOn' ? n.name
     where s.tenant_id = $1 and s.spec ?| array['onlyOn', 'notOn'] group by n.name`,
    [tx.tenantId, names],
  )
  return new Map(rows)
}

/** Who uses a calendar, as a caller may see it: jobs of their own project by name, those of others as a number. */
export interface CalendarUse {
  count: number
  jobs: { id: Uuid; name: string }[]
}

const namedMax = 50

export const toUse = (ctx: Ctx, users: readonly CalendarUser[]): CalendarUse => ({
  count: users.length,
  jobs: users
    .filter(({ projectId }) => projectId === ctx.projectId)
    .slice(0, namedMax)
    .map(({ id, name }) => ({ id, name })),
})
