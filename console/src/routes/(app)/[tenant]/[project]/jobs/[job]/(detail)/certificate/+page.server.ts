import { MeridianProblem } from '@meridian/sdk'
import { instantsOf, readDays } from '#lib/certificate/range.ts'
import { opened } from '#lib/server/open.ts'
import { toView } from '#lib/server/sdk.ts'
import { wallClock } from '#lib/time/words.ts'
import type { PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ locals, parent, url }) => {
  const { sdk } = opened(locals)
  const { job } = await parent()
  const zone = job.schedule?.timezone ?? locals.preferences.zone
  const days = readDays(url.searchParams, wallClock(locals.now, zone).slice(0, 10))
  try {
    return { zone, days, signed: await sdk.jobs.certificate(job.id, instantsOf(days, zone)) }
  } catch (error) {
    if (error instanceof MeridianProblem && error.status < 500) return { zone, days, problem: toView(error) }
    throw error
  }
}
