import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Job, type Problem, startTestApi, type TestApi, target } from './api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.close())

const schedule = { type: 'cron', cron: '0 * * * *', timezone: 'UTC' }
const hourMs = 3_600_000
const sum = (counts: number[]): number => counts.reduce((total, count) => total + count, 0)

test('the future of a project is told in counts, in load, and in what collides', async () => {
  const { client } = await api.tenant()
  const jobs = await Promise.all(
    [1, 2, 3].map((index) => client.post<Job>('/v1/jobs', { name: `Job ${index}`, target, schedule, queue: 'mail' })),
  )
  const until = new Date((Math.floor(Date.now() / hourMs) + 4) * hourMs - 1).toISOString()
  const starts = await client.get<{ until: string; buckets: { from: string; to: string; count: number }[] }>(
    `/v1/forecast/starts?until=${until}&buckets=10`,
  )
  expect(starts.status).toBe(200)
  expect(starts.body.until).toBe(until)
  expect(starts.body.buckets).toHaveLength(10)
  expect(sum(starts.body.buckets.map(({ count }) => count))).toBe(9)
  expect(starts.body.buckets[1]?.from).toBe(starts.body.buckets[0]?.to)

  const load = await client.get<{
    bucketSeconds: number
    total: { starts: number[]; capacity: number }
    series: { kind: string; name: string; starts: number[] }[]
  }>(`/v1/forecast?until=${until}`)
  expect([load.body.bucketSeconds, sum(load.body.total.starts), load.body.total.capacity]).toEqual([60, 9, 10_000])
  expect(load.body.series.map(({ kind, name, starts }) => [kind, name, sum(starts)])).toEqual([
    ['pool', 'local', 9],
    ['queue', 'mail', 9],
    ['host', new URL(target.url).host, 9],
  ])

  const collisions = await client.get<{ data: { count: number; times: number; jobs: { id: string }[] }[] }>(
    `/v1/forecast/collisions?until=${until}&least=3`,
  )
  expect(collisions.body.data).toMatchObject([{ count: 3, times: 3 }])
  expect(collisions.body.data[0]?.jobs.map(({ id }) => id).sort()).toEqual(jobs.map(({ body }) => body.id).sort())
  const named = await client.get<{ data: { count: number; jobs: unknown[] }[] }>(
    `/v1/forecast/collisions?until=${until}&least=3&named=2`,
  )
  expect([named.body.data[0]?.count, named.body.data[0]?.jobs.length]).toEqual([3, 2])
})

test('a horizon that has passed or is too far is refused', async () => {
  const { client } = await api.tenant()
  for (const until of ['2020-01-01T00:00:00Z', new Date(Date.now() + 40 * 24 * hourMs).toISOString()]) {
    const { status, body } = await client.get<Problem>(`/v1/forecast?until=${until}`)
    expect([status, body.errors?.[0]?.pointer]).toEqual([422, '/until'])
  }
  const month = new Date(Date.now() + 30 * 24 * hourMs).toISOString()
  expect((await client.get<{ bucketSeconds: number }>(`/v1/forecast?until=${month}`)).body.bucketSeconds).toBe(3_600)
})
