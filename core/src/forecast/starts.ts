import { LRUCache } from 'lru-cache'
import { requireScope } from '../access/scope.ts'
import { type Ctx, withRead } from '../db/context.ts'
import { runBetween } from '../kernel/steps.ts'
import { type Forecast, forecastSteps } from '../schedule/forecast.ts'
import { countOneOffs, lookedAtMax, readPlan } from './plan.ts'

/** How many runs start in consecutive slices of time. */
export interface Starts {
  from: Date
  bucketMs: number
  counts: number[]
  /** Jobs whose schedules have too many instants to be counted. */
  uncountedJobs: number
}

// The same picture is asked for again and again; it is computed once a minute, and when a schedule changes.
const known = new LRUCache<string, Promise<Forecast>>({ max: 100 })

/**
 * How many runs will start from the minute that is going on until `untilMs`, in `buckets` equal slices: exact, since
 * schedules, calendars and blackouts are known, and with runs that were given an instant of their own.
 */
export async function countStarts(ctx: Ctx, range: { untilMs: number; buckets: number }): Promise<Starts> {
  requireScope(ctx, 'jobs:read')
  const { plan, bucketMs, oneOffs } = await withRead(ctx, async (tx) => {
    const plan = await readPlan(tx)
    const bucketMs = Math.max(1, (range.untilMs - plan.bucketsFromMs) / range.buckets)
    return { plan, bucketMs, oneOffs: await countOneOffs(tx, { ...plan, bucketMs, size: range.buckets }) }
  })
  const untilMs = plan.bucketsFromMs + bucketMs * range.buckets
  const { total, failures } = await computeOnce(known, `${plan.stamp},${bucketMs},${range.buckets}`, () =>
    runBetween(forecastSteps(plan.jobs, { ...plan, untilMs, bucketMs, lookedAtMax })),
  )
  return {
    from: new Date(plan.bucketsFromMs),
    bucketMs,
    counts: oneOffs.map((count, bucket) => count + (total.starts[bucket] ?? 0)),
    uncountedJobs: failures.reduce((sum, failure) => sum + failure.jobs.length, 0),
  }
}

/** What is asked for while it is being computed is not computed twice. */
export function computeOnce<Value>(
  cache: LRUCache<string, Promise<Value>>,
  key: string,
  compute: () => Promise<Value>,
): Promise<Value> {
  const running = cache.get(key)
  if (running !== undefined) return running
  const made = compute().catch((error: unknown) => {
    cache.delete(key)
    throw error
  })
  cache.set(key, made)
  return made
}
