import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Problem, startTestApi, type TestApi } from './api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.close())

interface Fairness {
  from: string
  to: string
  pools: { pool: string; received: number; entitled: number; ratio: number | null; slots: number; tenants: number }[]
  waits: { runs: number; p50Ms: number | null }
}

test('an organisation is told its own share, and of others what they are together', async () => {
  const [one, other] = [await api.tenant(), await api.tenant()]
  await api.db.owner.query(
    `insert into pool_minutes (pool, minute, samples, sampled_at, slots, tenants, jain)
     values (1, date_trunc('minute', now()), 2, now(), 60, 4, 0.8)`,
  )
  await api.db.owner.query(
    `insert into share_minutes (tenant_id, pool, minute, received, entitled)
     values ($1, 1, date_trunc('minute', now()), 40, 50)`,
    [one.tenantId],
  )
  const { status, body } = await one.client.get<Fairness>('/v1/fairness')
  expect(status).toBe(200)
  const together = { pool: 'local/standard', slots: 30, tenants: 2, jainIndex: 0.8, weight: 1 }
  expect(body.pools).toEqual([{ ...together, received: 20, entitled: 25, ratio: 0.8 }])
  expect(body.waits).toEqual({ runs: 0, p50Ms: null, p95Ms: null })
  expect(Date.parse(body.to) - Date.parse(body.from)).toBe(3_600_000)
  const { pools } = (await other.client.get<Fairness>('/v1/fairness')).body
  expect(pools).toEqual([{ ...together, received: 0, entitled: 0, ratio: null }])
})

test.each([
  ['from=2039-01-02T00:00:00Z&to=2039-01-01T00:00:00Z', '/to'],
  ['from=2038-01-01T00:00:00Z&to=2039-01-01T00:00:00Z', '/from'],
])('a range that is none is refused: %s', async (query, pointer) => {
  const { client } = await api.tenant()
  const { status, body } = await client.get<Problem>(`/v1/fairness?${query}`)
  expect(status).toBe(422)
  expect(body.errors?.[0]?.pointer).toBe(pointer)
})
