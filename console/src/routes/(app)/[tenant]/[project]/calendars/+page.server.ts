import { contentsOf } from '#lib/calendar/contents.ts'
import { stripMarks } from '#lib/calendar/strip.ts'
import { opened } from '#lib/server/open.ts'
import { addDays } from '#lib/time/day.ts'
import { API_URL } from '$app/env/private'
import type { PageServerLoad } from './$types'

const pageSize = 30
const stripDays = 91

export const load: PageServerLoad = async ({ locals, url }) => {
  const { sdk } = opened(locals)
  const page = await sdk.calendars.list({ limit: pageSize, cursor: url.searchParams.get('cursor') ?? undefined }).page()
  const from = new Date(locals.now).toISOString().slice(0, 10)
  const until = addDays(from, stripDays - 1)
  const marks = await Promise.all(
    page.data.map(async (calendar) => {
      const days = await sdk.calendars.days({ calendar: contentsOf(calendar), from, until })
      return stripMarks(days, from, stripDays)
    }),
  )
  return {
    calendars: page.data.map((calendar, index) => ({ ...calendar, marks: marks[index] ?? [] })),
    nextCursor: page.nextCursor,
    apiUrl: API_URL.origin,
  }
}
