import { opened } from '#lib/server/open.ts'
import type { RequestHandler } from './$types'

/** The states of a country, or the regions of a state, whose holidays are known. */
export const GET: RequestHandler = async ({ locals, url }) => {
  const country = url.searchParams.get('country') ?? undefined
  const state = url.searchParams.get('state') ?? undefined
  return Response.json(await opened(locals).sdk.calendars.holidayPlaces({ country, state }))
}
