import { bandColumns } from '#lib/draw/band.ts'
import { groupFailures, pastCounts } from '#lib/overview/overview.ts'
import { act, textOf } from '#lib/server/act.ts'
import { jobNames } from '#lib/server/job-names.ts'
import { opened } from '#lib/server/open.ts'
import type { Actions, PageServerLoad } from './$types'

// The nearest starts, one by one: enough to see who meets whom.
const upcomingMax = 1_000
const minute = 60_000
const day = 24 * 60 * minute
const iso = (at: number) => new Date(at).toISOString()

export const load: PageServerLoad = async ({ locals, depends }) => {
  depends('meridian:overview')
  const { sdk } = opened(locals)
  // Slices are counted in whole minutes, so the band is drawn around the end of the one that is going on: what ended in
  // it is seen at once.
  const now = (Math.floor(locals.now / minute) + 1) * minute
  const [stats, week, starts, open, upcoming, failures, paused, jobs, queues, alarms] = await Promise.all([
    sdk.stats.runs({ from: iso(now - day), to: iso(now), buckets: 48 }),
    sdk.stats.runs({ from: iso(now - 7 * day), to: iso(now), buckets: 1 }),
    sdk.forecast.starts({ until: iso(now + day), buckets: 48 }),
    sdk.stats.open(),
    sdk.stats.upcoming({ until: iso(now + day), limit: upcomingMax }),
    sdk.runs.list({ status: ['failed', 'expired'], createdFrom: iso(now - day), limit: 100 }).page(),
    sdk.jobs.list({ state: 'paused', limit: 20 }).page(),
    sdk.jobs.list({ limit: 100, include: ['recent'] }).page(),
    sdk.queues.list({ limit: 100 }).page(),
    sdk.alarms.list(),
  ])
  const past = pastCounts(stats.buckets)
  const coming = {
    counts: starts.buckets.map(({ from, to, count }) => ({ from: Date.parse(from), to: Date.parse(to), count })),
    starts: upcoming.map(({ effectiveAt, jobId }) => ({ at: Date.parse(effectiveAt), jobId })),
  }
  return {
    bandNow: now,
    columns: bandColumns(now, past, coming),
    past,
    week: pastCounts(week.buckets),
    open,
    nextTen: upcoming.slice(0, 10),
    failures: groupFailures(failures.data),
    hasMoreFailures: failures.nextCursor !== null,
    names: await jobNames(
      sdk,
      failures.data.map((run) => run.jobId),
    ),
    paused: paused.data,
    jobs: jobs.data,
    alarms,
    stuckQueues: queues.data.filter((queue) => queue.pausedAt !== null),
  }
}

export const actions = {
  repair: async ({ locals, request }) => {
    const job = textOf(await request.formData(), 'job')
    const which = job ? { filter: { ids: [job] } } : { filter: {}, onlyStuck: true }
    return act(async () => ({
      operation: (await opened(locals).sdk.operations.create({ kind: 'jobs.repair', ...which })).id,
    }))
  },
} satisfies Actions
