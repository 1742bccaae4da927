import { summariseEvents } from '#lib/server/news.ts'
import { opened } from '#lib/server/open.ts'
import type { RequestHandler } from './$types'

/** News of the project as server-sent events, for as long as the page is open. */
export const GET: RequestHandler = async ({ locals, request }) => {
  const { sdk } = opened(locals)
  return new Response(
    summariseEvents((signal) => sdk.events.stream({ signal }), request.signal),
    {
      headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
    },
  )
}
