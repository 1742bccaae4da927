import { type Pool, runNamed } from '../db/client.ts'
import { type Tx, withRead } from '../db/context.ts'
import { systemCtx } from '../job/keep.ts'
import { nilUuid, type Uuid } from '../kernel/ids.ts'
import { runBetween } from '../kernel/steps.ts'
import { measuredDurations } from '../run/durations.ts'
import { forecastSteps } from '../schedule/forecast.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { countOneOffs, lookedAtMax, type Plan, type PlannedJob, readPlan } from './plan.ts'

/** What the schedules of an organisation will do, in all of its projects together. */
export interface TenantLoad {
  tenantId: Uuid
  slug: string
  /** The most that it may have going on at once in a pool. */
  capacity: number | null
  /** Runs that start, slice by slice: exact. */
  starts: number[]
  /** Runs that are going on, on average over each slice, by the measured durations of their jobs. */
  running: number[]
  jobs: number
  unmeasuredJobs: number
  uncountedJobs: number
}

export interface TenantRange {
  shard: number
  /** The slices: the first begins here. */
  fromMs: number
  bucketMs: number
  size: number
}

const chunk = 1_000

/**
 * The load that comes, by organisation: those of a shard that have anything to start, one after the other, so that memory
 * holds one of them. Projects with a test clock are in a time of their own and left out. For operators: reads as the engine.
 */
export async function* forecastTenants(
  engine: Pool,
  keyRing: KeyRing,
  range: TenantRange,
): AsyncGenerator<TenantLoad, void, undefined> {
  const tenants = await runNamed<[Uuid, string, number | null, Uuid[]]>(
    engine,
    'tenants_of_shard',
    `select t.id, t.slug, (select l.concurrency from limits l where l.tenant_id = t.id and l.queue_id = '${nilUuid}'),
       array(select p.id from projects p where p.tenant_id = t.id and not p.has_test_clock)
     from tenants t where t.shard_id = $1 order by t.slug`,
    [range.shard],
  )
  for (const [tenantId, slug, capacity, projectIds] of tenants) {
    const load: TenantLoad = {
      ...{ tenantId, slug, capacity, jobs: 0, unmeasuredJobs: 0, uncountedJobs: 0 },
      starts: new Array<number>(range.size).fill(0),
      running: new Array<number>(range.size).fill(0),
    }
    for (const projectId of projectIds) {
      const project = systemCtx(engine, keyRing, [tenantId, projectId])
      await add(load, await withRead(project, (tx) => readProject(tx, range)), range)
    }
    if (load.jobs > 0 || load.starts.some((count) => count > 0)) yield load
  }
}

type Weighed = PlannedJob & { durationMs?: number }

interface ProjectPlan {
  plan: Plan
  jobs: readonly Weighed[]
  oneOffs: readonly number[]
}

async function readProject(tx: Tx, { fromMs, bucketMs, size }: TenantRange): Promise<ProjectPlan> {
  const plan = await readPlan(tx)
  const oneOffs = await countOneOffs(tx, { bucketsFromMs: fromMs, bucketMs, size })
  return { plan, oneOffs, jobs: await withDurations(tx, plan.jobs) }
}

/** Computes what a project will do, without a transaction, which would hold up the cleaning of tables meanwhile. */
async function add(load: TenantLoad, { plan, jobs, oneOffs }: ProjectPlan, range: TenantRange): Promise<void> {
  const { fromMs, bucketMs, size } = range
  const untilMs = fromMs + size * bucketMs
  const { total, failures } = await runBetween(
    forecastSteps(jobs, { ...plan, bucketsFromMs: fromMs, untilMs, bucketMs, lookedAtMax }),
  )
  for (let slice = 0; slice < size; slice++) {
    load.starts[slice] = (load.starts[slice] ?? 0) + (total.starts[slice] ?? 0) + (oneOffs[slice] ?? 0)
    load.running[slice] = (load.running[slice] ?? 0) + (total.running[slice] ?? 0)
  }
  load.jobs += jobs.length
  load.unmeasuredJobs += jobs.filter(({ durationMs }) => durationMs === undefined).length
  load.uncountedJobs += failures.reduce((sum, failure) => sum + failure.jobs.length, 0)
}

async function withDurations(tx: Tx, jobs: readonly PlannedJob[]): Promise<Weighed[]> {
  const weighed: Weighed[] = []
  for (let start = 0; start < jobs.length; start += chunk) {
    const some = jobs.slice(start, start + chunk)
    const measured = await measuredDurations(
      tx,
      some.map(({ id }) => id),
    )
    for (const job of some) {
      const durations = measured.get(job.id)
      weighed.push(durations === undefined ? job : { ...job, durationMs: durations.meanMs })
    }
  }
  return weighed
}
