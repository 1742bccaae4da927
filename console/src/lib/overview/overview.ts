import type { JobSummary, Run, RunStats } from '@meridian/sdk'
import type { PastCount } from '#lib/draw/band.ts'
import { median } from './median.ts'

/** Runs that failed for the same reason in the same job: one thing to look at. */
export interface FailureGroup {
  jobId: string | null
  error: string | null
  httpStatus: number | null
  runs: Run[]
}

/** Failures gathered by job and reason, the freshest first. */
export function groupFailures(runs: readonly Run[]): FailureGroup[] {
  const groups = new Map<string, FailureGroup>()
  for (const run of runs) {
    const key = `${run.jobId} ${run.error} ${run.httpStatus}`
    const group = groups.get(key)
    if (group) group.runs.push(run)
    else groups.set(key, { jobId: run.jobId, error: run.error, httpStatus: run.httpStatus, runs: [run] })
  }
  return [...groups.values()]
}

/** The API's slices as the band counts them. */
export function pastCounts(buckets: RunStats['buckets']): PastCount[] {
  return buckets.map(({ from, counts }) => ({
    at: Date.parse(from),
    succeeded: counts.succeeded ?? 0,
    failed: (counts.failed ?? 0) + (counts.expired ?? 0),
    other: (counts.cancelled ?? 0) + (counts.skipped ?? 0),
  }))
}

/** How a project is, in one line. */
export function stateLine({
  past,
  waiting,
  running,
  paused,
  still = 0,
}: {
  past: readonly PastCount[]
  waiting: number
  running: number
  paused: number
  /** Things that stand still and should not. */
  still?: number
}): { text: string; meaning: 'quiet' | 'succeeded' | 'failed' } {
  const sum = (pick: (count: PastCount) => number) => past.reduce((total, count) => total + pick(count), 0)
  const failed = sum((count) => count.failed)
  const ended = sum((count) => count.succeeded) + failed
  const first =
    ended === 0
      ? 'Nothing ran in the last 24 hours'
      : failed === 0
        ? ended === 1
          ? 'The one run of the last 24 hours succeeded'
          : `All ${number(ended)} runs of the last 24 hours succeeded`
        : `${number(failed)} of ${number(ended)} runs of the last 24 hours failed`
  const now = [
    running > 0 ? `${number(running)} running` : '',
    waiting > 0 ? `${number(waiting)} waiting` : '',
    paused > 0 ? `${number(paused)} ${paused === 1 ? 'job' : 'jobs'} paused` : '',
  ].filter(Boolean)
  return {
    text: [
      ...(still > 0 ? [`${number(still)} ${still === 1 ? 'thing stands' : 'things stand'} still`] : []),
      first,
      ...now,
    ].join(' · '),
    meaning: still > 0 ? 'failed' : ended === 0 ? 'quiet' : failed === 0 ? 'succeeded' : 'failed',
  }
}

const number = (value: number): string => value.toLocaleString('en-GB')

/** A job whose pace is worth a look. */
export interface Pace {
  job: JobSummary
  medianMs: number
  /** The median of the last five runs over that of those before; undefined when there are too few. */
  change: number | undefined
}

const recentRuns = 5
const runsBefore = 5

/** How long each job takes lately, the slowest first. */
export function paces(jobs: readonly JobSummary[]): Pace[] {
  const all = jobs.flatMap((job): Pace[] => {
    const durations = (job.recent?.runs ?? []).flatMap(({ durationMs, status }) =>
      durationMs === null || (status !== 'succeeded' && status !== 'failed') ? [] : [durationMs],
    )
    const lately = median(durations.slice(0, recentRuns))
    if (lately === undefined) return []
    const earlier = durations.slice(recentRuns)
    const before = earlier.length < runsBefore ? undefined : median(earlier)
    return [{ job, medianMs: lately, change: before ? lately / before : undefined }]
  })
  return all.toSorted((one, other) => other.medianMs - one.medianMs)
}

/** Jobs that became at least half as slow again, or half as fast, the greatest change first. */
export function changedPaces(all: readonly Pace[]): Pace[] {
  // Below a tenth of a second a factor of two is noise.
  const isFelt = ({ medianMs, change = 1 }: Pace) => Math.max(medianMs, medianMs / change) >= 100
  const size = (pace: Pace) => Math.abs(Math.log(pace.change ?? 1))
  return all
    .filter((pace) => isFelt(pace) && size(pace) >= Math.log(1.5))
    .toSorted((one, other) => size(other) - size(one))
}

/** The share of runs that succeeded among those that succeeded or failed; undefined when there were none. */
export function rateOf(counts: readonly Pick<PastCount, 'succeeded' | 'failed'>[]): number | undefined {
  const succeeded = counts.reduce((sum, count) => sum + count.succeeded, 0)
  const all = succeeded + counts.reduce((sum, count) => sum + count.failed, 0)
  return all === 0 ? undefined : succeeded / all
}

/** `99.8 %`; never rounded up to all. */
export const rateWords = (rate: number): string => `${Math.floor(rate * 1_000) / 10} %`
