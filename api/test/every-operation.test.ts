import { readFileSync } from 'node:fs'
import { scopes } from '@meridian/core/access/scope'
import { newToken } from '@meridian/core/access/token'
import { toWireId, uuidv7 } from '@meridian/core/kernel/ids'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Client, inAnHour, type Job, type Page, type Run, startTestApi, type TestApi, target } from './api.ts'

interface Documented {
  operationId: string
  security: unknown[]
  'x-required-scope'?: string
  requestBody?: { content: Record<string, { example?: unknown }> }
  responses: Record<string, { content?: Record<string, unknown> }>
}

const document = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8')) as {
  paths: Record<string, Record<string, Documented>>
}
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
)

let api: TestApi
let owner: Client
let readOnly: Client
let stranger: Client
/** What the owner has, by the name of the path parameter that names it. */
let owned: Record<string, string>

beforeAll(async () => {
  api = await startTestApi()
  const tenant = await api.tenant()
  owner = tenant.client
  stranger = (await api.tenant()).client
  owned = await furnish(owner)
  const reading = scopes.filter((scope) => scope.endsWith(':read') && scope !== 'payloads:read')
  const key = await owner.post<{ secret: string }>('/v1/keys', { name: 'reader', scopes: reading })
  readOnly = api.as(key.body.secret)
})
afterAll(() => api.close())

async function furnish(client: Client): Promise<Record<string, string>> {
  const nominalAt = inAnHour()
  const schedule = { type: 'every', every: 'PT1H', anchor: nominalAt }
  const job = await client.post<Job>('/v1/jobs', { name: 'theirs', externalId: 'theirs', target, schedule })
  const run = await client.post<Run>('/v1/runs', { target, dueAt: inAnHour(), queue: 'theirs' })
  await client.post('/v1/calendars', { name: 'theirs' })
  const blackout = await client.post<{ id: string }>('/v1/blackouts', {
    name: 'theirs',
    from: '2040-01-01T00:00:00Z',
    until: '2040-01-02T00:00:00Z',
  })
  const operation = await client.post<{ id: string }>('/v1/operations', {
    kind: 'jobs.pause',
    filter: { name: 'none' },
  })
  const breaker = await client.post<{ id: string }>('/v1/breakers', { host: 'theirs.example.com' })
  const limit = await client.post<{ id: string }>('/v1/limits', { name: 'theirs', concurrency: 5 })
  const imported = await client.post<{ id: string }>('/v1/imports', {
    source: '@daily curl https://example.com/theirs',
  })
  const keys = await client.get<Page<{ id: string }>>('/v1/keys')
  const projects = await client.get<Page<{ id: string }>>('/v1/projects')
  return {
    jobId: job.body.id,
    externalId: 'theirs',
    version: '1',
    nominalAt,
    runId: run.body.id,
    queueName: 'theirs',
    calendarName: 'theirs',
    blackoutId: blackout.body.id,
    limitId: limit.body.id,
    operationId: operation.body.id,
    // This project is none for tests, so there is no clock in it.
    testClockId: toWireId('clk', uuidv7(Date.now())),
    keyId: keys.body.data[0]?.id ?? '',
    projectId: projects.body.data[0]?.id ?? '',
    importId: imported.body.id,
    breakerId: breaker.body.id,
    token: newToken('mp'),
    signal: 'start',
  }
}

/** Sends a valid request; a stream is left as soon as its status is known. */
async function call(
  client: Client,
  { method, path, operation }: (typeof operations)[number],
  things = owned,
): Promise<{ status: number; text: string }> {
  const example = operation.requestBody?.content['application/json']?.example
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = things[name]
    if (value === undefined) throw new Error(`this test does not know the parameter ${name} of ${path}`)
    return encodeURIComponent(value)
  })
  if ('text/event-stream' in (operation.responses['200']?.content ?? {})) return client.open(method, filled)
  return client.send(method, filled, example)
}

const guarded = operations.filter(({ operation }) => operation.security.length > 0)

describe.each(guarded)('$operation.operationId', (each) => {
  const { path, method, operation } = each
  const scope = operation['x-required-scope']

  test('without a key it is 401', async () => {
    expect((await call(api.as(null), each)).status).toBe(401)
  })

  test('with a wrong key it is 401', async () => {
    expect((await call(api.as(newToken('mk')), each)).status).toBe(401)
    expect((await call(api.as(newToken('ms')), each)).status).toBe(401)
    expect((await call(api.as('nonsense'), each)).status).toBe(401)
  })

  if (scope !== undefined && (!scope.endsWith(':read') || scope === 'payloads:read')) {
    test('with a read-only key it is 403 and names the scope', async () => {
      const answer = await call(readOnly, each)
      expect(answer.status).toBe(403)
      expect(answer.text).toContain(scope)
    })
  } else {
    test('with a read-only key it is neither 401 nor a failure', async () => {
      expect([200, 403, 404]).toContain((await call(readOnly, each)).status)
    })
  }

  test("with another tenant's key it is 404, or tells nothing of the owner", async () => {
    const answer = await call(stranger, each)
    const isOwnCreate = method === 'PUT' && path.endsWith('/by-external-id/{externalId}')
    if (path.includes('{') && !isOwnCreate) expect(answer.status).toBe(404)
    // A problem repeats the path that was asked for, and nothing else.
    const told = answer.text.replace(/"instance":"[^"]*"/, '')
    for (const name of ['jobId', 'runId', 'keyId', 'projectId', 'importId', 'blackoutId', 'limitId'])
      expect(told).not.toContain(owned[name])
  })
})

/** What a key can't have, or what these things are not ready for; everything else succeeds. */
const otherwise: Record<string, number> = {
  closeSession: 403,
  createProject: 403,
  openSession: 403,
  createTestClock: 409,
  getTestClock: 404,
  advanceTestClock: 404,
  deleteTestClock: 404,
  // Of no jobs, so it is over already.
  abortOperation: 409,
  pauseOperation: 409,
  resumeOperation: 409,
  undoOperation: 409,
  // Its run has not failed.
  getDeadLetter: 404,
  redriveDeadLetter: 404,
  discardDeadLetter: 404,
  getRunResponse: 404,
  getRunResponseBody: 404,
  replayRun: 409,
}

test.each(operations)('$operation.operationId answers its own example as documented', async (each) => {
  const { client } = await api.tenant()
  const answer = await call(client, each, await furnish(client))
  const expected = otherwise[each.operation.operationId]
  if (expected === undefined) expect([200, 201, 204]).toContain(answer.status)
  else expect(answer.status).toBe(expected)
})

test('what is open to anybody is what it should be', () => {
  const open = operations.filter(({ operation }) => operation.security.length === 0)
  expect(open.map(({ operation }) => operation.operationId).sort()).toEqual([
    'getHealth',
    'getReady',
    'getSigningKeys',
    'openSession',
    'postPing',
    'postPingSignal',
    'sendPing',
    'sendPingSignal',
  ])
})

test("the owner's things are as they were", async () => {
  const job = await owner.get<Job>(`/v1/jobs/${owned.jobId}`)
  expect(job.body).toMatchObject({ name: 'theirs', version: 1, state: 'active' })
  expect((await owner.get<Run>(`/v1/runs/${owned.runId}`)).body.status).toBe('scheduled')
})
