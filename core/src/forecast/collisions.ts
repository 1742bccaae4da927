import { requireScope } from '../access/scope.ts'
import { type Ctx, withRead } from '../db/context.ts'
import type { Uuid } from '../kernel/ids.ts'
import { runBetween } from '../kernel/steps.ts'
import { collisionSteps } from '../schedule/collisions.ts'
import { lookedAtMax, readPlan } from './plan.ts'

/** Many jobs of the project that start at the very same time. */
export interface ProjectCollision {
  /** The first time. */
  at: Date
  /** How often the same jobs meet. */
  times: number
  count: number
  /** At most `namedMax` (20) of them. */
  jobs: { id: Uuid; name: string }[]
  /** A schedule's `window` that spreads them, and the starts a minute it would leave; null where a blackout ends. */
  suggestion: { window: string; perMinute: number } | null
}

/** The times until `untilMs` at which at least `least` jobs of the project start together, worst first, at most 20. */
export async function findProjectCollisions(
  ctx: Ctx,
  { untilMs, least, namedMax = 20 }: { untilMs: number; least: number; namedMax?: number },
): Promise<ProjectCollision[]> {
  requireScope(ctx, 'jobs:read')
  const plan = await withRead(ctx, readPlan)
  if (untilMs <= plan.fromMs) return []
  const found = await runBetween(collisionSteps(plan.jobs, { ...plan, untilMs, least, namedMax, lookedAtMax }))
  return found.map(({ atMs, times, count, suggestion, jobs: places }) => ({
    at: new Date(atMs),
    ...{ times, count, suggestion },
    jobs: places.flatMap((place) => {
      const job = plan.jobs[place]
      return job === undefined ? [] : [{ id: job.id, name: job.name }]
    }),
  }))
}
