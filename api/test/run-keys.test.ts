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
  const filter = { tags: ['big'] }
  const planned = await client.post<{ total: number }>('/v1/operations?dryRun=true', { kind: 'runs.cancel', filter })
  expect(planned.body).toMatchObject({ total: 1 })
})
