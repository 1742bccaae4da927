import { actorText } from '../access/audit.ts'
import type { Tx } from '../db/context.ts'
import { calendarVersions } from '../db/schema.ts'
import { type FieldProblem, validationFailed } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { HolidayQuery, HolidaySource } from '../schedule/calendar.ts'
import type { CalendarDefinition } from './calendar.ts'

/** The holidays of places. Their data is big, so only a process that meets one has it. */
export const loadHolidays = async (): Promise<HolidaySource> => (await import('../schedule/holidays.ts')).holidayDays

/** Throws `validation-failed` for places whose holidays nobody knows, with pointers that begin with `pointer`. */
export async function requireKnownPlaces(places: readonly HolidayQuery[], pointer = ''): Promise<void> {
  if (places.length === 0) return
  const holidays = await loadHolidays()
  const problems: FieldProblem[] = []
  for (const [index, place] of places.entries()) {
    try {
      holidays(place, 2026)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      problems.push({ pointer: `${pointer}/holidays/${index}`, detail: error.message })
    }
  }
  if (problems.length > 0) throw validationFailed(problems)
}

/** Keeps a definition as a version of a calendar. */
export const writeCalendarVersion = (
  tx: Tx,
  calendarId: Uuid,
  { version, definition }: { version: number; definition: CalendarDefinition },
) =>
  tx.db
    .insert(calendarVersions)
    .values({ tenantId: tx.tenantId, calendarId, version, definition, createdBy: actorText(tx.actor) })
