import type { ReadIcs } from '@meridian/sdk'
import { answer } from '#lib/server/answer.ts'
import { opened } from '#lib/server/open.ts'
import type { RequestHandler } from './$types'

/** What an iCalendar file would bring into a calendar. */
export const POST: RequestHandler = async ({ locals, request }) => {
  const file = (await request.json()) as ReadIcs
  return answer(() => opened(locals).sdk.calendars.readIcs(file))
}
