import type { BlackoutStretch } from '@meridian/sdk'
import { answer } from '#lib/server/answer.ts'
import { opened } from '#lib/server/open.ts'
import type { RequestHandler } from './$types'

/** What falls into a blackout while it is being written. */
export const POST: RequestHandler = async ({ locals, request }) => {
  const stretch = (await request.json()) as BlackoutStretch
  return answer(() => opened(locals).sdk.blackouts.preview(stretch))
}
