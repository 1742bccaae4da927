import { afterAll, beforeAll, expect, test } from 'vitest'
import { inAnHour, type Job, type Page, type Run, startTestApi, type TestApi, target } from './api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.close())

const withKey = (key: string) => ({ 'idempotency-key': key })

test('O-39, O-40: a hundred creates with one key at once make one run, round after round', async () => {
  const { client } = await api.tenant()
  for (let round = 0; round < 10; round++) {
    const body = { target, dueAt: inAnHour() }
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => client.post<Run>('/v1/runs', body, withKey(`round ${round}`))),
    )
    expect(answers.filter(({ status }) => status !== 201 && status !== 409)).toEqual([])
    expect(new Set(answers.filter(({ status }) => status === 201).map(({ text }) => text)).size).toBe(1)
  }
  expect((await client.get<Page<Run>>('/v1/runs?limit=200')).body.data).toHaveLength(10)
})

test('a hundred creates of a job with one key at once make one job', async () => {
  const { client } = await api.tenant()
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => client.post<Job>('/v1/jobs', { name: 'one', target }, withKey('job'))),
  )
  expect(answers.filter(({ status }) => status !== 201 && status !== 409)).toEqual([])
  expect(new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body.id)).size).toBe(1)
  expect((await client.get<Page<Job>>('/v1/jobs')).body.data).toHaveLength(1)
})

test('a late retry is answered as the first request was, and says so', async () => {
  const { client } = await api.tenant()
  const first = await client.post<Run>('/v1/runs', { target }, withKey('late'))
  await client.post(`/v1/runs/${first.body.id}/cancel`)
  const retry = await client.post<Run>('/v1/runs', { target }, withKey('late'))
  expect([retry.status, retry.text]).toEqual([first.status, first.text])
  expect(retry.headers.get('idempotency-replayed')).toBe('true')

  const secret = await client.post('/v1/keys', { name: 'k', scopes: ['runs:read'] }, withKey('key'))
  const again = await client.post('/v1/keys', { name: 'k', scopes: ['runs:read'] }, withKey('key'))
  expect([again.status, again.text]).toEqual([201, secret.text])
  expect(again.headers.get('idempotency-replayed')).toBe('true')
})

test('the same request in other words is the same; another body, path or tenant is not', async () => {
  const { client } = await api.tenant()
  const other = (await api.tenant()).client
  const dueAt = inAnHour()
  const first = await client.post<Run>('/v1/runs', { target, dueAt }, withKey('k'))
  const reordered = `{ "dueAt": "${dueAt}",  "priority": 3, "target": { "body": {"hello":"world"}, "url": "${target.url}", "type":"http" } }`
  expect((await client.post<Run>('/v1/runs', reordered, withKey('k'))).body).toEqual(first.body)
  expect((await client.post<Run>('/v1/runs', { target, dueAt }, withKey('"k"'))).body).toEqual(first.body)
  expect((await client.post('/v1/runs', { target }, withKey('k'))).status).toBe(422)
  expect((await client.post('/v1/jobs', { name: 'one', target }, withKey('k'))).status).toBe(422)
  const independent = await other.post<Run>('/v1/runs', { target }, withKey('k'))
  expect(independent.status).toBe(201)
  expect(independent.body.id).not.toBe(first.body.id)
})

test('keys that are none are refused', async () => {
  const { client } = await api.tenant()
  for (const key of ['', 'k'.repeat(256), 'k'.repeat(4_000), 'tab\there', 'naïve']) {
    const { status, body } = await client.post('/v1/runs', { target }, withKey(key))
    expect([key.slice(0, 9), status, body.code]).toEqual([key.slice(0, 9), 400, 'malformed-request'])
  }
  expect((await client.post('/v1/runs', { target }, withKey('k'.repeat(255)))).status).toBe(201)
})

test('a project may take creates only with a key', async () => {
  const { client, projectId } = await api.tenant()
  expect(projectId).toBeDefined()
  const project = (await client.get<Page<{ id: string }>>('/v1/projects')).body.data[0]
  await client.send('PATCH', `/v1/projects/${project?.id}`, { requiresIdempotencyKey: true })
  for (const [path, body] of [
    ['/v1/runs', { target }],
    ['/v1/runs/batch', { runs: [{ target }] }],
    ['/v1/jobs', { name: 'one', target }],
    ['/v1/queues', { name: 'one' }],
    ['/v1/keys', { name: 'one', scopes: ['runs:read'] }],
  ] as const) {
    const refused = await client.post(path, body)
    expect([path, refused.status, refused.body.code]).toEqual([path, 400, 'idempotency-key-required'])
    expect((await client.post(path, body, withKey(path))).status).toBeLessThan(300)
  }
})
