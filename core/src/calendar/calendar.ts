import { and, eq, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Tx } from '../db/context.ts'
import { calendars, calendarVersions } from '../db/schema.ts'
import { notFound } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { proseValue } from '../kernel/text.ts'
import { calendarSchema } from '../schedule/calendar.ts'

export const calendarNamePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/
export const calendarNameValue = z
  .string()
  .regex(calendarNamePattern, 'must be 1 to 100 letters, digits, dots, underscores or dashes')

const { shape } = calendarSchema

/** What a calendar holds. The wire shape, with its defaults. */
export const calendarDefinitionValue = z.strictObject({
  description: proseValue(4_000).nullable().default(null),
  dates: shape.dates.unwrap().default([]).meta({ description: 'Whole days.' }),
  ranges: shape.ranges.unwrap().default([]).meta({ description: 'Stretches of days, or of time.' }),
  weekly: shape.weekly.unwrap().default([]).meta({ description: 'Hours of days of the week.' }),
  holidays: shape.holidays.unwrap().default([]).meta({ description: 'Holidays of countries, states or regions.' }),
})
export type CalendarDefinition = z.output<typeof calendarDefinitionValue>

/** A change of a calendar: what is left out stays. No defaults. */
export const calendarChangesValue = z.strictObject({
  description: calendarDefinitionValue.shape.description.unwrap().optional(),
  dates: shape.dates,
  ranges: shape.ranges,
  weekly: shape.weekly,
  holidays: shape.holidays,
})
export type CalendarChanges = z.input<typeof calendarChangesValue>

/** A named set of days and hours of a tenant. Schedules name it; every change is a version that is kept. */
export interface Calendar extends CalendarDefinition {
  id: Uuid
  name: string
  version: number
  createdAt: Date
  updatedAt: Date
}

export interface CalendarVersion extends CalendarDefinition {
  version: number
  createdBy: string
  createdAt: Date
}

const columns = {
  id: calendars.id,
  name: calendars.name,
  version: calendars.version,
  createdAt: calendars.createdAt,
  updatedAt: calendars.updatedAt,
  definition: sql<CalendarDefinition>`${calendarVersions.definition}`,
}
type CalendarRow = Pick<Calendar, 'id' | 'name' | 'version' | 'createdAt' | 'updatedAt'> & {
  definition: CalendarDefinition
}

export const toCalendar = ({ definition, ...row }: CalendarRow): Calendar => ({ ...row, ...definition })

/** Calendars at their present version. */
export const selectCalendars = (tx: Tx) =>
  tx.db
    .select(columns)
    .from(calendars)
    .innerJoin(
      calendarVersions,
      and(
        eq(calendarVersions.tenantId, calendars.tenantId),
        eq(calendarVersions.calendarId, calendars.id),
        eq(calendarVersions.version, calendars.version),
      ),
    )
    .$dynamic()

export const ofName = (tx: Tx, name: string) => and(eq(calendars.tenantId, tx.tenantId), eq(calendars.name, name))

/** The tenant's calendar of that name. Throws `not-found`. */
export async function readCalendar(tx: Tx, name: string): Promise<Calendar> {
  const [row] = await selectCalendars(tx).where(ofName(tx, name))
  if (row === undefined) throw notFound('calendar')
  return toCalendar(row)
}

/** The same, locked: nobody else changes it, deletes it, or starts to use it meanwhile. */
export async function lockCalendar(tx: Tx, name: string): Promise<Calendar> {
  await tx.client.query('select from calendars where tenant_id = $1 and name = $2 for update', [tx.tenantId, name])
  return readCalendar(tx, name)
}
