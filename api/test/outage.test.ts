import { afterAll, beforeAll, expect, test } from 'vitest'
import { inAnHour, type Problem, type Run, startTestApi, type TestApi, target } from './api.ts'
import { startRedis, type TestRedis } from './redis.ts'

let api: TestApi
let redis: TestRedis
beforeAll(async () => {
  redis = await startRedis()
  api = await startTestApi({ REDIS_URL: redis.url })
})
afterAll(async () => {
  await api.close()
  await redis.stop()
})

test('without Redis everything works on, and readiness says degraded', async () => {
  const { client } = await api.tenant()
  expect((await api.as(null).get('/ready')).body).toMatchObject({ status: 'ready', database: true, redis: true })
  const port = Number(new URL(redis.url).port)
  await redis.stop()
  expect((await client.post<Run>('/v1/runs', { target })).status).toBe(201)
  expect((await api.as(null).get('/ready')).body).toMatchObject({ status: 'degraded', database: true, redis: false })
  redis = await startRedis(port)
  const isBack = async () => (await api.as(null).get<{ status: string }>('/ready')).body.status === 'ready'
  const giveUpAt = performance.now() + 5_000
  while (!(await isBack()) && performance.now() < giveUpAt) await new Promise((resolve) => setTimeout(resolve, 50))
  expect(await isBack()).toBe(true)
})

test('a full Redis is told as degraded', async () => {
  const { Redis } = await import('ioredis')
  const admin = new Redis(redis.url)
  await admin.config('SET', 'maxmemory', '1mb')
  await admin.config('SET', 'maxmemory-policy', 'noeviction')
  expect((await api.as(null).get('/ready')).body).toMatchObject({ status: 'degraded', redis: false })
  const { client } = await api.tenant()
  expect((await client.post<Run>('/v1/runs', { target })).status).toBe(201)
  await admin.config('SET', 'maxmemory', '0')
  admin.disconnect()
})

test('a run that is due soon wakes the dispatcher, one due later does not', async () => {
  const { Redis } = await import('ioredis')
  const { wakeChannel } = await import('@meridian/core/run/wake')
  const listener = new Redis(redis.url)
  const heard: string[] = []
  listener.on('message', (_, message) => void heard.push(message))
  await listener.subscribe(wakeChannel(1))
  const { client } = await api.tenant()
  const dueAt = new Date(Date.now() + 1_000).toISOString()
  await client.post('/v1/runs', { target, dueAt: inAnHour() })
  await client.post('/v1/runs', { target, dueAt })
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(heard).toEqual([String(Date.parse(dueAt))])
  listener.disconnect()
})

test('without Postgres every request is a 503 with Retry-After, and all is well when it is back', async () => {
  const { client } = await api.tenant()
  await client.get('/v1/me')
  const name = new URL(api.db.ownerUrl).pathname.slice(1)
  const cut = async (allow: boolean) => {
    await api.db.owner.query(`alter database ${name} connection limit ${allow ? -1 : 0}`)
    if (!allow)
      await api.db.owner.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'meridian-api' and datname = '${name}'`,
      )
  }
  await cut(false)
  for (let request = 0; request < 20; request++) {
    const answer = await client.post<Problem>('/v1/runs', { target })
    expect([answer.status, answer.body.code, answer.headers.get('retry-after')]).toEqual([
      503,
      'dependency-unavailable',
      '1',
    ])
  }
  expect((await client.get('/v1/runs')).status).toBe(503)
  expect((await api.as(null).get('/ready')).status).toBe(503)
  expect((await api.as(null).get('/health')).status).toBe(200)
  await cut(true)
  const answers = await Promise.all(Array.from({ length: 100 }, () => client.get('/v1/runs?limit=1')))
  expect(answers.filter(({ status }) => status !== 200)).toEqual([])
  expect(api.services.pool.totalCount).toBeLessThanOrEqual(10)
  expect(api.services.pool.waitingCount).toBe(0)
})
