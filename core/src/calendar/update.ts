import { isDeepStrictEqual } from 'node:util'
import { sql } from 'drizzle-orm'
import { audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { type Ctx, withTx } from '../db/context.ts'
import { calendars } from '../db/schema.ts'
import { append } from '../event/append.ts'
import { parseValue } from '../kernel/parse.ts'
import { requireVersion } from '../kernel/version.ts'
import {
  type Calendar,
  type CalendarChanges,
  type CalendarDefinition,
  calendarChangesValue,
  lockCalendar,
  ofName,
  readCalendar,
} from './calendar.ts'
import { decideAgain } from './decide-again.ts'
import { jobsUsing } from './users.ts'
import { requireKnownPlaces, writeCalendarVersion } from './write-version.ts'

/**
 * Changes a calendar, as a new version; what is left out stays, and nothing is written when nothing differs. What
 * schedules that use it had written ahead is taken back and decided again. Throws `validation-failed`, `not-found`, and
 * `precondition-failed` when it is not at `expectedVersion`.
 */
export async function updateCalendar(
  ctx: Ctx,
  name: string,
  { expectedVersion, ...input }: CalendarChanges & { expectedVersion?: number | undefined },
): Promise<Calendar> {
  requireScope(ctx, 'calendars:write')
  const changes = parseValue(calendarChangesValue, input)
  await requireKnownPlaces(changes.holidays ?? [])
  return withTx(ctx, async (tx) => {
    const before = await lockCalendar(tx, name)
    requireVersion('calendar', before.version, expectedVersion)
    const { description, dates, ranges, weekly, holidays } = before
    const old: CalendarDefinition = { description, dates, ranges, weekly, holidays }
    const given = Object.entries(changes).filter(([, value]) => value !== undefined)
    const definition = { ...old, ...(Object.fromEntries(given) as Partial<CalendarDefinition>) }
    if (isDeepStrictEqual(old, definition)) return before
    const version = before.version + 1
    await writeCalendarVersion(tx, before.id, { version, definition })
    await tx.db.update(calendars).set({ version, updatedAt: sql`now()` }).where(ofName(tx, name))
    const users = await jobsUsing(tx, name)
    await decideAgain(
      tx,
      users.map(({ id }) => id),
      'calendar',
    )
    const data = { name, version, jobs: users.length }
    await append(tx, { type: 'calendar.updated', subject: before.id, data })
    await audit(tx, 'calendar.update', { subject: before.id, data })
    return readCalendar(tx, name)
  })
}
