import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withRead } from '../db/context.ts'
import { AppError } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { runBetween } from '../kernel/steps.ts'
import { expandSchedules } from '../schedule/expand.ts'
import { type Plan, readPlan } from './plan.ts'

/** The starts to come that fall into a stretch of time: those that a blackout in its place decides about. */
export interface Affected {
  starts: number
  jobCount: number
  /** Of the caller's project, at most 20, those with the most starts first. */
  jobs: { id: Uuid; name: string; starts: number }[]
  /** Jobs whose schedules have too many instants to be counted. */
  uncountedJobs: number
}

export interface Stretch {
  fromAt: Date
  untilAt: Date
  /** In all projects of the tenant. */
  isForAll: boolean
  /** A blackout that is there already and counts as if it were not. */
  blackoutId?: Uuid | undefined
}

const namedMax = 20
/** Occurrences looked at in all projects together: a second of computing. */
const lookedAtMax = 1_000_000

/**
 * What a blackout from `fromAt` until `untilAt` would decide about from now on. What a person moved into the stretch is
 * not held back by it, and is not counted. Throws `forbidden` when a key asks about all projects.
 */
export async function affectedBy(ctx: Ctx, stretch: Stretch): Promise<Affected> {
  requireScope(ctx, 'jobs:read')
  if (stretch.isForAll && ctx.actor.type === 'key')
    throw new AppError('forbidden', 'Blackouts of all projects are set by people, not by API keys.')
  const plans = await withRead(ctx, async (tx) => {
    const projectIds = stretch.isForAll ? await projectsOf(tx) : [tx.projectId]
    const plans: { projectId: Uuid; plan: Plan }[] = []
    for (const projectId of projectIds) plans.push({ projectId, plan: await readPlan(tx, projectId) })
    return plans
  })
  const all: Affected = { starts: 0, jobCount: 0, jobs: [], uncountedJobs: 0 }
  for (const { projectId, plan } of plans) {
    const fromMs = Math.max(plan.fromMs, stretch.fromAt.getTime())
    const untilMs = stretch.untilAt.getTime()
    if (untilMs <= fromMs) continue
    const found = await runBetween(countSteps(plan, { fromMs, untilMs, blackoutId: stretch.blackoutId }))
    all.uncountedJobs += found.uncountedJobs
    all.jobCount += found.starts.size
    for (const [place, starts] of found.starts) {
      all.starts += starts
      const job = plan.jobs[place]
      if (job !== undefined && projectId === ctx.projectId) all.jobs.push({ id: job.id, name: job.name, starts })
    }
  }
  all.jobs.sort((a, b) => b.starts - a.starts || (a.name < b.name ? -1 : 1)).splice(namedMax)
  return all
}

interface Counted {
  /** By the job's place in the plan. */
  starts: Map<number, number>
  uncountedJobs: number
}

function* countSteps(
  plan: Plan,
  { fromMs, untilMs, blackoutId }: { fromMs: number; untilMs: number; blackoutId: Uuid | undefined },
): Generator<undefined, Counted, undefined> {
  const counted: Counted = { starts: new Map(), uncountedJobs: 0 }
  const jobs = plan.jobs.map((job) => ({ ...job, ledger: job.ledger && { ...job.ledger, movedMs: [] } }))
  const blackouts = plan.blackouts.filter(({ id }) => id !== blackoutId)
  for (const found of expandSchedules(jobs, { ...plan, blackouts, fromMs, untilMs, lookedAtMax })) {
    yield
    if (found === undefined) continue
    if ('failure' in found) counted.uncountedJobs += found.failure.jobs.length
    else if (found.starts.atMs.length > 0)
      for (const place of found.starts.jobs)
        counted.starts.set(place, (counted.starts.get(place) ?? 0) + found.starts.atMs.length)
  }
  return counted
}

async function projectsOf(tx: Tx): Promise<Uuid[]> {
  const rows = await runNamed<[Uuid]>(tx.client, 'projects_of_tenant', 'select id from projects where tenant_id = $1', [
    tx.tenantId,
  ])
  return rows.map(([id]) => id)
}
