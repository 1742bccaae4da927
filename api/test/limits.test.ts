import { tenantScopes } from '@meridian/core/access/scope'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { z } from 'zod'
import type { limitWire } from '../src/wire/limit.ts'
import type { limitUsageWire, queueUsageWire } from '../src/wire/usage.ts'
import { type Client, type Page, type Problem, type Run, startTestApi, type TestApi, target } from './api.ts'

type Limit = z.output<typeof limitWire>

let api: TestApi
let client: Client
beforeAll(async () => {
  api = await startTestApi()
  client = (await api.tenant()).client
})
afterAll(() => api.close())

const set = (body: Record<string, unknown>) => client.post<Limit>('/v1/limits', body)

test('a limit is set, listed, changed by its version, paused, resumed and lifted', async () => {
  const scope = { type: 'queue', queue: 'reports' }
  const rate = { count: 100, per: 'PT1H' }
  const made = await set({ name: 'Per customer', scope, key: 'body.customer.id', concurrency: 2, rate })
  expect(made.status).toBe(201)
  expect(made.body).toMatchObject({ scope, key: 'body.customer.id', concurrency: 2, rate: { ...rate, burst: 100 } })
  const path = `/v1/limits/${made.body.id}`
  expect((await client.get<Page<Limit>>('/v1/limits')).body.data.map(({ id }) => id)).toContain(made.body.id)
  const changed = await client.send('PATCH', path, { rate: null, concurrency: 3 }, { 'if-match': '"1"' })
  expect(JSON.parse(changed.text)).toMatchObject({ rate: null, concurrency: 3, version: 2, key: 'body.customer.id' })
  expect((await client.send('PATCH', path, { concurrency: 4 }, { 'if-match': '"1"' })).status).toBe(412)
  expect((await client.send('PATCH', path, { concurrency: null })).status).toBe(422)
  const paused = await client.post<Limit>(`${path}/pause`, { reason: 'moving' })
  expect(paused.body).toMatchObject({ pauseReason: 'moving', pausedBy: expect.stringMatching(/^key_/) })
  expect((await client.post<Limit>(`${path}/resume`, undefined)).body.pausedAt).toBeNull()
  expect((await client.send('DELETE', path)).status).toBe(204)
  expect((await client.get(path)).status).toBe(404)
})

test.each([
  [{ name: 'nothing' }, ''],
  [{ name: 'x', concurrency: 0 }, '/concurrency'],
  [{ name: 'x', concurrency: 1, key: 'body.' }, '/key'],
  [{ name: 'x', concurrency: 1, key: 'body.items.map(x, x)' }, '/key'],
  [{ name: 'x', concurrency: 1, key: 'body.id.matches("(a+)+$")' }, '/key'],
  [{ name: 'x', concurrency: 1, key: 'nobody' }, '/key'],
  [{ name: 'x', rate: { count: 1, per: 'PT200H' } }, '/rate/per'],
  [{ name: 'x', concurrency: 1, scope: { type: 'host', host: 'https://example.com' } }, '/scope/host'],
  [{ name: 'x', concurrency: 1, scope: { type: 'job', jobId: 'job_01h455vb4pex5vsknk084sn02q' } }, '/scope'],
])('%j is refused, with a pointer', async (body, pointer) => {
  const answer = await client.post<Problem>('/v1/limits', body)
  expect(answer.status).toBe(422)
  expect(answer.body.errors?.map((error) => error.pointer)).toContain(pointer)
})

test('a name is taken once; the organisation is limited by people', async () => {
  expect((await set({ name: 'twice', concurrency: 1 })).status).toBe(201)
  expect((await set({ name: 'twice', concurrency: 1 })).status).toBe(409)
  const { secret } = (await client.post<{ secret: string }>('/v1/keys', { name: 'tenant', scopes: tenantScopes })).body
  const answer = await api
    .as(secret)
    .post<Problem>('/v1/limits', { name: 'w', scope: { type: 'tenant' }, concurrency: 9 })
  expect(answer.status).toBe(403)
})

test('what an operator pinned, its tenant can neither change nor lift', async () => {
  const { id } = (await set({ name: 'fair use', concurrency: 5 })).body
  const { secret } = (await client.post<{ secret: string }>('/v1/keys', { name: 'own', scopes: tenantScopes })).body
  const own = api.as(secret)
  expect((await own.post(`/v1/limits/${id}/pin`, undefined)).status).toBe(403)
  const pinned = await client.post<Limit>(`/v1/limits/${id}/pin`, undefined)
  expect(pinned.body).toMatchObject({ pinnedAt: expect.any(String), pinnedBy: expect.stringMatching(/^key_/) })
  expect((await own.send('PATCH', `/v1/limits/${id}`, { concurrency: 50 })).status).toBe(403)
  expect((await own.send('DELETE', `/v1/limits/${id}`)).status).toBe(403)
  expect((await own.post(`/v1/limits/${id}/pause`, {})).status).toBe(403)
  await client.post(`/v1/limits/${id}/unpin`, undefined)
  expect((await own.send('PATCH', `/v1/limits/${id}`, { concurrency: 50 })).status).toBe(200)
})

test('a run beyond the backlog is refused with 429, and told when to come again', async () => {
  await set({ name: 'short', scope: { type: 'queue', queue: 'short' }, backlog: { max: 1, whenFull: 'reject' } })
  expect((await client.post<Run>('/v1/runs', { target, queue: 'short' })).status).toBe(201)
  const refused = await client.post<Problem>('/v1/runs', { target, queue: 'short' })
  expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([429, 'rate-limited', '1'])
  expect((await client.post<Run>('/v1/runs', { target, queue: 'long' })).status).toBe(201)
})

test('who waits for a limit and for a queue is told, by the value of its key, and a run says what it waits for', async () => {
  const { id } = (await set({ name: 'seen', key: 'body.customer', rate: { count: 60, per: 'PT1H', burst: 1 } })).body
  const run = await client.post<Run>('/v1/runs', { target: { ...target, body: { customer: 'a' } }, queue: 'seen' })
  const usage = await client.get<Page<z.output<typeof limitUsageWire>>>(`/v1/limits/${id}/usage?key=a`)
  expect(usage.body.data).toMatchObject([
    { key: 'a', used: 0, room: 1, tokens: 1, waiting: 1, firstWaiting: [{ runId: run.body.id }] },
  ])
  expect((await client.get<Page<unknown>>(`/v1/limits/${id}/usage?key=b`)).body.data).toEqual([])
  const queue = await client.get<z.output<typeof queueUsageWire>>('/v1/queues/seen/usage')
  expect(queue.body).toMatchObject({ queue: { used: 0, waiting: 1 }, tenant: { used: 0 } })
  await client.post(`/v1/limits/${id}/pause`, { reason: 'moving' })
  const why = await client.get<{ reasons: unknown[] }>(`/v1/runs/${run.body.id}/why`)
  expect(why.body.reasons).toContainEqual(
    expect.objectContaining({ code: 'limit-paused', evidence: expect.objectContaining({ limitId: id, name: 'seen' }) }),
  )
})

test('a queue has a class; only bulk ones can be preemptible', async () => {
  type Queue = { class: string; preemptible: boolean }
  const made = await client.post<Queue>('/v1/queues', { name: 'nightly', class: 'bulk', preemptible: true })
  expect(made.body).toMatchObject({ class: 'bulk', preemptible: true })
  const refused = await client.post<Problem>('/v1/queues', { name: 'hasty', preemptible: true })
  expect([refused.status, refused.body.errors?.[0]?.pointer]).toEqual([422, '/preemptible'])
  const changed = await client.send('PATCH', '/v1/queues/nightly', { class: 'critical' })
  expect(JSON.parse(changed.text)).toMatchObject({ class: 'critical', preemptible: false })
})
