import type { Run } from '@meridian/core/run/run'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type RedisServer, startRedisServer } from './redis-server.ts'
import { openScene, until } from './scene.ts'

describe('Redis', () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await startRedisServer()
  })
  afterAll(() => redis.stop())

  it('emptied again and again under load: everything runs, once each', async () => {
    const scene = await openScene({ redisUrl: redis.url })
    await scene.bench.startWorkers('dispatcher', 'executor', 'reaper')
    const runs: Run[] = []
    for (let round = 0; round < 6; round++) {
      runs.push(
        ...(await scene.bench.accept(...Array.from({ length: 50 }, (_, index) => scene.at(`/load/${round}/${index}`)))),
      )
      await scene.bench.publisher.flushall()
    }
    await scene.allSucceed(runs)
    expect(new Set(scene.target.received.map((request) => request.path)).size).toBe(300)
    expect(scene.target.received).toHaveLength(300)
  })

  it('O-47: down for a while: creates go on, and what is due meanwhile runs when it is back', async () => {
    const scene = await openScene({ redisUrl: redis.url })
    await scene.bench.startWorkers('scheduler', 'dispatcher', 'executor', 'reaper', 'relay')
    await scene.allSucceed(await scene.bench.accept(scene.at('/before')))
    // Whoever was to be woken for it is asleep when Redis goes, and nothing else wakes anybody afterwards.
    const [ahead] = await scene.bench.accept({ ...scene.at('/ahead'), dueAt: new Date(Date.now() + 6_000) })
    await redis.stop()
    const runs = await scene.bench.accept(scene.at('/during/0'), scene.at('/during/1'), {
      ...scene.at('/due'),
      dueAt: new Date(Date.now() + 1_500),
    })
    await scene.bench.db.owner.query('select pg_sleep(1)')
    expect(scene.target.received).toHaveLength(1)
    await redis.start()
    const began = performance.now()
    await scene.allSucceed(runs)
    expect(performance.now() - began).toBeLessThan(10_000)
    await scene.allSucceed(ahead === undefined ? [] : [ahead])
    // Nothing else happens; a run far enough away that nobody is awake for it still starts on time.
    const dueAt = new Date(Date.now() + 1_200)
    const [last] = await scene.bench.accept({ ...scene.at('/quiet'), dueAt })
    await scene.allSucceed(last === undefined ? [] : [last])
    expect((scene.requestsTo('/quiet')[0]?.atMs ?? 0) - dueAt.getTime()).toBeLessThan(2_000)
    expect((scene.requestsTo('/quiet')[0]?.atMs ?? 0) - dueAt.getTime()).toBeGreaterThanOrEqual(0)
  })
})

describe('Redis, frozen', () => {
  it('does not take what it is given: the runs wait again where they are safe, no attempt spent', async () => {
    const redis = await startRedisServer()
    onTestFinished(async () => {
      redis.thaw()
      await redis.stop()
    })
    const scene = await openScene({ redisUrl: redis.url })
    await scene.bench.startWorkers('dispatcher', 'executor', 'reaper')
    await scene.allSucceed(await scene.bench.accept(scene.at('/before')))
    redis.freeze()
    const runs = await scene.bench.accept(scene.at('/frozen/0'), scene.at('/frozen/1'))
    await until(async () => (await scene.count('held')) === 2)
    await until(async () => (await scene.count('ready')) === 2)
    redis.thaw()
    for (const run of await scene.allSucceed(runs)) expect(run.attempt).toBe(1)
    expect(scene.target.received).toHaveLength(3)
  })
})
