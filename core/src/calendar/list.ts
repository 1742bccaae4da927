import { and, asc, desc, eq, gt, lt, sql } from 'drizzle-orm'
import { requireScope } from '../access/scope.ts'
import { type Ctx, withRead } from '../db/context.ts'
import { calendars, calendarVersions } from '../db/schema.ts'
import { notFound } from '../kernel/errors.ts'
import { decodeCursor, decodeVersion, encodeVersion, type Page, type PageRequest, toPage } from '../kernel/page.ts'
import {
  type Calendar,
  type CalendarDefinition,
  type CalendarVersion,
  readCalendar,
  selectCalendars,
  toCalendar,
} from './calendar.ts'
import { type CalendarUse, countUsers, jobsUsing, toUse } from './users.ts'

export interface ListedCalendar extends Calendar {
  /** Jobs of all projects whose schedules name it. */
  jobCount: number
}

/** The tenant's calendars, oldest first. */
export async function listCalendars(ctx: Ctx, page: PageRequest): Promise<Page<ListedCalendar>> {
  requireScope(ctx, 'calendars:read')
  const after = page.cursor === undefined ? undefined : gt(calendars.id, decodeCursor(page.cursor))
  return withRead(ctx, async (tx) => {
    const rows = await selectCalendars(tx)
      .where(and(eq(calendars.tenantId, tx.tenantId), after))
      .orderBy(asc(calendars.id))
      .limit(page.limit + 1)
    const counts = await countUsers(
      tx,
      rows.map(({ name }) => name),
    )
    return toPage(
      rows.map((row) => ({ ...toCalendar(row), jobCount: counts.get(row.name) ?? 0 })),
      page.limit,
    )
  })
}

/** One calendar of the tenant and who uses it. Throws `not-found`. */
export async function getCalendar(ctx: Ctx, name: string): Promise<Calendar & { use: CalendarUse }> {
  requireScope(ctx, 'calendars:read')
  return withRead(ctx, async (tx) => {
    const calendar = await readCalendar(tx, name)
    return { ...calendar, use: toUse(tx, await jobsUsing(tx, name)) }
  })
}

const versionColumns = {
  version: calendarVersions.version,
  createdBy: calendarVersions.createdBy,
  createdAt: calendarVersions.createdAt,
  definition: sql<CalendarDefinition>`${calendarVersions.definition}`,
}

/** All versions of a calendar, newest first. Throws `not-found`. */
export async function listCalendarVersions(ctx: Ctx, name: string, page: PageRequest): Promise<Page<CalendarVersion>> {
  requireScope(ctx, 'calendars:read')
  return withRead(ctx, async (tx) => {
    const { id } = await readCalendar(tx, name)
    const own = and(eq(calendarVersions.tenantId, tx.tenantId), eq(calendarVersions.calendarId, id))
    const before = page.cursor === undefined ? undefined : lt(calendarVersions.version, decodeVersion(page.cursor))
    const rows = await tx.db
      .select(versionColumns)
      .from(calendarVersions)
      .where(and(own, before))
      .orderBy(desc(calendarVersions.version))
      .limit(page.limit + 1)
    const items = rows.slice(0, page.limit).map(({ definition, ...row }) => ({ ...row, ...definition }))
    const last = items.at(-1)
    return { items, nextCursor: rows.length > page.limit && last ? encodeVersion(last.version) : null }
  })
}

/** One version of a calendar. Throws `not-found`. */
export async function getCalendarVersion(ctx: Ctx, name: string, version: number): Promise<CalendarVersion> {
  requireScope(ctx, 'calendars:read')
  return withRead(ctx, async (tx) => {
    const { id } = await readCalendar(tx, name)
    const own = and(eq(calendarVersions.tenantId, tx.tenantId), eq(calendarVersions.calendarId, id))
    const [row] = await tx.db
      .select(versionColumns)
      .from(calendarVersions)
      .where(and(own, eq(calendarVersions.version, version)))
    if (row === undefined) throw notFound('version of the calendar')
    const { definition, ...rest } = row
    return { ...rest, ...definition }
  })
}
