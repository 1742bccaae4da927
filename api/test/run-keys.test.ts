import { afterAll, beforeAll, expect, test } from 'vitest'
import { inAnHour, type Job, type Page, type Problem, type Run, startTestApi, type TestApi, target } from './api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.close())

test('a create that finds an earlier run by its key answers 200, that run as it stands, and how it was found', async () => {
  const { client } = await api.tenant()
  const deduplication = { key: 'order-7', window: 'PT1H' }
  const first = await client.post<Run>('/v1/runs', { target, dueAt: inAnHour(), deduplication })
  expect(first.status).toBe(201)
  expect(first.body.createKey).toEqual({ type: 'deduplication', key: 'order-7', scope: 'project' })
  await client.post(`/v1/runs/${first.body.id}/cancel`)
  const second = await client.post<Run>('/v1/runs', { target, deduplication })
  expect(second.status).toBe(200)
  expect(second.headers.get('existing-run')).toBe('deduplicated')
  expect(second.body).toMatchObject({ id: first.body.id, status: 'cancelled' })
  const batch = await client.post<Page<Run>>('/v1/runs/batch', { runs: [{ target, deduplication }, { target }] })
  expect(batch.body.data.map(({ id }) => id === first.body.id)).toEqual([true, false])
})

test('a debounced create answers with the run that was put off', async () => {
  const { client } = await api.tenant()
  const debounce = { key: 'index', delay: 'PT10M' }
  const job = await client.post<Job>('/v1/jobs', { name: 'Index', target })
  const first = await client.post<Run>(`/v1/jobs/${job.body.id}/run`, { debounce, body: 1 })
  const second = await client.post<Run>(`/v1/jobs/${job.body.id}/run`, { debounce, body: 2 })
  expect([first.status, second.status]).toEqual([201, 200])
  expect(second.headers.get('existing-run')).toBe('debounced')
  expect(second.body.id).toBe(first.body.id)
  expect((await client.get<{ body: string }>(`/v1/runs/${first.body.id}/request`)).body.body).toBe('2')
})

test('keys that can not hold are refused where they stand', async () => {
  const { client } = await api.tenant()
  const refused = async (more: object) => {
    const { status, body } = await client.post<Problem>('/v1/runs', { target, ...more })
    return [status, ...(body.errors ?? []).map(({ pointer }) => pointer)]
  }
  const deduplication = { key: 'a' }
  const debounce = { key: 'a', delay: 'PT1M' }
  expect(await refused({ deduplication, debounce })).toEqual([422, '/debounce'])
  expect(await refused({ debounce, dueAt: inAnHour() })).toEqual([422, '/dueAt'])
  expect(await refused({ debounce: { ...debounce, maxWait: 'PT1S' } })).toEqual([422, '/debounce/maxWait'])
  expect(await refused({ deduplication: { key: 'a', scope: 'job' } })).toEqual([422, '/deduplication/scope'])
  expect(await refused({ tags: ['no spaces'] })).toEqual([422, '/tags/0'])
  expect(await refused({ metadata: { nested: { a: 1 } } })).toEqual([422, '/metadata/nested'])
})

test('runs are listed by their tags, and cancelled by them', async () => {
  const { client } = await api.tenant()
  const make = (tags: string[]) => client.post<Run>('/v1/runs', { target, dueAt: inAnHour(), tags, metadata: { n: 1 } })
  const [one, both] = [await make(['blue']), await make(['blue', 'big'])]
  expect(both.body).toMatchObject({ tags: ['big', 'blue'], metadata: { n: 1 } })
  const ids = async (query: string) => (await client.get<Page<Run>>(`/v1/runs?${query}`)).body.data.map(({ id }) => id)
  expect(await ids('tag=blue')).toEqual([both.body.id, one.body.id])
  expect(await ids('tag=blue&tag=big')).toEqual([both.body.id])
  expect(await ids('metadata=n=1')).toEqual([both.body.id, one.body.id])
  expect(await ids('metadata=n=1&metadata=n=2')).toEqual([])
  const wrong = await client.get<Problem>('/v1/runs?metadata=n')
  expect([wrong.status, wrong.body.errors?.[0]?.pointer]).toEqual([422, '/metadata/0'])
  const page = await client.get<Page<Run>>('/v1/runs?metadata=n=1')
  expect(page.body).toMatchObject({ nextCursor: null, lookedTo: null })
  const filter = { tags: ['big'] }
  const planned = await client.post<{ total: number }>('/v1/operations?dryRun=true', { kind: 'runs.cancel', filter })
  expect(planned.body).toMatchObject({ total: 1 })
})

test('runs of one batch key name the run that performs them, and are listed by it', async () => {
  const { client } = await api.tenant()
  const make = () => client.post<Run>('/v1/runs', { target, batch: { key: 'k', maxWait: 'PT1H' } })
  const [one, other] = [await make(), await make()]
  expect([one.status, other.status]).toEqual([201, 201])
  expect(one.body.batchRunId).toMatch(/^run_/)
  expect(other.body.batchRunId).toBe(one.body.batchRunId)
  const ids = async (query: string) => (await client.get<Page<Run>>(`/v1/runs?${query}`)).body.data.map(({ id }) => id)
  expect(await ids(`batchRunId=${one.body.batchRunId}`)).toEqual([other.body.id, one.body.id])
  expect(await ids('source=batch')).toEqual([one.body.batchRunId])
  const request = await client.get<{ body: string }>(`/v1/runs/${one.body.batchRunId}/request`)
  expect((JSON.parse(request.body.body) as { runId: string }[]).map(({ runId }) => runId)).toEqual([
    one.body.id,
    other.body.id,
  ])
  await client.post(`/v1/runs/${other.body.id}/cancel`)
  expect((await client.get<Run>(`/v1/runs/${other.body.id}`)).body.status).toBe('cancelled')
})

test('callbacks of a target are kept, and shown without what may be secret to whoever may not see payloads', async () => {
  const { client } = await api.tenant()
  const callbacks = { failure: { url: 'https://hooks.example.com/in?token=1', headers: { 'x-key': 'k' } } }
  const made = await client.post<Job>('/v1/jobs', { name: 'Told', target: { ...target, callbacks } })
  expect(made.body.target).toMatchObject({ callbacks })
  const key = await client.post<{ secret: string }>('/v1/keys', { name: 'blind', scopes: ['jobs:read'] })
  const seen = await api.as(key.body.secret).get<Job>(`/v1/jobs/${made.body.id}`)
  expect(seen.body.target).toMatchObject({
    callbacks: { failure: { url: 'https://hooks.example.com/in', headers: {} } },
  })
  const bad = { failure: { url: 'ftp://example.com' } }
  const refused = await client.post<Problem>('/v1/jobs', { name: 'Bad', target: { ...target, callbacks: bad } })
  expect(refused.body.errors?.[0]?.pointer).toBe('/target/callbacks/failure/url')
})
