import { opened } from '#lib/server/open.ts'
import type { LayoutServerLoad } from './$types'

const stripRuns = 30

export const load: LayoutServerLoad = async ({ locals, params, depends }) => {
  depends('meridian:runs')
  const { sdk } = opened(locals)
  const [job, runs, why] = await Promise.all([
    sdk.jobs.get(params.job),
    sdk.runs.list({ jobId: params.job, limit: stripRuns }).page(),
    sdk.jobs.why(params.job),
  ])
  return { job, why, runs: runs.data, hasMoreRuns: runs.nextCursor !== null }
}
