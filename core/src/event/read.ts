import { type Pool, runNamed } from '../db/client.ts'
import type { Ctx } from '../db/context.ts'
import { withRead } from '../db/context.ts'
import { AppError } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { EventType, StoredEvent } from './event.ts'

type EventRow = [
  string,
  string,
  Uuid,
  Uuid | null,
  EventType,
  Uuid | null,
  Uuid | null,
  Date,
  Record<string, unknown> | null,
]

const columns = 'xid::text, seq::text, tenant_id, project_id, type, subject, job_id, at, data'
// Ordered by `events.xid`: a bare `xid` would be the text above, and '10' < '9'.
const settled = 'xid < pg_snapshot_xmin(pg_current_snapshot())'

const toEvent = ([xid, seq, tenantId, projectId, type, subject, jobId, at, data]: EventRow): StoredEvent => ({
  position: `${xid}-${seq}`,
  tenantId,
  projectId,
  type,
  subject,
  jobId,
  at,
  data,
})

/** `[xid, seq]` of a position. Throws `malformed-request` for anything else. */
export function parsePosition(position: string): [string, string] {
  const match = /^(\d{1,19})-(\d{1,18})$/.exec(position)
  if (match?.[1] === undefined || match[2] === undefined) {
    throw new AppError('malformed-request', 'The event id is not one of ours.', {
      errors: [{ pointer: '/lastEventId', detail: 'not an event id' }],
    })
  }
  return [match[1], match[2]]
}

/**
 * The next events of all tenants behind a position, in the order in which they may be told on. An event becomes
 * visible here once every older transaction has ended, so a reader that moves on can't miss a late commit.
 */
export async function readEvents(pool: Pool, after: string, limit: number): Promise<StoredEvent[]> {
  const rows = await runNamed<EventRow>(
    pool,
    'events_after',
    `select ${columns} from events where (xid, seq) > ($1::xid8, $2::bigint) and ${settled} order by events.xid, events.seq limit $3`,
    [...parsePosition(after), limit],
  )
  return rows.map(toEvent)
}

/** The same for one project of the caller's tenant, for live views that resume. */
export const readProjectEvents = (ctx: Ctx, after: string, limit: number): Promise<StoredEvent[]> =>
  withRead(ctx, async (tx) => {
    const rows = await runNamed<EventRow>(
      tx.client,
      'project_events_after',
      `select ${columns} from events where (xid, seq) > ($1::xid8, $2::bigint) and ${settled}
        and tenant_id = $3 and project_id = $4 order by events.xid, events.seq limit $5`,
      [...parsePosition(after), tx.tenantId, tx.projectId, limit],
    )
    return rows.map(toEvent)
  })

/** Where a live reader of a project starts: everything before is settled, nothing after it is missed. */
export const startPosition = (ctx: Ctx): Promise<string> =>
  withRead(ctx, async (tx) => {
    const rows = await runNamed<[string]>(
      tx.client,
      'start_position',
      'select pg_snapshot_xmin(pg_current_snapshot())::text',
      [],
    )
    return `${rows[0]?.[0] ?? '0'}-0`
  })

/** All events about one thing, oldest first. */
export const listEventsAbout = (ctx: Ctx, subject: Uuid, limit = 200): Promise<StoredEvent[]> =>
  withRead(ctx, async (tx) => {
    const rows = await runNamed<EventRow>(
      tx.client,
      'events_about',
      `select ${columns} from events where tenant_id = $1 and subject = $2 order by events.xid, events.seq limit $3`,
      [tx.tenantId, subject, limit],
    )
    return rows.map(toEvent)
  })
