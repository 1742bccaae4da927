import { binSize, readRange } from '#lib/draw/histogram.ts'
import { jobNames } from '#lib/server/job-names.ts'
import { opened } from '#lib/server/open.ts'
import { runFilter } from '#lib/server/run-filter.ts'
import type { LayoutServerLoad } from './$types'

const pageSize = 100
const minute = 60_000
const yearOfMinutes = 366 * 24 * 60 * minute

export const load: LayoutServerLoad = async ({ locals, url, depends }) => {
  depends('meridian:runs')
  const { sdk } = opened(locals)
  const { range, preset } = readRange(url.searchParams, locals.now)
  // Bins lie on a fixed grid, so that a bar does not change because time went on.
  const width = Math.max(binSize(range), minute)
  const to = Math.ceil(range.to / width) * width
  const from = Math.max(Math.floor(range.from / width) * width, to - yearOfMinutes)
  const job = url.searchParams.get('job')
  const [runs, stats] = await Promise.all([
    sdk.runs.list({ ...runFilter(url.searchParams, locals.now), limit: pageSize }).page(),
    sdk.stats.runs({
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      buckets: Math.round((to - from) / width),
    }),
  ])
  return {
    runs: runs.data,
    nextCursor: runs.nextCursor,
    lookedTo: runs.lookedTo ?? null,
    names: await jobNames(sdk, [job, ...runs.data.map((run) => run.jobId)]),
    bins: stats.buckets,
    range,
    preset,
  }
}
