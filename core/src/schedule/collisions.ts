import { runThrough } from '../kernel/steps.ts'
import { type ExpandOptions, expandSchedules, type JobTiming, type Starts } from './expand.ts'

/** Many jobs that start at the very same time, once or again and again. */
export interface Collision {
  /** The first time. */
  readonly atMs: number
  /** How often the same jobs meet. */
  readonly times: number
  readonly count: number
  /** Some of them, by their place in the list. */
  readonly jobs: readonly number[]
  /**
   * The shortest window that spreads them well, as a schedule's `window`, and what it would leave per minute; null where
   * a blackout ends that they waited for, since what a window delays waits for it all the same.
   */
  readonly suggestion: { readonly window: string; readonly perMinute: number } | null
}

export interface CollisionOptions extends ExpandOptions {
  /** Fewer jobs at one time are no collision (default 10). */
  readonly least?: number
  /** Starts per minute that are no trouble (default 10). */
  readonly perMinute?: number
  /** The most collisions to tell, the worst first (default 20). */
  readonly most?: number
  /** The most jobs to name of each (default 20). */
  readonly namedMax?: number
}

const windows = [1, 5, 10, 15, 30, 60, 120, 240]

/** The times at which the most jobs start together, worst first, each with a way to spread them. */
export const findCollisions = (jobs: readonly JobTiming[], options: CollisionOptions): Collision[] =>
  runThrough(collisionSteps(jobs, options))

/** The same in steps, for whoever has something else to do between them. */
export function* collisionSteps(
  jobs: readonly JobTiming[],
  options: CollisionOptions,
): Generator<undefined, Collision[], undefined> {
  const { least = 10, perMinute = 10, most = 20, namedMax = 20 } = options
  const found: Starts[] = []
  const moments = new Map<number, Moment>()
  for (const result of expandSchedules(jobs, options)) {
    yield
    if (result === undefined || 'failure' in result) continue
    found.push(result.starts)
    const meeting = { count: result.starts.jobs.length, print: printOf(result.starts.jobs) }
    // A job that a blackout held back more than once meets nobody but itself there.
    for (const at of new Set(result.starts.atMs)) meet(moments, at, meeting)
  }
  const worst = gather(moments, least)
    .sort((a, b) => b.count - a.count || a.atMs - b.atMs)
    .slice(0, most)
  const named = new Map<number, number[]>(worst.map(({ atMs }) => [atMs, []]))
  for (const starts of found)
    for (const at of new Set(starts.atMs)) {
      const list = named.get(at)
      if (list && list.length < namedMax) list.push(...starts.jobs.slice(0, namedMax - list.length))
    }
  const ends = new Set((options.blackouts ?? []).filter(({ roll }) => roll === 'next').map(({ untilMs }) => untilMs))
  return worst.map(({ atMs, times, count }) => {
    const minutes = windows.find((length) => count / length <= perMinute) ?? windows.at(-1) ?? 1
    const suggestion = ends.has(atMs) ? null : { window: `PT${minutes}M`, perMinute: Math.ceil(count / minutes) }
    return { atMs, times, count, jobs: named.get(atMs) ?? [], suggestion }
  })
}

interface Moment {
  count: number
  /** Of those that meet, in whatever order they were found: the same jobs give the same. */
  print: number
}

function printOf(jobs: readonly number[]): number {
  let print = 0
  for (const job of jobs) {
    let mixed = Math.imul(job ^ (job >>> 16), 0x7feb352d)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b)
    print = (print + (mixed ^ (mixed >>> 16))) >>> 0
  }
  return print
}

function meet(moments: Map<number, Moment>, at: number, meeting: Readonly<Moment>): void {
  const moment = moments.get(at)
  if (moment === undefined) {
    moments.set(at, { ...meeting })
    return
  }
  moment.count += meeting.count
  moment.print = (moment.print + meeting.print) >>> 0
}

/** Moments at which the same jobs meet, as one. */
function gather(moments: ReadonlyMap<number, Moment>, least: number): { atMs: number; times: number; count: number }[] {
  const met = new Map<string, { atMs: number; times: number; count: number }>()
  for (const [atMs, { count, print }] of moments) {
    if (count < least) continue
    const key = `${count} ${print}`
    const same = met.get(key)
    if (same === undefined) met.set(key, { atMs, times: 1, count })
    else {
      same.times++
      same.atMs = Math.min(same.atMs, atMs)
    }
  }
  return [...met.values()]
}
