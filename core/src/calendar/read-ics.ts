import { z } from 'zod'
import { requireScope } from '../access/scope.ts'
import type { Ctx } from '../db/context.ts'
import { validationFailed } from '../kernel/errors.ts'
import { calendarFromIcs } from '../schedule/calendar-ics.ts'
import { nativeZones } from '../schedule/zone.ts'
import type { CalendarDefinition } from './calendar.ts'

export const icsTextValue = z.string().min(1).max(2_000_000)

const yearMs = 366 * 86_400_000
const defaultMs = 2 * yearMs
const lengthMaxMs = 10 * yearMs

/**
 * The events of an iCalendar file as the days and ranges of a calendar; repeated ones are written out from `from` (now)
 * until `until` (two years later). Saves nothing. Throws `validation-failed` for a time zone that is none.
 */
export function readIcs(
  ctx: Ctx,
  input: { ics: string; timezone: string; from?: Date | undefined; until?: Date | undefined },
): Pick<CalendarDefinition, 'dates' | 'ranges'> & { problems: string[] } {
  requireScope(ctx, 'calendars:read')
  const { ics, timezone } = input
  if (!nativeZones.find(timezone)) throw validationFailed([{ pointer: '/timezone', detail: 'Not a time zone' }])
  const fromMs = input.from?.getTime() ?? ctx.clock.nowMs()
  const untilMs = input.until?.getTime() ?? fromMs + defaultMs
  if (untilMs <= fromMs) throw validationFailed([{ pointer: '/until', detail: 'It ends before it starts' }])
  if (untilMs - fromMs > lengthMaxMs)
    throw validationFailed([{ pointer: '/until', detail: 'At most 10 years after `from`' }])
  const { calendar, problems } = calendarFromIcs(ics, { timezone, fromMs, untilMs })
  return { dates: calendar.dates ?? [], ranges: calendar.ranges ?? [], problems: [...problems] }
}
