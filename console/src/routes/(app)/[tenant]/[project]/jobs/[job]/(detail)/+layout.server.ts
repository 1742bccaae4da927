import { opened } from '#lib/server/open.ts'
import type { LayoutServerLoad } from './$types'

const stripRuns = 30

export const load: LayoutServerLoad = async ({ locals, params, depends }) => {
  depends('meridian:runs')
  const { api } = opened(locals)
  const [job, runs] = await Promise.all([api.getJob(params.job), api.listRuns({ jobId: params.job, limit: stripRuns })])
  return { job, runs: runs.data, hasMoreRuns: runs.nextCursor !== null }
}
