import { keepDead } from '@meridian/core/dead-letter/keep'
import { readEvents } from '@meridian/core/event/read'
import { fromWireId } from '@meridian/core/kernel/ids'
import { stepOperation } from '@meridian/core/operation/step'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { z } from 'zod'
import type { deadLetterWire, letterGroupWire } from '../src/wire/dead-letter.ts'
import { type Client, type Page, type Problem, type Run, startTestApi, type TestApi, target } from './api.ts'

type Letter = z.output<typeof deadLetterWire>
type Group = z.output<typeof letterGroupWire>

let api: TestApi
let client: Client
beforeAll(async () => {
  api = await startTestApi()
  client = (await api.tenant()).client
})
afterAll(() => api.close())

/** A run that has failed, as if an executor had said so, with its letter. */
async function failed(queue: string): Promise<string> {
  const { id } = (await client.post<Run>('/v1/runs', { target, queue })).body
  await api.db.owner.query(
    `with w as (delete from ready where id = $1 returning *),
     r as (
       insert into runs (tenant_id, project_id, id, queue_id, pool, state, attempt, fence, due_at, started_at, ended_at, error, http_status)
       select tenant_id, project_id, id, queue_id, pool, 5, 1, 1, due_at, now(), clock_timestamp(), 'http-status', 503 from w
       returning tenant_id, project_id, id)
     insert into events (tenant_id, project_id, type, subject) select tenant_id, project_id, 'run.failed', id from r`,
    [fromWireId('run', id)],
  )
  await keepDead(api.db.engine, await readEvents(api.db.engine, '0-0', 1_000))
  return id
}

test('a failed run is listed, counted in its group, redriven once, and discarded never after', async () => {
  const id = await failed('first')
  const { body: page } = await client.get<Page<Letter>>('/v1/dead-letters?queue=first')
  expect(page.data).toMatchObject([{ runId: id, state: 'open', httpStatus: 503, failures: 1, isQuarantined: false }])
  const { body: groups } = await client.get<Page<Group>>('/v1/dead-letters/groups')
  expect(groups.data).toMatchObject([{ queue: 'first', count: 1, quarantined: 0, error: 'http-status', lastRunId: id }])
  const redriven = await client.post<Run>(`/v1/dead-letters/${id}/redrive`, { delay: 'PT30S', body: { other: true } })
  expect(redriven).toMatchObject({ status: 201, body: { status: 'scheduled', replayOf: id, source: 'replay' } })
  expect((await client.get<Letter>(`/v1/dead-letters/${id}`)).body).toMatchObject({
    state: 'redriven',
    redrivenAs: redriven.body.id,
  })
  expect(await client.post<Problem>(`/v1/dead-letters/${id}/discard`)).toMatchObject({
    status: 409,
    body: { code: 'invalid-transition' },
  })
  expect((await client.get<Page<Letter>>('/v1/dead-letters?state=redriven')).body.data).toHaveLength(1)
})

test('many are redriven by a filter; ids come back as they went in', async () => {
  const ids = [await failed('many'), await failed('many')]
  const body = { kind: 'dead-letters.redrive', filter: { ids }, delay: 'PT5M' }
  const planned = await client.post(`/v1/operations?dryRun=true`, body)
  expect(planned).toMatchObject({ status: 200, body: { total: 2, plan: { filter: { ids }, delay: 'PT5M' } } })
  expect(await client.post('/v1/operations', body)).toMatchObject({ status: 201 })
  const { clock, keyRing } = api.services
  while ((await stepOperation({ engine: api.db.engine, keyRing, clock, shard: 1 })) !== null);
  expect((await client.get<Page<Letter>>('/v1/dead-letters?queue=many')).body.data).toEqual([])
})

test('open runs are cancelled by a filter', async () => {
  await client.post<Run>('/v1/runs', { target, queue: 'gone', dueAt: '2099-01-01T00:00:00Z' })
  const operation = { kind: 'runs.cancel', filter: { queue: 'gone', dueFrom: '2098-01-01T00:00:00Z' } }
  expect(await client.post('/v1/operations', operation)).toMatchObject({ status: 201, body: { total: 1 } })
})

test('a queue says whether its runs leave dead letters, and an expression that is none is refused with its place', async () => {
  const { client } = await api.tenant()
  type Queue = { deadLetters: string; version: number }
  const made = await client.post<Queue>('/v1/queues', { name: 'carefree', deadLetters: 'drop' })
  expect(made.body.deadLetters).toBe('drop')
  const changed = await client.send('PATCH', '/v1/queues/carefree', { deadLetters: 'keep' })
  expect(JSON.parse(changed.text)).toMatchObject({ deadLetters: 'keep', version: 2 })
  const retry = { limit: 3, expression: 'status == 429 ? soon : stop' }
  const refused = await client.post<Problem>('/v1/jobs', { name: 'asks', target, retry })
  expect([refused.status, refused.body.errors?.map(({ pointer }) => pointer)]).toEqual([422, ['/retry/expression']])
  expect((await client.post('/v1/jobs', { name: 'asks', target, retry: { expression: 'delay * 2' } })).status).toBe(201)
})
