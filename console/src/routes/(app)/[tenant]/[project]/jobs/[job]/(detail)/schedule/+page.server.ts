import { opened } from '#lib/server/open.ts'
import { projectNow } from '#lib/server/project-now.ts'
import type { PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ locals, parent, depends }) => {
  depends('meridian:runs')
  const { sdk } = opened(locals)
  const [{ job }, now] = await Promise.all([parent(), projectNow(locals)])
  const after = new Date(now).toISOString()
  const preview = job.schedule
    ? await sdk.schedules.preview({ schedule: job.schedule, count: 10, jobId: job.id, after })
    : undefined
  return { preview }
}
