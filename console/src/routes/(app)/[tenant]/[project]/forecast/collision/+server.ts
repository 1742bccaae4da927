import { answer } from '#lib/server/answer.ts'
import { opened } from '#lib/server/open.ts'
import type { RequestHandler } from './$types'

// As many as one operation takes.
const namedMax = 1_000

/** The jobs that meet at one time, all that one operation can change. */
export const POST: RequestHandler = async ({ locals, request }) => {
  const { at, until, least } = (await request.json()) as { at: string; until: string; least: number }
  return answer(async () => {
    const found = await opened(locals).sdk.forecast.collisions({ until, least, named: namedMax })
    return { ids: found.find((collision) => collision.at === at)?.jobs.map(({ id }) => id) ?? [] }
  })
}
