import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Page, type Problem, startTestApi, type TestApi, target } from './api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.close())

interface Key {
  id: string
  secret: string
  scopes: string[]
  lastUsedAt: string | null
}

test('a key works with its scopes, shows its secret once, and is refused within seconds after it was revoked', async () => {
  const { client } = await api.tenant()
  const made = await client.post<Key>('/v1/keys', { name: 'reader', scopes: ['runs:read'] })
  expect(made.body.secret).toMatch(/^mk_/)
  const reader = api.as(made.body.secret)
  expect((await reader.get('/v1/runs')).status).toBe(200)
  expect((await reader.get<Problem>('/v1/jobs')).body.detail).toBe('This needs the scope jobs:read.')
  expect((await client.get(`/v1/keys/${made.body.id}`)).text).not.toContain(made.body.secret)

  const revoked = await client.send('DELETE', `/v1/keys/${made.body.id}`)
  expect(revoked.body.revokedAt).not.toBeNull()
  const startedAt = performance.now()
  while ((await reader.get('/v1/runs')).status !== 401) await new Promise((resolve) => setTimeout(resolve, 100))
  expect(performance.now() - startedAt).toBeLessThan(5_000)
})

test('a key gives no more than its maker has', async () => {
  const { client } = await api.tenant()
  const maker = await client.post<Key>('/v1/keys', { name: 'maker', scopes: ['keys:write', 'runs:read'] })
  const refused = await api.as(maker.body.secret).post<Problem>('/v1/keys', { name: 'x', scopes: ['runs:write'] })
  expect([refused.status, refused.body.code]).toEqual([403, 'forbidden'])
})

test('an expired key is refused', async () => {
  const { client } = await api.tenant()
  const expiresAt = new Date(Date.now() + 1_000).toISOString()
  const made = await client.post<Key>('/v1/keys', { name: 'short', scopes: ['runs:read'], expiresAt })
  const short = api.as(made.body.secret)
  expect((await short.get('/v1/runs')).status).toBe(200)
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  expect((await short.get('/v1/runs')).status).toBe(401)
})

test('which keys were used is noted, without a write for every request', async () => {
  const own = await startTestApi()
  const { client, tenantId } = await own.tenant()
  await client.get('/v1/me')
  await own.services.authenticator.close()
  const { rows } = await own.db.owner.query('select last_used_at from api_keys where tenant_id = $1', [tenantId])
  expect(rows[0]).toEqual({ last_used_at: expect.any(Date) })
  await own.close()
})

test('a key says who it is, and works only in its own project', async () => {
  const { client, projectId } = await api.tenant()
  const other = await api.tenant()
  const me = await client.get<{ projectId: string; tenantId: string }>('/v1/me')
  expect(me.body).toMatchObject({ kind: 'key', projectId: expect.stringMatching(/^prj_/) })
  expect(projectId).toBeDefined()
  const foreign = (await other.client.get<{ projectId: string }>('/v1/me')).body.projectId
  expect((await client.get('/v1/runs', { 'meridian-project': me.body.projectId })).status).toBe(200)
  expect((await client.get('/v1/runs', { 'meridian-project': foreign })).status).toBe(404)
})

test('queues are made by their first use, limited, paused and resumed', async () => {
  const { client } = await api.tenant()
  await client.post('/v1/runs', { target, queue: 'reports' })
  const queue = await client.get('/v1/queues/reports')
  expect(queue.body).toMatchObject({ concurrency: 1_000, depth: { ready: 1, running: 0 }, version: 1 })
  const etag = queue.headers.get('etag') ?? ''
  expect((await client.get('/v1/queues/reports', { 'if-none-match': etag })).status).toBe(304)
  const changed = await client.send('PATCH', '/v1/queues/reports', { concurrency: 5 }, { 'if-match': etag })
  expect(changed.body).toMatchObject({ concurrency: 5, version: 2 })
  expect((await client.send('PATCH', '/v1/queues/reports', { concurrency: 6 }, { 'if-match': etag })).status).toBe(412)
  const paused = await client.post('/v1/queues/reports/pause', { reason: 'moving' })
  expect(paused.body).toMatchObject({ pauseReason: 'moving', pausedBy: expect.stringMatching(/^key_/) })
  expect((await client.post('/v1/queues/reports/resume')).body).toMatchObject({ pausedAt: null })
  const taken = await client.post<Problem>('/v1/queues', { name: 'reports' })
  expect([taken.status, taken.body.current]).toEqual([409, { id: expect.stringMatching(/^que_/) }])
  const listed = await client.get<Page<{ name: string; depth: { ready: number } }>>('/v1/queues')
  expect(listed.body.data.map(({ name, depth }) => [name, depth.ready])).toEqual([
    ['default', 0],
    ['reports', 1],
  ])
})

test('a project is seen and changed under its version', async () => {
  const { client } = await api.tenant()
  const project = (await client.get<Page<{ id: string; version: number }>>('/v1/projects')).body.data[0]
  const path = `/v1/projects/${project?.id}`
  const read = await client.get(path)
  expect((await client.get(path, { 'if-none-match': read.headers.get('etag') ?? '' })).status).toBe(304)
  const changed = await client.send('PATCH', path, { name: 'New' }, { 'if-match': read.headers.get('etag') ?? '' })
  expect(changed.body).toMatchObject({ name: 'New', version: 2 })
  expect((await client.send('PATCH', path, { name: 'Newer' }, { 'if-match': '"1"' })).status).toBe(412)
})
