import { existsSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { problemCodes } from '../src/http/problems.ts'
import { type Client, type Problem, startTestApi, type TestApi, target } from './api.ts'

let api: TestApi
let client: Client
beforeAll(async () => {
  api = await startTestApi()
  client = (await api.tenant()).client
})
afterAll(() => api.close())

const pageOf = (code: string): URL => new URL(`../../docs/problems/${code}.md`, import.meta.url)

test.each(problemCodes)('the problem %s is explained, in the docs and by the API', async (code) => {
  expect(existsSync(pageOf(code))).toBe(true)
  const served = await api.as(null).get(`/problems/${code}`)
  expect([served.status, served.text]).toEqual([200, readFileSync(pageOf(code), 'utf8')])
})

/** What must never be in an answer: stacks, statements, paths, names from inside. */
const insides = /\bat .+\.(ts|js):\d+|node_modules|\bselect\b.+\bfrom\b|\binsert into\b|pg_|SQLSTATE|\.ts\b|Error:/i
const missing = '01h455vb4pex5vsknk084sn02q'
const run = { target }

describe.each<
  [what: string, status: number, method: string, path: string, body?: unknown, headers?: Record<string, string>]
>([
  ['an unknown path', 404, 'GET', '/v1/nothing'],
  ['an unknown path outside of v1', 404, 'GET', '/nothing'],
  ['a wrong method', 405, 'DELETE', '/v1/runs'],
  ['a missing run', 404, 'GET', `/v1/runs/run_${missing}`],
  ['a missing job', 404, 'GET', `/v1/jobs/job_${missing}`],
  ['a missing job to change', 404, 'PATCH', `/v1/jobs/job_${missing}`, { name: 'x' }],
  ['a missing queue', 404, 'GET', '/v1/queues/nowhere'],
  ['a queue that can not be', 404, 'GET', '/v1/queues/%20'],
  ['a missing key to revoke', 404, 'DELETE', `/v1/keys/key_${missing}`],
  ['an id of another kind', 404, 'GET', `/v1/runs/job_${missing}`],
  ['an id that is none', 404, 'GET', "/v1/runs/'%20or%201=1"],
  ['a path that is no text', 404, 'GET', '/v1/runs/%ff'],
  ['a negative page', 422, 'GET', '/v1/runs?limit=-1'],
  ['a huge page', 422, 'GET', '/v1/runs?limit=1000000'],
  ['a page that is no number', 422, 'GET', '/v1/runs?limit=ten'],
  ['a forged cursor', 400, 'GET', '/v1/runs?cursor=x'],
  ['an unknown status', 422, 'GET', '/v1/runs?status=lazy'],
  ['an unknown parameter', 422, 'GET', '/v1/runs?colour=red'],
  ['a range upside down', 422, 'GET', '/v1/stats/runs?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z'],
  ['no body', 400, 'POST', '/v1/runs'],
  ['an empty object', 422, 'POST', '/v1/runs', {}],
  ['half of a document', 400, 'POST', '/v1/runs', '{"target":'],
  ['a wrong content type', 415, 'POST', '/v1/runs', '<run/>', { 'content-type': 'application/xml' }],
  ['an unknown target', 422, 'POST', '/v1/runs', { target: { type: 'fax' } }],
  ['a bad URL', 422, 'POST', '/v1/runs', { target: { type: 'http', url: 'not a url' } }],
  ['a URL of another scheme', 422, 'POST', '/v1/runs', { target: { type: 'http', url: 'file:///etc/passwd' } }],
  ['a due instant that is none', 422, 'POST', '/v1/runs', { ...run, dueAt: 'soon' }],
  ['an unknown field', 422, 'POST', '/v1/runs', { ...run, colour: 'red' }],
  ['a batch of none', 422, 'POST', '/v1/runs/batch', { runs: [] }],
  ['a batch of too many', 422, 'POST', '/v1/runs/batch', { runs: Array.from({ length: 1_001 }, () => run) }],
  ['a job without a name', 422, 'POST', '/v1/jobs', run],
  ['a stale version', 412, 'PATCH', '', { name: 'x' }, { 'if-match': '"7"' }],
  ['an event id that is none', 400, 'GET', '/v1/events/stream', undefined, { 'last-event-id': 'x' }],
  ['a scope that is none', 422, 'POST', '/v1/keys', { name: 'x', scopes: ['all'] }],
  ['an ID token without a provider', 403, 'POST', '/v1/sessions', { idToken: 'x' }],
])('%s', (_, status, method, path, body, headers) => {
  test(`is a problem of status ${status} that tells nothing of the inside`, async () => {
    const job = path === '' ? (await client.post<{ id: string }>('/v1/jobs', { name: 'one', target })).body.id : ''
    const answer = await client.send<Problem>(method, path === '' ? `/v1/jobs/${job}` : path, body, headers)
    expect(answer.status).toBe(status)
    expect(answer.body.type).toBe(`http://api.test/problems/${answer.body.code}`)
    expect(answer.body.requestId).toBe(answer.headers.get('x-request-id'))
    expect(answer.text).not.toMatch(insides)
    if (status === 422) expect(answer.body.errors?.length).toBeGreaterThan(0)
  })
})

test('a wrong method names the right ones', async () => {
  expect((await client.send('DELETE', '/v1/runs')).headers.get('allow')).toBe('POST, GET')
})

test('pointers lead into the body', async () => {
  const pointers = async (body: unknown) =>
    (await client.post<Problem>('/v1/jobs', body)).body.errors?.map(({ pointer }) => pointer)
  expect(await pointers({ target })).toEqual(['/name'])
  expect(await pointers({ name: 'x', target: { ...target, headers: { Host: 'x' } } })).toEqual(['/target/headers/Host'])
  expect(await pointers({ name: 'x', target, retry: { limit: -1 } })).toEqual(['/retry/limit'])
  expect(await pointers({ name: 'x', target, schedule: { type: 'every', every: 'PT0S' } })).toEqual(['/schedule/every'])
  expect(await pointers({ name: 'x', target, 'a/b~c': 1 })).toEqual(['/a~1b~0c'])
})

test('what breaks inside is told as one fixed sentence, and logged with all there is', async () => {
  const broken = await startTestApi()
  try {
    const { client: own } = await broken.tenant()
    await own.get('/v1/me')
    await broken.db.owner.query('alter table limits rename column weight to height')
    const answer = await own.get<Problem>('/v1/queues')
    expect([answer.status, answer.body.code]).toEqual([500, 'internal'])
    expect(answer.text).not.toMatch(/weight|column|query/i)
    const line = broken.log.find(({ requestId }) => requestId === answer.body.requestId)
    expect(line).toMatchObject({ level: 'error', status: 500, err: { message: expect.stringMatching(/weight/) } })
  } finally {
    await broken.close()
  }
})

/** Sends bytes that no HTTP library would. */
function sendRaw(text: string): Promise<string> {
  const { hostname, port } = new URL(api.url)
  const socket = connect(Number(port), hostname)
  socket.end(text)
  return new Promise((resolve) => {
    let answer = ''
    socket.on('data', (data) => {
      answer += String(data)
    })
    socket.once('close', () => resolve(answer))
    socket.once('error', () => resolve(answer))
  })
}

test('even what is no HTTP is answered with a problem', async () => {
  expect(await sendRaw('hello\r\n\r\n')).toMatch(
    /^HTTP\/1\.1 400 [\s\S]*application\/problem\+json[\s\S]*malformed-request/,
  )
  expect(await sendRaw('GET /v1/me HTTP/1.1\r\nhost: a b c\r\nconnection: close\r\n\r\n')).toMatch(
    /^HTTP\/1\.1 400 [\s\S]*application\/problem\+json/,
  )
  const long = await sendRaw(`GET /v1/me HTTP/1.1\r\nhost: x\r\nidempotency-key: ${'k'.repeat(20_000)}\r\n\r\n`)
  expect(long).toMatch(/^HTTP\/1\.1 400 [\s\S]*larger than 16 KB/)
})
