import { tenantScopes } from '@meridian/core/access/scope'
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
  queues: { queue: string; received: number; entitled: number }[]
  step: string
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
  const together = { pool: 'local', slots: 30, tenants: 2, jainIndex: 0.8, weight: 1 }
  const at = expect.any(String)
  const own = { received: 20, entitled: 25 }
  expect(body.pools).toEqual([{ ...together, ...own, ratio: 0.8, series: [{ at, ...own, slots: 30 }] }])
  expect(body).toMatchObject({ step: 'PT1M', queues: [] })
  expect(body.waits).toEqual({ runs: 0, p50Ms: null, p95Ms: null })
  expect(Date.parse(body.to) - Date.parse(body.from)).toBe(3_600_000)
  const { pools } = (await other.client.get<Fairness>('/v1/fairness')).body
  const none = { received: 0, entitled: 0 }
  expect(pools).toEqual([{ ...together, ...none, ratio: null, series: [{ at, ...none, slots: 30 }] }])
})

test('queues are told with what they had, those of the project alone, in figures that say something', async () => {
  const { client, tenantId, projectId } = await api.tenant()
  const range = 'from=2031-01-01T00:00:00Z&to=2031-01-01T06:00:00Z'
  await client.post('/v1/queues', { name: 'mine' })
  await api.db.owner.query(
    `with elsewhere as (insert into projects (tenant_id, id, name, slug) values ($1, gen_random_uuid(), 'Other', 'other') returning id),
     foreign_queue as (insert into queues (tenant_id, id, project_id, name, pool)
       select $1, gen_random_uuid(), id, 'theirs', 1 from elsewhere returning id),
     l as (insert into limits (tenant_id, queue_id, concurrency) select $1, id, 5 from foreign_queue),
     m as (insert into pool_minutes (pool, minute, samples, sampled_at, slots, tenants)
       values (1, '2031-01-01T01:00Z', 3, now(), 9, 3))
     insert into queue_share_minutes (tenant_id, pool, minute, queue_id, received, entitled)
       select $1, 1, '2031-01-01T01:00Z'::timestamptz, id, 2, 4 from foreign_queue
       union all select $1, 1, '2031-01-01T01:00Z', id, 2, 4 from queues where tenant_id = $1 and name = 'mine'`,
    [tenantId],
  )
  await api.db.owner.query(
    `insert into runs (tenant_id, project_id, id, queue_id, pool, state, attempt, fence, due_at, started_at, ended_at)
     select $1, $2, gen_random_uuid(), id, 1, 4, 1, 1, '2031-01-01T01:00Z', '2031-01-01T01:00:00.0123456Z', '2031-01-01T01:00:01Z'
     from queues where tenant_id = $1 and name = 'mine'`,
    [tenantId, projectId],
  )
  const { body } = await client.get<Fairness>(`/v1/fairness?${range}`)
  const waits = { runs: 1, p50Ms: 12, p95Ms: 12 }
  expect(body).toMatchObject({ step: 'PT6M', waits, pools: [{ slots: 3, tenants: 1 }] })
  expect(body.queues).toEqual([
    { queue: 'mine', pool: 'local', class: 'standard', weight: 1, received: 0.667, entitled: 1.333, ratio: 0.5, waits },
  ])
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

test('an operator sets what an organisation may have, and nobody else can', async () => {
  const { client } = await api.tenant()
  const set = async (by: typeof client, share: unknown) => {
    const { status, text } = await by.send('PATCH', '/v1/fairness/share', share)
    return { status, body: JSON.parse(text) as unknown }
  }
  const first = await set(client, { weight: 2.5 })
  expect(first).toMatchObject({ status: 200, body: { weight: 2.5 } })
  expect(await set(client, { concurrency: 7 })).toEqual({ status: 200, body: { weight: 2.5, concurrency: 7 } })
  const { secret } = (await client.post<{ secret: string }>('/v1/keys', { name: 'own', scopes: tenantScopes })).body
  expect((await set(api.as(secret), { weight: 9 })).status).toBe(403)
  const { rows } = await api.db.owner.query("select data from events where type = 'share.updated' order by xid, seq")
  expect(rows).toMatchObject([{ data: { weight: 2.5 } }, { data: { concurrency: 7 } }])
})
