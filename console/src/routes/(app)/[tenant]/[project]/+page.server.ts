import { groupFailures } from '#lib/overview/overview.ts'
import { jobNames } from '#lib/server/job-names.ts'
import { opened } from '#lib/server/open.ts'
import type { PageServerLoad } from './$types'

const minute = 60_000
const day = 24 * 60 * minute
const iso = (at: number) => new Date(at).toISOString()

export const load: PageServerLoad = async ({ locals, depends }) => {
  depends('meridian:runs')
  const { api } = opened(locals)
  // Slices are counted in whole minutes, so the band is drawn around one.
  const now = Math.floor(locals.now / minute) * minute
  const [stats, open, upcoming, failures, paused, jobs, queues] = await Promise.all([
    api.histogram({ from: iso(now - day), to: iso(now), buckets: 48 }),
    api.openCounts(),
    api.upcoming({ until: iso(now + day), limit: 1_000 }),
    api.listRuns({ status: ['failed', 'expired'], createdFrom: iso(now - day), limit: 100 }),
    api.listJobs({ state: 'paused', limit: 20 }),
    api.listJobs({ limit: 100, include: 'recent' }),
    api.listQueues({ limit: 100 }),
  ])
  return {
    bandNow: now,
    stats,
    open,
    upcoming: upcoming.data,
    failures: groupFailures(failures.data),
    hasMoreFailures: failures.nextCursor !== null,
    names: await jobNames(api, failures.data.map((run) => run.jobId)),
    paused: paused.data,
    jobs: jobs.data,
    stuckQueues: queues.data.filter((queue) => queue.pausedAt !== null),
  }
}
