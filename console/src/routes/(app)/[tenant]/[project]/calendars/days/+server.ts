import type { CalendarContents } from '@meridian/sdk'
import { answer } from '#lib/server/answer.ts'
import { opened } from '#lib/server/open.ts'
import type { RequestHandler } from './$types'

/** The days of a year that a calendar holds while it is being written. */
export const POST: RequestHandler = async ({ locals, request }) => {
  const { calendar, year } = (await request.json()) as { calendar: CalendarContents; year: number }
  return answer(() => opened(locals).sdk.calendars.days({ calendar, from: `${year}-01-01`, until: `${year}-12-31` }))
}
