import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { RateLimiter } from '../src/http/rate-limit.ts'
import { type Problem, startTestApi } from './api.ts'
import { startRedis } from './redis.ts'

const connect = (url: string) => {
  const redis = new Redis(url, { enableOfflineQueue: false, maxRetriesPerRequest: 0, commandTimeout: 250 })
  redis.on('error', () => undefined)
  return redis
}

describe('RateLimiter', () => {
  let redis: Redis
  beforeAll(async () => {
    redis = connect(inject('redisUrl'))
    await new Promise((resolve) => redis.once('ready', resolve))
  })
  afterAll(() => redis.disconnect())
  const limiterOf = (limit: number, windowSeconds: number, on = redis) =>
    new RateLimiter({ name: 'test', redis: on, limit, windowSeconds })
  const takeMany = async (limiter: RateLimiter, caller: string, count: number) =>
    (await Promise.all(Array.from({ length: count }, async () => limiter.take(caller)))).filter(
      ({ isAllowed }) => isAllowed,
    ).length

  test('gives exactly its limit in a window, however it is asked', async () => {
    const limiter = limiterOf(100, 60)
    const caller = randomUUID()
    let given = 0
    for (let request = 0; request < 60; request++) given += (await limiter.take(caller)).isAllowed ? 1 : 0
    given += await takeMany(limiter, caller, 200)
    expect(given).toBe(100)
    expect(await limiter.take(caller)).toMatchObject({ isAllowed: false, remaining: 0 })
  })

  test('several processes share one limit, and none gives more', async () => {
    const [a, b] = [limiterOf(1_000, 60), limiterOf(1_000, 60)]
    const caller = randomUUID()
    const given = await Promise.all([takeMany(a, caller, 900), takeMany(b, caller, 900)])
    const rest = (await takeMany(a, caller, 200)) + (await takeMany(b, caller, 200))
    const total = given[0] + given[1] + rest
    expect(total).toBeLessThanOrEqual(1_000)
    expect(total).toBeGreaterThanOrEqual(900)
  })

  test('a busy caller costs Redis little', async () => {
    const limiter = limiterOf(100_000, 60)
    const caller = randomUUID()
    let calls = 0
    const monitor = await redis.duplicate({ enableOfflineQueue: true }).monitor()
    monitor.on('monitor', (_: string, args: string[]) => {
      if (args.some((part) => part.includes(caller)) && /eval/i.test(args[0] ?? '')) calls += 1
    })
    for (let request = 0; request < 5_000; request++) await limiter.take(caller)
    await redis.ping()
    await new Promise((resolve) => setTimeout(resolve, 50))
    monitor.disconnect()
    expect(calls).toBeGreaterThan(0)
    expect(calls).toBeLessThan(100)
  })

  test('a new window begins when the old one ends', async () => {
    const limiter = limiterOf(5, 1)
    const caller = randomUUID()
    expect(await takeMany(limiter, caller, 10)).toBe(5)
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    expect(await takeMany(limiter, caller, 10)).toBe(5)
  })

  test('without Redis it counts by itself, and a frozen one costs one wait', async () => {
    const own = await startRedis()
    const mine = connect(own.url)
    await new Promise((resolve) => mine.once('ready', resolve))
    const limiter = limiterOf(50, 60, mine)
    expect((await limiter.take('a')).isAllowed).toBe(true)
    own.process.kill('SIGSTOP')
    const startedAt = performance.now()
    expect(await takeMany(limiter, 'b', 80)).toBe(50)
    expect(await takeMany(limiter, 'c', 80)).toBe(50)
    expect(performance.now() - startedAt).toBeLessThan(900)
    own.process.kill('SIGCONT')
    await own.stop()
    expect(await takeMany(limiter, 'd', 80)).toBe(50)
    mine.disconnect()
  })
})

test('what is left is told with every answer, and too much is a problem with Retry-After', async () => {
  const api = await startTestApi({ RATE_LIMIT: '20', TENANT_RATE_LIMIT: '30', RATE_LIMIT_SECONDS: '60' })
  try {
    const { client } = await api.tenant()
    const first = await client.get('/v1/me')
    expect(first.headers.get('ratelimit-policy')).toBe('"default";q=20;w=60, "tenant";q=30;w=60')
    expect(first.headers.get('ratelimit')).toMatch(/^"default";r=19;t=\d+, "tenant";r=29;t=\d+$/)
    const key = await client.post<{ secret: string }>('/v1/keys', { name: 'second', scopes: ['runs:read'] })
    const answers = await Promise.all(Array.from({ length: 30 }, () => client.get<Problem>('/v1/runs')))
    const refused = answers.filter(({ status }) => status === 429)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(18)
    expect(refused[0]?.body.code).toBe('rate-limited')
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(refused[0]?.headers.get('ratelimit')).toMatch(/"default";r=0;t=\d+/)
    // Another key of the tenant has a limit of its own, and shares the tenant's.
    const second = api.as(key.body.secret)
    const more = await Promise.all(Array.from({ length: 15 }, () => second.get('/v1/runs')))
    expect(more.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(10)
    expect((await (await api.tenant()).client.get('/v1/runs')).status).toBe(200)
  } finally {
    await api.close()
  }
})
