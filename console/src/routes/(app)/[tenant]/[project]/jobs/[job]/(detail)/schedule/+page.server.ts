import { opened } from '#lib/server/open.ts'
import type { PageServerLoad } from './$types'

const day = 86_400_000

export const load: PageServerLoad = async ({ locals, params, parent, depends }) => {
  depends('meridian:runs')
  const { sdk } = opened(locals)
  const { job } = await parent()
  const [preview, ledger] = await Promise.all([
    job.schedule ? sdk.schedules.preview({ schedule: job.schedule, count: 10 }) : undefined,
    sdk.jobs
      .occurrences(params.job, {
        from: new Date(locals.now - 7 * day).toISOString(),
        to: new Date(locals.now + day).toISOString(),
        limit: 200,
      })
      .page(),
  ])
  return { preview, ledger: ledger.data.toReversed(), hasMore: ledger.nextCursor !== null }
}
