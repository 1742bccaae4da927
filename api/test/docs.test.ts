import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApiDocument } from '../src/openapi-document.ts'
import { operations } from '../src/operations.ts'
import { startTestApi, type TestApi } from './api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.close())

const committed = fileURLToPath(new URL('../openapi.json', import.meta.url))

test('the committed document is what the operations say', () => {
  expect(JSON.parse(readFileSync(committed, 'utf8'))).toEqual(openApiDocument(operations))
})

test('the document is clean', () => {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const args = ['lint', committed, '--config', 'redocly.yaml', '--format', 'json']
  const report = JSON.parse(
    execFileSync('node_modules/.bin/redocly', args, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] }).toString(),
  ) as {
    problems: unknown[]
  }
  expect(report.problems).toEqual([])
})

test('operation ids are unique, every operation has a tag that is explained, every create takes a key', () => {
  const ids = operations.map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  const { tags } = openApiDocument(operations) as { tags: { name: string }[] }
  expect(operations.filter(({ tag }) => !tags.some(({ name }) => name === tag))).toEqual([])
  const creates = operations.filter(({ method, answer }) => method === 'post' && answer.status === 201)
  const without = creates.filter(({ isCreate }) => isCreate !== true).map(({ id }) => id)
  // None makes a thing that could be made twice by mistake: a session is its own secret, a log line is a line, and an
  // operation is undone once.
  expect(without.sort()).toEqual(['addRunLogs', 'openSession', 'undoOperation'])
})

test('the document is served, with where it was asked for', async () => {
  const answer = await api.as(null).get<{ servers: unknown }>('/openapi.json')
  expect([answer.status, answer.body.servers]).toEqual([200, [{ url: 'http://api.test' }]])
})

test('the reference loads nothing from anywhere else', async () => {
  const page = await api.as(null).get('/docs')
  expect(page.status).toBe(200)
  const policy = page.headers.get('content-security-policy') ?? ''
  expect(policy).toMatch(/script-src 'self' 'nonce-[^']+'/)
  expect(policy).not.toMatch(/https?:|\*/)
  const sources = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, source]) => source)
  expect(sources).toEqual(['/docs/reference.js'])
  expect((await api.as(null).get('/docs/reference.js')).text.length).toBeGreaterThan(1_000_000)
})

test('metrics name operations, never ids', async () => {
  const { client } = await api.tenant()
  await client.get('/v1/runs/run_01h455vb4pex5vsknk084sn02q')
  const { text } = await api.as(null).get('/metrics')
  expect(text).toMatch(
    /meridian_http_request_duration_seconds_count\{[^}]*route="\/v1\/runs\/\{runId\}"[^}]*status="404"[^}]*\} 1/,
  )
  expect(text).not.toContain('run_01')
})

test('a request leaves one line in the log, with who asked and without what was said', async () => {
  const { client, apiKey } = await api.tenant()
  const answer = await client.post('/v1/jobs', {
    name: 'secret-name',
    target: { type: 'http', url: 'https://example.com/' },
  })
  const lines = api.log.filter(({ requestId }) => requestId === answer.headers.get('x-request-id'))
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatchObject({
    msg: 'request',
    method: 'POST',
    route: '/v1/jobs',
    status: 201,
    actor: expect.stringMatching(/^key:/),
  })
  expect(JSON.stringify(lines)).not.toMatch(new RegExp(`secret-name|${apiKey}`))
})
