import { newToken } from '@meridian/core/access/token'
import { serverCrontab } from '@meridian/core/import/samples'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { z } from 'zod'
import type { importWire, reportWire, switchedWire } from '../src/wire/import.ts'
import { type Client, type Job, type Page, type Problem, startTestApi, type TestApi } from './api.ts'

type Import = z.output<typeof importWire>

let api: TestApi
let client: Client
beforeAll(async () => {
  api = await startTestApi()
  client = (await api.tenant()).client
})
afterAll(() => api.close())

const target = { url: 'http://127.0.0.1:9/run' }
const body = { source: serverCrontab, timezone: 'Europe/Berlin', prefix: 'web-1', target }

describe('an import', () => {
  test('looked at first, answers 200 and writes nothing', async () => {
    const answer = await client.post<Import>('/v1/imports?dryRun=true', body)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ id: null, format: 'crontab', createdAt: null })
    expect(answer.body.entries).toHaveLength(20)
    expect((await client.get<Page<Job>>('/v1/jobs')).body.data).toEqual([])
  })

  test('is made once per key, is listed, and can be looked at', async () => {
    const first = await client.post<Import>('/v1/imports', body, { 'idempotency-key': 'one' })
    const second = await client.post<Import>('/v1/imports', body, { 'idempotency-key': 'one' })
    expect(first.status).toBe(201)
    expect(second.body).toEqual(first.body)
    expect(second.headers.get('idempotency-replayed')).toBe('true')
    expect((await client.get(`/v1/imports/${first.body.id}`)).body).toEqual(first.body)
    const list = await client.get<Page<Import>>('/v1/imports')
    expect(list.body.data).toMatchObject([{ id: first.body.id, counts: { created: 16, refused: 4 } }])
  })

  test('is switched at once, and each of its jobs says so', async () => {
    const made = await client.post<Import>('/v1/imports', { ...body, prefix: 'web-2' })
    const jobId = made.body.entries[0]?.jobId
    expect((await client.get<Job>(`/v1/jobs/${jobId}`)).body.mode).toBe('shadow')
    const switched = await client.post<z.output<typeof switchedWire>>(`/v1/imports/${made.body.id}/switch`, {
      mode: 'live',
    })
    expect(switched.body.changed).toBe(16)
    expect((await client.get<Job>(`/v1/jobs/${jobId}`)).body.mode).toBe('live')
    expect((await client.post<Job>(`/v1/jobs/${jobId}/mode`, { mode: 'shadow' })).body.mode).toBe('shadow')
  })

  test('that can not be read says at which line', async () => {
    const answer = await client.post<Problem>('/v1/imports', { source: '1 1 * * *\nnonsense', target })
    expect(answer.status).toBe(422)
    expect(answer.body.errors).toMatchObject([
      { pointer: '/source', detail: expect.stringMatching(/^Line 1/) },
      { detail: expect.stringMatching(/^Line 2/) },
    ])
  })
})

describe('a ping', () => {
  const send = async (url: string, init?: RequestInit): Promise<{ status: number; text: string }> => {
    const response = await fetch(url, init)
    return { status: response.status, text: await response.text() }
  }
  /** What is published may be another address than the one this test listens at. */
  const here = (url: string): string => api.url + new URL(url).pathname
  const pingsOf = async (jobId: string) =>
    (await client.get<Page<Record<string, unknown>>>(`/v1/jobs/${jobId}/pings`)).body.data

  test('comes by GET and POST, as a start, an end, a failure or an exit code', async () => {
    const job = await client.post<Job>('/v1/jobs', {
      name: 'elsewhere',
      target: { type: 'http', url: 'http://127.0.0.1:9/' },
    })
    const url = here((await client.post<{ url: string }>(`/v1/jobs/${job.body.id}/ping-url`)).body.url)
    const form = {
      method: 'POST',
      body: 'x'.repeat(50_000),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    }
    for (const answer of [
      await send(`${url}/start`),
      await send(url),
      await send(`${url}/fail`),
      await send(`${url}/0`),
      await send(`${url}/137`, form),
    ])
      expect(answer).toEqual({ status: 200, text: 'OK\n' })
    expect((await send(`${url}/banana`)).status).toBe(404)
    const pings = await pingsOf(job.body.id)
    expect(pings.map(({ kind, exitCode }) => [kind, exitCode])).toEqual([
      ['fail', 137],
      ['finish', 0],
      ['fail', null],
      ['finish', null],
      ['start', null],
    ])
    expect(String(pings[0]?.body)).toHaveLength(4_096)
  })

  test('is answered alike whether there is such a URL or not', async () => {
    const job = await client.post<Job>('/v1/jobs', {
      name: 'elsewhere',
      target: { type: 'http', url: 'http://127.0.0.1:9/' },
    })
    const url = here((await client.post<{ url: string }>(`/v1/jobs/${job.body.id}/ping-url`)).body.url)
    const [known, unknown, nonsense] = await Promise.all([
      fetch(url),
      fetch(`${api.url}/ping/${newToken('mp')}`),
      fetch(`${api.url}/ping/x`),
    ])
    const shape = async (response: Response) => [
      response.status,
      await response.text(),
      [...response.headers.keys()].sort(),
    ]
    const expected = await shape(known)
    expect(await shape(unknown)).toEqual(expected)
    expect(await shape(nonsense)).toEqual(expected)
  })

  test('too often is 429, for a URL that there is none of as well', async () => {
    const url = `${api.url}/ping/${newToken('mp')}`
    const statuses = await Promise.all(Array.from({ length: 330 }, async () => (await fetch(url)).status))
    expect(statuses.filter((status) => status === 200)).toHaveLength(300)
    expect(statuses.filter((status) => status === 429)).toHaveLength(30)
  })
})

test('the report of an import tells of the last day', async () => {
  const made = await client.post<Import>('/v1/imports', { source: '0 0 1 1 * curl http://127.0.0.1:9/', prefix: 'r' })
  const urls = await client.post<{ data: { url: string }[] }>(`/v1/imports/${made.body.id}/ping-urls`)
  await fetch(api.url + new URL(urls.body.data[0]?.url ?? '').pathname)
  const report = await client.get<z.output<typeof reportWire>>(
    `/v1/imports/${made.body.id}/report?buckets=24&to=${encodeURIComponent(new Date(Date.now() + 1_000).toISOString())}`,
  )
  expect(report.body.totals).toMatchObject({ unexpected: 1, matched: 0, failed: 0 })
  expect(report.body.buckets).toHaveLength(24)
  expect(report.body.buckets.at(-1)?.counts.unexpected).toBe(1)
  const wrong = await client.get(`/v1/imports/${made.body.id}/report?from=2026-01-01T00:00:00Z&to=2025-01-01T00:00:00Z`)
  expect(wrong.status).toBe(422)
})
