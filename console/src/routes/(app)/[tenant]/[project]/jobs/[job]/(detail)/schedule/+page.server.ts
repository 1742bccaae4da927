import { opened } from '#lib/server/open.ts'
import type { PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ locals, parent, depends }) => {
  depends('meridian:runs')
  const { sdk } = opened(locals)
  const { job } = await parent()
  const preview = job.schedule
    ? await sdk.schedules.preview({ schedule: job.schedule, count: 10, jobId: job.id })
    : undefined
  return { preview }
}
