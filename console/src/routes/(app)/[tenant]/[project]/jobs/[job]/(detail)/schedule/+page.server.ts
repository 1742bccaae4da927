import { opened } from '#lib/server/open.ts'
import type { PageServerLoad } from './$types'

const day = 86_400_000

export const load: PageServerLoad = async ({ locals, params, parent, depends }) => {
  depends('meridian:runs')
  const { api } = opened(locals)
  const { job } = await parent()
  const [preview, ledger] = await Promise.all([
    job.schedule ? api.preview({ schedule: job.schedule, count: 10 }) : undefined,
    api.listOccurrences(params.job, {
      from: new Date(locals.now - 7 * day).toISOString(),
      to: new Date(locals.now + day).toISOString(),
      limit: 200,
    }),
  ])
  return { preview, ledger: ledger.data.toReversed(), hasMore: ledger.nextCursor !== null }
}
