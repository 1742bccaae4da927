import { randomUUID } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import { waitFor } from '../wait.ts'
import { Person, type WireRun } from './person.ts'

const person = await Person.meet()
afterAll(() => person.leave())

const inMs = (milliseconds: number) => new Date(Date.now() + milliseconds).toISOString()

test('a run due now is called at once, and tells its target who it is', async () => {
  const { id } = await person.run()
  const run = await person.ended(id)
  const [call, ...others] = await person.calls(id)
  expect(others).toEqual([])
  expect(run).toMatchObject({ status: 'succeeded', attempt: 1, httpStatus: 200, error: null })
  expect(call).toMatchObject({ run: id, attempt: 1, dueAt: run.dueAt, idempotencyKey: id })
  expect(call?.fence).toMatch(/^\d+$/)
})

test('a run due later is called at its instant, never before', async () => {
  const dueAt = inMs(1_500)
  const { id, status } = await person.run('ok', { dueAt })
  expect(status).toBe('scheduled')
  await person.ended(id)
  const [call] = await person.calls(id)
  const lateMs = (call?.receivedAtMs ?? 0) - Date.parse(dueAt)
  expect(lateMs).toBeGreaterThanOrEqual(0)
  expect(lateMs).toBeLessThan(1_000)
})

test('a batch is accepted as one and every run of it is performed', async () => {
  const queue = `batch-${randomUUID()}`
  const runs = Array.from({ length: 250 }, () => ({ target: person.target(), queue }))
  const { data } = await person.api.ask<{ data: WireRun[] }>('POST', '/v1/runs/batch', { runs })
  expect(data).toHaveLength(250)
  const ends = await Promise.all(data.map(({ id }) => person.ended(id)))
  expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(['succeeded']))
  const calls = await person.receiver.requests(person.label)
  const called = new Set(calls.map(({ run }) => run))
  expect(data.filter(({ id }) => !called.has(id))).toEqual([])
})

test('a failing target is tried again, and every attempt is kept', async () => {
  const { id } = await person.run('fail/2')
  expect(await person.ended(id)).toMatchObject({ status: 'succeeded', attempt: 3 })
  const { data } = await person.api.ask<{ data: { attempt: number; status: string; httpStatus: number }[] }>(
    'GET',
    `/v1/runs/${id}/attempts`,
  )
  expect(data.map(({ attempt, status, httpStatus }) => [attempt, status, httpStatus])).toEqual([
    [1, 'failed', 500],
    [2, 'failed', 500],
    [3, 'succeeded', 200],
  ])
  const calls = await person.calls(id)
  expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey))).toEqual(new Set([id]))
})

test('a target that asks for a pause is given it', async () => {
  const { id } = await person.run('retry-after/1/1')
  await person.ended(id)
  const [first, second] = await person.calls(id)
  const pauseMs = (second?.receivedAtMs ?? 0) - (first?.receivedAtMs ?? 0)
  expect(pauseMs).toBeGreaterThanOrEqual(1_000)
  expect(pauseMs).toBeLessThan(1_000 * 1.1 + 500)
})

test('a run that always fails ends as failed, and a replay of it is a new run that names it', async () => {
  const retry = { limit: 1, delay: 'PT0.05S' }
  const { id } = await person.run('status/404', { retry })
  expect(await person.ended(id)).toMatchObject({ status: 'failed', attempt: 1, httpStatus: 404 })
  const replay = await person.api.ask<WireRun>('POST', `/v1/runs/${id}/replay`)
  expect(replay.replayOf).toBe(id)
  expect(await person.ended(replay.id)).toMatchObject({ status: 'failed' })
  expect(await person.get(id)).toMatchObject({ status: 'failed', attempt: 1 })
})

test('a target that hangs is given up in time', async () => {
  const target = { ...person.target('hang'), timeout: 'PT0.5S' }
  const { id } = await person.api.ask<WireRun>('POST', '/v1/runs', { target, retry: { limit: 0 } })
  const run = await person.ended(id)
  expect(run).toMatchObject({ status: 'failed', error: 'timeout' })
  const [call] = await person.calls(id)
  expect(Date.parse(run.finishedAt ?? '') - (call?.receivedAtMs ?? 0)).toBeLessThan(1_500)
})

test('a cancelled run is never called', async () => {
  const { id } = await person.run('ok', { dueAt: inMs(600) })
  const cancelled = await person.api.ask<WireRun>('POST', `/v1/runs/${id}/cancel`)
  expect(cancelled.status).toBe('cancelled')
  const next = await person.run('ok', { dueAt: inMs(900) })
  await person.ended(next.id)
  expect(await person.calls(id)).toEqual([])
})

test('the same create with the same key is the same run', async () => {
  const key = { 'idempotency-key': randomUUID() }
  const body = { target: person.target(), dueAt: inMs(3_600_000) }
  const first = await person.api.send<WireRun>('POST', '/v1/runs', body, key)
  const again = await person.api.send<WireRun>('POST', '/v1/runs', body, key)
  expect(again.body.id).toBe(first.body.id)
  const other = await person.api.send('POST', '/v1/runs', { ...body, queue: 'other' }, key)
  expect(other.status).toBe(422)
})

test('the live stream tells of a run as it happens', async () => {
  const controller = new AbortController()
  const response = await fetch(`${person.api.origin}/v1/events/stream`, {
    headers: { ...person.api.headers, accept: 'text/event-stream' },
    signal: controller.signal,
  })
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
  let heard = ''
  const listening = (async () => {
    for await (const chunk of response.body ?? []) heard += new TextDecoder().decode(chunk)
  })().catch(() => undefined)
  const { id } = await person.run()
  await waitFor('the stream to tell of the end', () => heard.includes('run.succeeded') && heard.includes(id))
  expect(heard).toMatch(/^id: .+$/m)
  controller.abort()
  await listening
})
