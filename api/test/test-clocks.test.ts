import { findBusyClocks, stepTestClock } from '@meridian/core/clock/step'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { z } from 'zod'
import type { projectWire } from '../src/wire/access.ts'
import type { testClockWire } from '../src/wire/test-clock.ts'
import { type Client, type Job, type Page, type Problem, type Run, startTestApi, type TestApi, target } from './api.ts'

type Clock = z.output<typeof testClockWire>

let api: TestApi
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.close())

const sandbox = async (): Promise<Client> => {
  const projects = [{ slug: 'sandbox', name: 'Sandbox', label: 'development' as const, hasTestClock: true }]
  return (await api.tenant({ projects })).client
}
const now = '2031-03-01T00:00:00.000Z'
/** What a worker does, as long as no run has to be waited for. */
const work = async (): Promise<void> => {
  const { engine, engineKeyRing } = api.db
  for (const clock of await findBusyClocks(engine, 1)) await stepTestClock(engine, engineKeyRing, clock)
}

describe('test clocks', () => {
  test('a project says that it was made for one; it is made, read, advanced and deleted', async () => {
    const client = await sandbox()
    const projects = await client.get<Page<z.output<typeof projectWire>>>('/v1/projects')
    expect(projects.body.data[0]).toMatchObject({ hasTestClock: true })
    const made = await client.post<Clock>('/v1/test-clocks', { name: 'March', now })
    expect(made).toMatchObject({ status: 201, body: { name: 'March', now, target: null, openRuns: 0 } })
    const path = `/v1/test-clocks/${made.body.id}`
    expect((await client.get<Page<Clock>>('/v1/test-clocks')).body.data).toEqual([made.body])
    const second = await client.post<Problem>('/v1/test-clocks', { now })
    expect(second).toMatchObject({ status: 409, body: { code: 'conflict', current: { id: made.body.id } } })
    const advanced = await client.post<Clock>(`${path}/advance`, { by: 'P1M' })
    expect(advanced).toMatchObject({ status: 200, body: { now, target: '2031-04-01T00:00:00.000Z' } })
    expect((await client.post(`${path}/advance`, { by: 'P1D' })).status).toBe(409)
    await work()
    expect((await client.get<Clock>(path)).body).toMatchObject({ now: '2031-04-01T00:00:00.000Z', target: null })
    expect((await client.send('DELETE', path)).status).toBe(204)
    expect((await client.get(path)).status).toBe(404)
  })

  test('runs and jobs of the project are due by its clock', async () => {
    const client = await sandbox()
    expect((await client.post('/v1/runs', { target })).status).toBe(409)
    await client.post('/v1/test-clocks', { now })
    const schedule = { type: 'cron', cron: '0 6 * * *', timezone: 'UTC' }
    const job = await client.post<Job>('/v1/jobs', { name: 'daily', target, schedule, queue: 'own' })
    expect(job.body.nextAt).toBe('2031-03-01T06:00:00.000Z')
    const over = { type: 'at', at: '2031-02-28T00:00:00Z' }
    expect((await client.post('/v1/jobs', { name: 'over', target, schedule: over })).status).toBe(422)
    const run = await client.post<Run>('/v1/runs', { target, dueAt: '2031-03-02T00:00:00Z' })
    expect(run.body).toMatchObject({ status: 'scheduled', dueAt: '2031-03-02T00:00:00.000Z' })
    const soon = await client.post<Run>(`/v1/jobs/${job.body.id}/run`)
    expect(soon.body.dueAt).toBe(now)
    await work()
    const released = await client.get<Run>(`/v1/runs/${soon.body.id}`)
    expect(released.body).toMatchObject({ dueAt: now, source: 'manual' })
    const cancelled = await client.post<Run>(`/v1/runs/${soon.body.id}/cancel`)
    expect(cancelled.body).toMatchObject({ status: 'cancelled', dueAt: now })
  })

  test('only a project that was made for it has one, and production is not', async () => {
    const { client } = await api.tenant()
    expect(await client.post<Problem>('/v1/test-clocks', { now })).toMatchObject({ status: 409 })
    const bad = await (await sandbox()).post<Problem>('/v1/test-clocks', { now: 'tomorrow' })
    expect(bad.body.errors?.map(({ pointer }) => pointer)).toEqual(['/now'])
  })
})
