import { holdRuns } from '@meridian/core/breaker/hold'
import { admitRuns } from '@meridian/core/run/admit'
import { claimRuns } from '@meridian/core/run/claim'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { z } from 'zod'
import type { breakerSettingsWire, breakerWire } from '../src/wire/breaker.ts'
import type { whyWire } from '../src/wire/why.ts'
import { type Client, type Page, type Problem, type Run, startTestApi, type TestApi } from './api.ts'

type Breaker = z.output<typeof breakerWire>
type Settings = z.output<typeof breakerSettingsWire>

let api: TestApi
let client: Client
beforeAll(async () => {
  api = await startTestApi()
  client = (await api.tenant()).client
})
afterAll(() => api.close())

test('a breaker is opened by hand, holds what is due for its host, and is closed by hand', async () => {
  const opened = await client.post<Breaker>('/v1/breakers', { host: 'api.example.com:8443', reason: 'They move.' })
  expect(opened).toMatchObject({
    status: 200,
    body: { host: 'api.example.com:8443', state: 'open', reason: 'They move.', probeAt: null, held: 0 },
  })
  const target = { type: 'http', url: 'https://api.example.com:8443/in' }
  const { id } = (await client.post<Run>('/v1/runs', { target })).body
  const admitted = await admitRuns(api.db.engine, { pool: 1, batch: 10, capacity: 10, aheadMs: 25, queuedSeconds: 5 })
  const { runs } = await claimRuns(api.db.engine, 1, '01900000-0000-7000-8000-000000000000', admitted)
  const held = runs.map((lease) => ({ lease, host: 'api.example.com:8443' }))
  expect(await holdRuns(api.db.engine, 1, held)).toEqual(['held'])
  expect((await client.get<Run>(`/v1/runs/${id}`)).body).toMatchObject({ status: 'ready', attempt: 0 })
  expect((await client.get<z.output<typeof whyWire>>(`/v1/runs/${id}/why`)).body.reasons).toMatchObject([
    { code: 'breaker-open', evidence: { host: 'api.example.com:8443', reason: 'They move.', ahead: 0 } },
  ])
  expect((await client.get<Page<Breaker>>('/v1/breakers')).body.data).toMatchObject([{ id: opened.body.id, held: 1 }])
  const path = `/v1/breakers/${opened.body.id}`
  expect(await client.post<Breaker>(`${path}/close`)).toMatchObject({
    status: 200,
    body: { state: 'draining', held: 1 },
  })
  expect((await client.get<Breaker>(path)).body).toMatchObject({ state: 'draining', closedBy: opened.body.openedBy })
})

test.each(['', 'API.example.com', 'api.example.com:80', 'http://api.example.com', 'a b', 'x/y', 'user@x', '[::1'])(
  'the host %j is refused, and where it stood is said',
  async (host) => {
    expect(await client.post<Problem>('/v1/breakers', { host })).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: '/host' }] },
    })
  },
)

test('settings begin with the defaults and are changed by who knows them', async () => {
  const before = await client.get<Settings>('/v1/breaker-settings')
  expect(before.body).toEqual({ isEnabled: true, failures: 20, failureShare: 0.5, windowSeconds: 30, version: 0 })
  const etag = before.headers.get('etag') ?? ''
  const changed = await client.send<Settings>('PATCH', '/v1/breaker-settings', { failures: 5 }, { 'if-match': etag })
  expect(changed).toMatchObject({ status: 200, body: { failures: 5, isEnabled: true, version: 1 } })
  expect(await client.send('PATCH', '/v1/breaker-settings', { failures: 6 }, { 'if-match': etag })).toMatchObject({
    status: 412,
  })
  expect(await client.send('PATCH', '/v1/breaker-settings', { failureShare: 2 })).toMatchObject({ status: 422 })
})
