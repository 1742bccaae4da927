import { createPool } from '@meridian/core/db/client'
import { migrate } from '@meridian/core/db/migrate'
import { createJob } from '@meridian/core/job/create'
import type { Run } from '@meridian/core/run/run'
import { sampleJob } from '@meridian/core/testing/job-samples'
import { startOwnPostgres } from '@meridian/core/testing/test-db'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type RedisServer, startRedisServer } from './redis-server.ts'
import { startTarget, type Target } from './target.ts'
import { startWorkerProcess, type WorkerProcess } from './worker-process.ts'
import { type Bench, createBench, ended, targetOf } from './workers.ts'

let bench: Bench
let target: Target
/** Paths that are answered only when they are released, in the order of their requests. */
let gates: Map<string, (() => void)[]>
const processes: WorkerProcess[] = []

async function open(options: Parameters<typeof createBench>[0] = {}): Promise<void> {
  bench = await createBench({ ...options, environment: { LEASE_SECONDS: '2', ...options.environment } })
}
const spawn = async (
  ...[roles, more]: [Parameters<typeof startWorkerProcess>[0], Record<string, string>?]
): Promise<WorkerProcess> => {
  const started = await startWorkerProcess(roles, { ...bench.environment, ...more })
  processes.push(started)
  return started
}

beforeEach(async () => {
  gates = new Map()
  target = await startTarget(({ path }, response) => {
    const gate = gates.get(path)
    if (gate === undefined) response.end('ok')
    else gate.push(() => response.end('ok'))
  })
})
afterEach(async () => {
  for (const each of processes.splice(0)) {
    each.signal('SIGCONT')
    each.signal('SIGKILL')
    await each.exited
  }
  await bench.close()
  await target.close()
})

const at = (path: string) => ({ target: targetOf(`${target.url}${path}`) })
const requestsTo = (path: string) => target.received.filter((request) => request.path === path)
const until = async (isTrue: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 10))
}
const count = (text: string): Promise<number> =>
  bench.db.owner
    .query<{ n: number }>(`select count(*)::int as n from ${text}`)
    .then((result) => result.rows[0]?.n ?? -1)
const allSucceed = async (runs: Run[]): Promise<Run[]> => {
  const all = await Promise.all(runs.map((run) => ended(bench.ctx, run.id, 25_000)))
  expect(new Set(all.map((run) => run.status))).toEqual(new Set(['succeeded']))
  expect(
    await count(
      "(select subject from events where type in ('run.succeeded', 'run.failed') group by 1 having count(*) > 1) x",
    ),
  ).toBe(0)
  expect(await count('held')).toBe(0)
  return all
}

describe('an executor', () => {
  it('frozen beyond its lease: another performs the run, and what it reports when it thaws is refused', async () => {
    await open()
    gates.set('/frozen', [])
    const frozen = await spawn(['executor'])
    await bench.startWorkers('dispatcher', 'reaper')
    const [run] = await bench.accept(at('/frozen'))
    await until(() => requestsTo('/frozen').length === 1)
    frozen.signal('SIGSTOP')
    await bench.startWorkers('executor')
    await until(() => requestsTo('/frozen').length === 2)
    gates.get('/frozen')?.[1]?.()
    expect(await ended(bench.ctx, run?.id ?? '')).toMatchObject({ status: 'succeeded', attempt: 2, fence: 2 })
    gates.get('/frozen')?.[0]?.()
    frozen.signal('SIGCONT')
    gates.delete('/frozen')
    await frozen.logged('reports came too late and were refused')
    expect(await ended(bench.ctx, run?.id ?? '')).toMatchObject({ status: 'succeeded', attempt: 2, fence: 2 })
    await allSucceed(run === undefined ? [] : [run])
    // The thawed one is well, and its queued work went elsewhere.
    await allSucceed(await bench.accept(...Array.from({ length: 20 }, (_, index) => at(`/after/${index}`))))
    expect(new Set(target.received.map((request) => request.path)).size).toBe(21)
  })

  it('that gets a run again while its own lost attempt is still going on keeps the new one', async () => {
    await open()
    gates.set('/again', [])
    await bench.startWorkers('dispatcher', 'executor', 'reaper')
    const [run] = await bench.accept(at('/again'))
    await until(() => requestsTo('/again').length === 1)
    await bench.db.owner.query("update held set lease_until = clock_timestamp() - interval '1 second'")
    await until(() => requestsTo('/again').length === 2)
    gates.get('/again')?.[0]?.()
    // Longer than a lease: it must be renewed, though the end of the old attempt has been seen.
    const { rows } = await bench.db.owner.query<{ attempt: number }>('select pg_sleep(3), (select attempt from held)')
    expect(rows[0]?.attempt).toBe(2)
    gates.get('/again')?.[1]?.()
    expect(await ended(bench.ctx, run?.id ?? '')).toMatchObject({ status: 'succeeded', attempt: 2 })
    expect(requestsTo('/again')).toHaveLength(2)
  })

  it('told to stop finishes what has begun, hands back what has not, and no attempt is lost', async () => {
    await open()
    gates.set('/begun', [])
    const leaving = await spawn(['executor'], { EXECUTOR_CAPACITY: '1' })
    await bench.startWorkers('dispatcher', 'reaper')
    const runs = await bench.accept(at('/begun'), ...Array.from({ length: 5 }, (_, index) => at(`/waiting/${index}`)))
    await until(async () => requestsTo('/begun').length === 1 || requestsTo('/waiting/0').length > 0)
    await until(async () => (await count('held where state = 3')) >= 1)
    leaving.signal('SIGTERM')
    await leaving.logged('stopping')
    await bench.startWorkers('executor')
    const began = performance.now()
    const others = await Promise.all(runs.slice(1).map((run) => ended(bench.ctx, run.id)))
    expect(performance.now() - began).toBeLessThan(2_000)
    expect(others.every((run) => run.status === 'succeeded' && run.attempt === 1)).toBe(true)
    await until(() => (gates.get('/begun')?.length ?? 0) > 0)
    for (const release of gates.get('/begun') ?? []) release()
    gates.delete('/begun')
    expect(await leaving.exited).toBe(0)
    for (const run of await allSucceed(runs)) expect(run.attempt).toBe(1)
    expect(target.received).toHaveLength(6)
  })
})

describe('Redis', () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await startRedisServer()
  })
  afterAll(() => redis.stop())

  it('emptied again and again under load: everything runs, once each', async () => {
    await open({ redisUrl: redis.url })
    await bench.startWorkers('dispatcher', 'executor', 'reaper')
    const runs: Run[] = []
    for (let round = 0; round < 6; round++) {
      runs.push(...(await bench.accept(...Array.from({ length: 50 }, (_, index) => at(`/load/${round}/${index}`)))))
      await bench.publisher.flushall()
    }
    await allSucceed(runs)
    expect(new Set(target.received.map((request) => request.path)).size).toBe(300)
    expect(target.received).toHaveLength(300)
  })

  it('down for a while: creates go on, and what is due meanwhile runs when it is back', async () => {
    await open({ redisUrl: redis.url })
    await bench.startWorkers('scheduler', 'dispatcher', 'executor', 'reaper', 'relay')
    await allSucceed(await bench.accept(at('/before')))
    await redis.stop()
    const runs = await bench.accept(at('/during/0'), at('/during/1'), {
      ...at('/due'),
      dueAt: new Date(Date.now() + 1_500),
    })
    await bench.db.owner.query('select pg_sleep(1)')
    expect(target.received).toHaveLength(1)
    await redis.start()
    const began = performance.now()
    await allSucceed(runs)
    expect(performance.now() - began).toBeLessThan(10_000)
    // Nothing else happens; a run far enough away that nobody is awake for it still starts on time.
    const dueAt = new Date(Date.now() + 1_200)
    const [last] = await bench.accept({ ...at('/quiet'), dueAt })
    await allSucceed(last === undefined ? [] : [last])
    expect((requestsTo('/quiet')[0]?.atMs ?? 0) - dueAt.getTime()).toBeLessThan(2_000)
    expect((requestsTo('/quiet')[0]?.atMs ?? 0) - dueAt.getTime()).toBeGreaterThanOrEqual(0)
  })
})

describe('Redis, frozen', () => {
  it('does not take what it is given: the runs wait again where they are safe, no attempt spent', async () => {
    const redis = await startRedisServer()
    try {
      await open({ redisUrl: redis.url })
      await bench.startWorkers('dispatcher', 'executor', 'reaper')
      await allSucceed(await bench.accept(at('/before')))
      redis.freeze()
      const runs = await bench.accept(at('/frozen/0'), at('/frozen/1'))
      await until(async () => (await count('held')) === 2)
      await until(async () => (await count('ready')) === 2)
      redis.thaw()
      for (const run of await allSucceed(runs)) expect(run.attempt).toBe(1)
      expect(target.received).toHaveLength(3)
      await bench.close()
    } finally {
      redis.thaw()
      await redis.stop()
    }
    await open()
  })
})

describe('Postgres', () => {
  it('crashing under load: what was accepted ends, once each, and the workers live on', async () => {
    const postgres = await startOwnPostgres()
    try {
      await open({ postgresUrl: postgres.url })
      await bench.startWorkers('scheduler', 'dispatcher', 'executor', 'reaper', 'relay', 'janitor')
      const runs: Run[] = []
      for (let round = 0; round < 2; round++) {
        runs.push(...(await bench.accept(...Array.from({ length: 60 }, (_, index) => at(`/crash/${round}/${index}`)))))
        await until(() => target.received.length > round * 60 + 5)
        await postgres.crash()
      }
      runs.push(...(await bench.accept(...Array.from({ length: 20 }, (_, index) => at(`/after/${index}`)))))
      const all = await allSucceed(runs)
      expect(new Set(target.received.map((request) => request.path)).size).toBe(140)
      // Attempts are at least once: a report that the crash swallowed is made again, not the attempt.
      expect(all.filter((run) => run.attempt === 1).length).toBeGreaterThan(100)
      await bench.close()
    } finally {
      await postgres.stop()
    }
    await open()
  })

  it('that is not migrated yet is waited for', async () => {
    await open()
    await bench.db.owner.query('create database unmigrated')
    const url = (text: string): string => text.replace(/\/[^/]*$/, '/unmigrated')
    try {
      const early = await spawn(['scheduler', 'dispatcher', 'executor', 'reaper', 'relay', 'janitor'], {
        ENGINE_DATABASE_URL: url(bench.db.engineUrl),
      })
      await early.logged('a pass failed')
      await migrate(url(bench.db.ownerUrl))
      const owner = createPool({ url: url(bench.db.ownerUrl), max: 1, applicationName: 'looking' })
      await until(async () => (await owner.query('select from executors')).rowCount === 1)
      await owner.end()
      const seen = early.lines.length
      early.signal('SIGTERM')
      expect(await early.exited).toBe(0)
      expect(early.lines.length).toBeGreaterThan(seen)
    } finally {
      await bench.db.owner.query('drop database unmigrated with (force)')
    }
  })
})

describe('many at once', () => {
  it('two of every role, two thousand runs and a schedule: none lost, none doubled, one outcome an instant', async () => {
    await open({ environment: { LEASE_SECONDS: '15' } })
    const roles = ['scheduler', 'dispatcher', 'executor', 'relay', 'reaper', 'janitor'] as const
    await Promise.all([bench.startWorkers(...roles), bench.startWorkers(...roles)])
    const job = await createJob(
      bench.ctx,
      sampleJob({
        target: { type: 'http', url: `${target.url}/tick` },
        schedule: { type: 'every', every: 'PT1S' },
        overlap: 'allow',
      }),
    )
    const runs: Run[] = []
    for (let round = 0; round < 10; round++) {
      runs.push(
        ...(await bench.accept(
          ...Array.from({ length: 200 }, (_, index) => ({
            ...at(`/many/${round}/${index}`),
            ...(index % 4 === 0 ? { dueAt: new Date(Date.now() + index * 5) } : {}),
          })),
        )),
      )
    }
    const all = await Promise.all(runs.map((run) => ended(bench.ctx, run.id, 28_000)))
    expect(all.every((run) => run.status === 'succeeded' && run.attempt === 1)).toBe(true)
    const paths = target.received.map((request) => request.path).filter((path) => path.startsWith('/many/'))
    expect(paths).toHaveLength(2_000)
    expect(new Set(paths).size).toBe(2_000)
    await until(() => requestsTo('/tick').length >= 3)
    const instants = requestsTo('/tick').map((request) => request.headers['meridian-nominal-at'])
    expect(new Set(instants).size).toBe(instants.length)
    expect(
      await count(
        `(select job_id, nominal_at from occurrences where job_id = '${job.id}' group by 1, 2 having count(*) > 1) x`,
      ),
    ).toBe(0)
    expect(
      await count("(select subject from events where type = 'run.succeeded' group by 1 having count(*) > 1) x"),
    ).toBe(0)
  })
})
