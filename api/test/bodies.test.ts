import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Client, type Problem, type Run, startTestApi, type TestApi, target } from './api.ts'

let api: TestApi
let client: Client
let apiKey: string
beforeAll(async () => {
  api = await startTestApi()
  const tenant = await api.tenant()
  client = tenant.client
  apiKey = tenant.apiKey
})
afterAll(() => api.close())

const mib = 1024 * 1024
const json = JSON.stringify(target)

test.each([
  ['10 MB and more', `{"target":${json},"x":"${'x'.repeat(10 * mib)}"}`, 413],
  ['10,000 levels of arrays', `{"target":${'['.repeat(10_000)}${']'.repeat(10_000)}}`, 400],
  ['10,000 levels of objects', `{"target":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}`, 400],
  ['a key twice', `{"target":${json},"queue":"a","queue":"b"}`, 400],
  ['__proto__', `{"target":${json},"__proto__":{"isAdmin":true}}`, 400],
  [
    '__proto__ deep inside',
    '{"target":{"type":"http","url":"https://example.com/","body":{"__proto__":{"x":1}}}}',
    400,
  ],
  ['a constructor', `{"target":${json},"constructor":{"prototype":{"isAdmin":true}}}`, 422],
  ['half of a document', `{"target":${json}`, 400],
  ['no UTF-8', Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), 400],
  ['nothing at all', '', 400],
  ['an array', '[]', 422],
])('%s is refused', async (_, body, status) => {
  const before = process.memoryUsage().rss
  for (let time = 0; time < 3; time++) expect((await client.post<Problem>('/v1/runs', body)).status).toBe(status)
  expect(process.memoryUsage().rss - before).toBeLessThan(150 * mib)
  expect('isAdmin' in {}).toBe(false)
})

test('a body that never said how long it is, is cut off when it is too long', async () => {
  const { hostname, port } = new URL(api.url)
  const socket = connect(Number(port), hostname)
  const answered = new Promise<string>((resolve) => {
    socket.once('data', (data) => resolve(String(data)))
    socket.once('close', () => resolve('closed'))
    socket.once('error', () => resolve('broken'))
  })
  socket.write(
    `POST /v1/runs HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${apiKey}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
  )
  const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(0x10000, 'x'), Buffer.from('\r\n')])
  let sent = 0
  while (sent < 12 * mib && socket.writable) {
    sent += 0x10000
    if (!socket.write(chunk)) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), answered])
  }
  expect(await answered).toMatch(/^HTTP\/1\.1 413 [\s\S]*payload-too-large/)
  socket.destroy()
})

test('a body of almost 10 MB is taken', async () => {
  const large = { target: { ...target, body: 'x'.repeat(9 * mib) }, dueAt: new Date(Date.now() + 3_600_000) }
  expect((await client.post<Run>('/v1/runs', large)).status).toBe(201)
})

test('YAML has its own traps', async () => {
  const yaml = (text: string) =>
    client.post<Problem>('/v1/jobs', text, { 'content-type': 'application/yaml; charset=utf-8' })
  const bomb = [
    'a: &a [x,x,x,x,x,x,x,x,x]',
    ...'bcdefgh'.split('').map((letter, index) => `${letter}: &${letter} [${`*${'abcdefg'[index]},`.repeat(9)}]`),
  ]
  expect((await yaml(bomb.join('\n'))).status).toBe(400)
  expect((await yaml('name: x\nname: y')).status).toBe(400)
  expect((await yaml('__proto__: { isAdmin: true }')).status).toBe(400)
  expect((await yaml('['.repeat(5_000))).status).toBe(400)
  expect((await yaml(`x: ${'y'.repeat(mib)}`)).status).toBe(413)
  expect('isAdmin' in {}).toBe(false)
})

test('other content types are refused, and a missing one', async () => {
  for (const type of ['application/xml', 'text/plain', 'multipart/form-data', 'application/jsonx', '']) {
    expect((await client.post('/v1/runs', '{}', { 'content-type': type })).status).toBe(415)
  }
  expect((await client.post('/v1/runs', { target }, { 'content-type': 'application/merge-patch+json' })).status).toBe(
    201,
  )
})
