import { stepOperation } from '@meridian/core/operation/step'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { z } from 'zod'
import type { operationWire } from '../src/wire/operation.ts'
import { type Client, type Job, type Page, type Problem, type Run, startTestApi, type TestApi, target } from './api.ts'

type Operation = z.output<typeof operationWire>

let api: TestApi
let client: Client
beforeAll(async () => {
  api = await startTestApi()
  client = (await api.tenant()).client
})
afterAll(() => api.close())

const make = async (name: string, more = {}): Promise<Job> =>
  (await client.post<Job>('/v1/jobs', { name, target, ...more })).body
const work = async (): Promise<void> => {
  const { clock, keyRing } = api.services
  while ((await stepOperation({ engine: api.db.engine, keyRing, clock, shard: 1 })) !== null);
}

describe('operations', () => {
  test('a dry run counts and shows the first few; nothing is written', async () => {
    const jobs = [await make('dry one', { tags: ['dry'] }), await make('dry two', { tags: ['dry'] })]
    const body = { kind: 'jobs.pause', filter: { tags: ['dry'] } }
    const planned = await client.post<Operation>('/v1/operations?dryRun=true', body)
    expect(planned).toMatchObject({
      status: 200,
      body: { state: 'planned', total: 2, plan: { filter: { tags: ['dry'] } } },
    })
    expect(planned.body.sample).toEqual(jobs.map(({ id, name }) => ({ id, name })))
    expect((await client.get<Page<Operation>>('/v1/operations')).body.data).toEqual([])
  })

  test('is followed to its end and undone', async () => {
    const job = await make('led', { tags: ['led'] })
    const filter = { ids: [job.id] }
    const changes = { priority: 1, addTags: ['first'] }
    const made = await client.post<Operation>('/v1/operations', { kind: 'jobs.edit', filter, changes })
    expect(made).toMatchObject({ status: 201, body: { state: 'running', total: 1, plan: { filter, changes } } })
    await work()
    const path = `/v1/operations/${made.body.id}`
    expect((await client.get<Operation>(path)).body).toMatchObject({ state: 'finished', done: 1, canUndo: true })
    expect((await client.get<Job>(`/v1/jobs/${job.id}`)).body).toMatchObject({ priority: 1, tags: ['led', 'first'] })
    const items = await client.get<Page<{ id: string }>>(`${path}/items?state=done`)
    expect(items.body.data).toEqual([{ position: 1, id: job.id, name: 'led', state: 'done', detail: null }])
    const undo = await client.post<Operation>(`${path}/undo`)
    expect(undo).toMatchObject({ status: 201, body: { undoOf: made.body.id, total: 1 } })
    await work()
    expect((await client.get<Job>(`/v1/jobs/${job.id}`)).body).toMatchObject({ priority: 3, tags: ['led'], version: 3 })
    const again = await client.post<Problem>(`${path}/undo`)
    expect(again).toMatchObject({ status: 409, body: { code: 'conflict', current: { id: undo.body.id } } })
  })

  test('a backfill makes runs of the past, and its items are they', async () => {
    const job = await make('daily', { schedule: { type: 'cron', cron: '0 6 * * *', timezone: 'Europe/London' } })
    const body = {
      kind: 'jobs.backfill',
      jobId: job.id,
      from: '2026-03-28T00:00:00Z',
      to: '2026-03-30T00:00:00Z',
      tag: 'march',
    }
    const planned = await client.post<Operation>('/v1/operations?dryRun=true', body)
    expect(planned.body).toMatchObject({ total: 2, sample: [{ id: null, name: '2026-03-28T06:00:00.000Z' }, {}] })
    const made = await client.post<Operation>('/v1/operations', { ...body, concurrency: 2 })
    expect(made.body.plan).toMatchObject({ jobId: job.id, from: '2026-03-28T00:00:00.000Z', tag: 'march' })
    await work()
    const runs = await client.get<Page<Run>>(`/v1/runs?jobId=${job.id}&source=backfill`)
    expect(runs.body.data).toMatchObject([
      { nominalAt: '2026-03-29T05:00:00.000Z', source: 'backfill' },
      { nominalAt: '2026-03-28T06:00:00.000Z' },
    ])
    expect((await client.get<Page<Run>>(`/v1/runs?operationId=${made.body.id}`)).body.data).toEqual(runs.body.data)
    expect((await client.get<Page<Run>>(`/v1/runs?operationId=${made.body.id}&status=failed`)).body.data).toEqual([])
    const items = await client.get<Page<{ id: string }>>(`/v1/operations/${made.body.id}/items`)
    expect(items.body.data.map(({ id }) => id)).toEqual(runs.body.data.map(({ id }) => id).toReversed())
  })

  test('is made once per idempotency key', async () => {
    const body = { kind: 'jobs.resume', filter: { name: 'nobody' } }
    const key = { 'idempotency-key': 'operation-1' }
    const first = await client.post<Operation>('/v1/operations', body, key)
    const second = await client.post<Operation>('/v1/operations', body, key)
    expect(second.headers.get('idempotency-replayed')).toBe('true')
    expect(second.body).toEqual(first.body)
  })

  test('what it can’t read is named by a pointer', async () => {
    const pointersOf = async (body: unknown) => {
      const answer = await client.post<Problem>('/v1/operations', body)
      expect(answer.status).toBe(422)
      return answer.body.errors?.map(({ pointer }) => pointer)
    }
    expect(await pointersOf({ kind: 'jobs.explode', filter: {} })).toEqual(['/kind'])
    expect(await pointersOf({ kind: 'jobs.pause' })).toEqual(['/filter'])
    expect(await pointersOf({ kind: 'jobs.pause', filter: { colour: 'red' } })).toEqual(['/filter/colour'])
    expect(await pointersOf({ kind: 'jobs.edit', filter: {}, changes: {} })).toEqual(['/changes'])
    expect(await pointersOf({ kind: 'jobs.edit', filter: {}, changes: { target, priority: 1 } })).toEqual([
      '/changes/target',
    ])
    expect(await pointersOf({ kind: 'jobs.pause', filter: {}, rate: 0 })).toEqual(['/rate'])
  })
})
