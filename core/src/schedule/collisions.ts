import { type ExpandOptions, expandSchedules, type JobTiming } from './expand.ts'

/** Many jobs that start at the very same time. */
export interface Collision {
  readonly atMs: number
  readonly count: number
  /** Some of them, by their place in the list. */
  readonly jobs: readonly number[]
  /** The shortest window that spreads them well, as a schedule's `window`, and what it would leave per minute. */
  readonly suggestion: { readonly window: string; readonly perMinute: number }
}

export interface CollisionOptions extends ExpandOptions {
  /** Fewer jobs at one time are no collision (default 10). */
  readonly least?: number
  /** Starts per minute that are no trouble (default 10). */
  readonly perMinute?: number
  /** The most collisions to tell, the worst first (default 20). */
  readonly most?: number
}

const namedMax = 20
const windows = [1, 5, 10, 15, 30, 60, 120, 240]

/** The times at which the most jobs start together, worst first, each with a way to spread them. */
export function findCollisions(jobs: readonly JobTiming[], options: CollisionOptions): Collision[] {
  const { least = 10, perMinute = 10, most = 20 } = options
  const counts = new Map<number, number>()
  const found: { jobs: readonly number[]; atMs: readonly number[] }[] = []
  for (const result of expandSchedules(jobs, options)) {
    if ('failure' in result) continue
    found.push(result.starts)
    for (const at of result.starts.atMs) counts.set(at, (counts.get(at) ?? 0) + result.starts.jobs.length)
  }
  const worst = [...counts]
    .filter(([, count]) => count >= least)
    .sort(([firstAt, first], [secondAt, second]) => second - first || firstAt - secondAt)
    .slice(0, most)
  const named = new Map<number, number[]>(worst.map(([at]) => [at, []]))
  for (const starts of found)
    for (const at of starts.atMs) {
      const list = named.get(at)
      if (list && list.length < namedMax) list.push(...starts.jobs.slice(0, namedMax - list.length))
    }
  return worst.map(([atMs, count]) => {
    const minutes = windows.find((length) => count / length <= perMinute) ?? windows.at(-1) ?? 1
    return {
      atMs,
      count,
      jobs: named.get(atMs) ?? [],
      suggestion: { window: `PT${minutes}M`, perMinute: Math.ceil(count / minutes) },
    }
  })
}
