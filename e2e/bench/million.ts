import { Redis } from 'ioredis'
import { sleep, waitFor } from '../wait.ts'
import { acceptOneByOne } from './accept.ts'
import type { Benchmark, Measure } from './benchmark.ts'
import { coresUsed, readCpu } from './cpu.ts'
import { drainMeridian } from './http-runs.ts'
import type { Lab } from './lab.ts'
import { ahead } from './lateness.ts'
import { Meridian, runBody } from './meridian.ts'

/** The figures that must not change when the tables fill up. */
export async function usualFigures(lab: Lab): Promise<Measure[]> {
  const [drain] = await drainMeridian(lab, Math.min(50_000, lab.profile.runs))
  const [accept] = await acceptOneByOne(lab, false)
  const late = (await ahead(lab, 1_000)).find(({ metric }) => metric === 'ahead-1000.p99')
  return [
    { metric: 'http-runs', value: drain?.value ?? Number.NaN, unit: 'runs/s' },
    { metric: 'accept', value: accept?.value ?? Number.NaN, unit: 'runs/s' },
    { metric: 'lateness.p99', value: late?.value ?? Number.NaN, unit: 'ms' },
  ]
}

/** Accepts the future runs through the front door, and says how fast. */
export async function scheduleFar(lab: Lab): Promise<Measure> {
  const meridian = new Meridian(await lab.stack())
  const { url } = await lab.target()
  const count = lab.profile.futureRuns
  const day = 86_400_000
  const dueAt = (index: number) =>
    new Date(Date.now() + 30 * day + Math.floor((index / count) * 30 * day)).toISOString()
  try {
    const start = performance.now()
    await meridian.acceptBatches(count, (index) => runBody(index, url, { dueAt: dueAt(index) }))
    return { metric: 'schedule', value: (count * 1_000) / (performance.now() - start), unit: 'runs/s' }
  } finally {
    await meridian.close()
  }
}

/** Fills the future and says what each run of it takes. */
async function fill(lab: Lab): Promise<Measure[]> {
  const stack = await lab.stack()
  const meridian = new Meridian(stack)
  const redis = new Redis(stack.redisUrl)
  const count = lab.profile.futureRuns
  try {
    const before = { disk: await diskBytes(meridian), redis: await redisBytes(redis) }
    const scheduled = await scheduleFar(lab)
    await settle(meridian)
    return [
      scheduled,
      { metric: 'disk', value: ((await diskBytes(meridian)) - before.disk) / count, unit: 'bytes/run' },
      { metric: 'redis', value: Math.round(((await redisBytes(redis)) - before.redis) / count), unit: 'bytes/run' },
      ...(await idleCpu(lab)),
    ]
  } finally {
    redis.disconnect()
    await meridian.close()
  }
}

export async function diskBytes(meridian: Meridian): Promise<number> {
  const [row] = await meridian.query<{ bytes: number }>(
    `select sum(pg_table_size(oid) + pg_indexes_size(oid))::float8 as bytes
     from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  )
  return row?.bytes ?? Number.NaN
}

async function redisBytes(redis: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1])
}

/** Waits until Postgres has analysed and vacuumed what was loaded: that is paid once, not while idle. */
export async function settle(meridian: Meridian): Promise<void> {
  await meridian.query('checkpoint')
  await meridian.query('vacuum analyze')
  const working = "select 1 from pg_stat_activity where backend_type = 'autovacuum worker' limit 1"
  const isCalm = async () => (await meridian.query(working)).length === 0
  await waitFor('autovacuum to end', isCalm, { timeoutMs: 300_000, everyMs: 1_000 })
}

async function idleCpu(lab: Lab): Promise<Measure[]> {
  const stack = await lab.stack()
  const groups = {
    workers: [...stack.pids('engine'), ...stack.pids('executor')],
    postgres: stack.pids('postgres'),
    redis: stack.pids('redis'),
  }
  await sleep(2_000)
  const before = readCpu(groups)
  await sleep(Math.max(5, lab.profile.seconds) * 1_000)
  const { workers = 0, postgres = 0, redis = 0 } = coresUsed(before, readCpu(groups))
  return [
    { metric: 'idle-cpu', value: workers + postgres + redis, unit: 'cores' },
    { metric: 'idle-cpu-workers', value: workers, unit: 'cores' },
    { metric: 'idle-cpu-postgres', value: postgres, unit: 'cores' },
    { metric: 'idle-cpu-redis', value: redis, unit: 'cores' },
  ]
}

export const million: Benchmark = {
  title: 'The same figures with a million runs scheduled for next month, and what each of those takes',
  contenders: [
    { name: 'before', round: usualFigures },
    { name: 'meridian', round: async (lab) => [...(await fill(lab)), ...(await usualFigures(lab))] },
  ],
  rounds: 1,
}
