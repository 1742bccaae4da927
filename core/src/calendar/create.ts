import { eq } from 'drizzle-orm'
import type { z } from 'zod'
import { audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { type Ctx, withTx } from '../db/context.ts'
import { calendars } from '../db/schema.ts'
import { append } from '../event/append.ts'
import { AppError } from '../kernel/errors.ts'
import { uuidv7 } from '../kernel/ids.ts'
import { parseValue } from '../kernel/parse.ts'
import { type Calendar, calendarDefinitionValue, calendarNameValue, readCalendar } from './calendar.ts'
import { requireKnownPlaces, writeCalendarVersion } from './write-version.ts'

export const newCalendarValue = calendarDefinitionValue.extend({ name: calendarNameValue })
export type NewCalendar = z.input<typeof newCalendarValue>

const calendarsMax = 1_000

/**
 * Makes a calendar of the tenant. Throws `validation-failed` with pointers, also for places whose holidays nobody
 * knows, `conflict` when there is one of that name, and `quota-exceeded` at 1,000.
 */
export async function createCalendar(ctx: Ctx, input: NewCalendar): Promise<Calendar> {
  requireScope(ctx, 'calendars:write')
  const { name, ...definition } = parseValue(newCalendarValue, input)
  await requireKnownPlaces(definition.holidays)
  return withTx(ctx, async (tx) => {
    const count = await tx.db.$count(calendars, eq(calendars.tenantId, tx.tenantId))
    if (count >= calendarsMax)
      throw new AppError('quota-exceeded', `An organisation has at most ${calendarsMax} calendars.`)
    const id = uuidv7(tx.clock.nowMs())
    const made = await tx.db.insert(calendars).values({ tenantId: tx.tenantId, id, name }).onConflictDoNothing()
    if (made.rowCount !== 1) throw new AppError('conflict', `There is a calendar named ${name} already.`)
    await writeCalendarVersion(tx, id, { version: 1, definition })
    await append(tx, { type: 'calendar.created', subject: id, data: { name, version: 1 } })
    await audit(tx, 'calendar.create', { subject: id, data: { name, version: 1 } })
    return readCalendar(tx, name)
  })
}
