import { createServer, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { ErrorClass } from '@meridian/core/run/outcome'
import { expect, test } from 'vitest'
import { performHttp } from '../src/perform/http.ts'
import { answer, attemptOf, keeping, listen, listenHttp, listenRaw, openDoor } from './servers.ts'

// R16: whatever a target does, the attempt ends in time, as the right class, with bounded memory.

const timeoutMs = 300
const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n'

type Behaviour = (socket: Socket) => void

const write =
  (bytes: string): Behaviour =>
  (socket) =>
    void socket.write(bytes)

const end =
  (bytes: string): Behaviour =>
  (socket) =>
    void socket.end(bytes)

/** Writes a beginning, and then the same bytes until the peer has gone. */
const flood =
  (beginning: string, bytes: string | Buffer): Behaviour =>
  (socket) => {
    const pump = (): void => {
      while (!socket.destroyed && socket.write(bytes));
    }
    socket.write(beginning)
    socket.on('drain', pump)
    pump()
  }

/** Writes a beginning, and then a few bytes every 50 ms. */
const drip =
  (beginning: string, bytes: string): Behaviour =>
  (socket) => {
    socket.write(beginning)
    const timer = setInterval(() => socket.write(bytes), 50)
    socket.on('close', () => clearInterval(timer))
  }

const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'
const processing = 'HTTP/1.1 102 Processing\r\n\r\n'
const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'
const half = `${head}content-length: 10\r\n\r\nhalf`
const chunked = `${head}transfer-encoding: chunked\r\n\r\n`

interface Ending {
  errorClass?: ErrorClass
  status?: 'succeeded'
  httpStatus?: number | null
}

// biome-ignore format: a table
const behaviours: [string, Behaviour, Ending][] = [
  ['never answers', () => undefined, { errorClass: 'timeout', httpStatus: null }],
  ['answers nonsense, slowly', drip('', 'H'), { errorClass: 'protocol-error', httpStatus: null }],
  ['sends headers without end, slowly', drip(head, 'x-a: b\r\n'), { errorClass: 'timeout', httpStatus: null }],
  ['sends headers without end, fast', flood(head, 'x-a: b\r\n'.repeat(1_000)), { errorClass: 'protocol-error', httpStatus: null }],
  ['sends its body a byte at a time', drip(`${head}content-length: 100000\r\n\r\n`, 'x'), { errorClass: 'timeout', httpStatus: 200 }],
  ['stops within its body', write(half), { errorClass: 'timeout', httpStatus: 200 }],
  ['closes within its body', end(half), { errorClass: 'reset', httpStatus: 200 }],
  ['closes within its body, as it said', end(half.replace('content-length', 'connection: close\r\ncontent-length')), { errorClass: 'reset', httpStatus: 200 }],
  ['closes within its chunks', end(`${chunked}4\r\nhalf\r\n`), { errorClass: 'reset', httpStatus: 200 }],
  ['closes at once', end(''), { errorClass: 'reset', httpStatus: null }],
  ['resets the connection', (socket) => void socket.resetAndDestroy(), { errorClass: 'reset', httpStatus: null }],
  ['resets within its body', (socket) => void socket.write(half, () => socket.resetAndDestroy()), { errorClass: 'reset' }],
  ['sends a bad chunk', write(`${chunked}zz\r\nbad\r\n`), { errorClass: 'protocol-error', httpStatus: 200 }],
  ['gives two lengths', write(`${head}content-length: 1\r\ncontent-length: 2\r\n\r\nab`), { errorClass: 'protocol-error' }],
  ['gives a length and chunks', write(`${head}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`), { errorClass: 'protocol-error' }],
  ['speaks another protocol', write('SSH-2.0-OpenSSH_9.2\r\n'), { errorClass: 'protocol-error', httpStatus: null }],
  ['switches protocols unasked', write(upgrade), { errorClass: 'protocol-error' }],
  ['sends interim answers without end', flood('', hints.repeat(1_000)), { errorClass: 'protocol-error', httpStatus: null }],
  ['sends interim answers without end, slowly', drip('', processing), { errorClass: 'timeout', httpStatus: null }],
  ['sends a few interim answers first', write(`${processing.repeat(3)}${head}content-length: 2\r\n\r\nok`), { status: 'succeeded', httpStatus: 200 }],
  ['answers twice', write(`${head}content-length: 2\r\n\r\nok`.repeat(2)), { status: 'succeeded', httpStatus: 200 }],
  ['sends chunks of one byte without end', flood(chunked, '1\r\nx\r\n'.repeat(10_000)), { status: 'succeeded', httpStatus: 200 }],
]

test.each(behaviours)('a target that %s', async (_what, onRequest, expected) => {
  const { port } = await listenRaw(onRequest)
  // Only who is to run into the limit gets a short one: on a busy machine the others would too.
  const limitMs = 'errorClass' in expected && expected.errorClass === 'timeout' ? timeoutMs : 10_000
  const outcome = await performHttp(openDoor(), attemptOf(`http://127.0.0.1:${port}/`, { timeoutMs: limitMs }), keeping)
  expect(outcome).toMatchObject(expected)
  expect(outcome.durationMs).toBeLessThan(limitMs + 1_000)
})

test('a target that does not read a long body', async () => {
  const { port } = await listen(createServer({ pauseOnConnect: true }))
  const body = Buffer.alloc(10_000_000)
  const outcome = await performHttp(openDoor(), attemptOf(`http://127.0.0.1:${port}/`, { timeoutMs, body }), keeping)
  expect(outcome).toMatchObject({ errorClass: 'timeout' })
})

test.each([
  ['http', 'connect-failed', 'ECONNREFUSED'],
  ['https', 'connect-failed', 'ECONNREFUSED'],
])('a port where nobody listens, by %s', async (scheme, errorClass, code) => {
  const { port } = await listenHttp((_request, response) => answer(response, 200), '127.0.0.5')
  const outcome = await performHttp(openDoor(), attemptOf(`${scheme}://127.0.0.1:${port}/`), keeping)
  expect(outcome).toMatchObject({ errorClass, detail: expect.stringContaining(code), phases: { sendMs: null } })
})

test('a target that accepts and never shakes hands, and one that speaks plain HTTP where TLS is asked for', async () => {
  const outbound = openDoor({ connectTimeoutMs: 200 })
  const silent = await listen(createServer())
  const outcome = await performHttp(outbound, attemptOf(`https://127.0.0.1:${silent.port}/`), keeping)
  expect(outcome).toMatchObject({ errorClass: 'tls-failed' })
  expect(outcome.durationMs).toBeLessThan(1_200)
  const plain = await listenRaw((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  expect(await performHttp(outbound, attemptOf(`https://127.0.0.1:${plain.port}/`), keeping)).toMatchObject({
    errorClass: 'tls-failed',
  })
  const resetting = await listenRaw((socket) => void socket.resetAndDestroy())
  expect(await performHttp(outbound, attemptOf(`https://127.0.0.1:${resetting.port}/`), keeping)).toMatchObject({
    errorClass: 'tls-failed',
  })
})

test('bodies of 100 MB, twenty at once, are cut, their sockets closed, and memory stays where it was', async () => {
  const { port, connections } = await listenRaw(flood(`${head}content-length: 104857600\r\n\r\n`, Buffer.alloc(65_536)))
  const outbound = openDoor({ bodyBudgetBytes: 4_194_304 })
  const round = () =>
    Promise.all(
      Array.from({ length: 20 }, () => performHttp(outbound, attemptOf(`http://127.0.0.1:${port}/`), keeping)),
    )
  await round()
  await round()
  const before = process.memoryUsage.rss()
  for (let index = 0; index < 8; index++) {
    for (const outcome of await round()) {
      expect(outcome).toMatchObject({ status: 'succeeded', httpStatus: 200, response: { truncated: true } })
      expect(outcome.response?.body.length).toBe(65_536)
    }
  }
  expect(process.memoryUsage.rss() - before).toBeLessThan(250_000_000)
  await expect.poll(() => connections.open).toBe(0)
})

test('a body that unpacks into far more is kept as it came', async () => {
  const bomb = gzipSync(Buffer.alloc(20_000_000))
  const asked: (string | undefined)[] = []
  const { port } = await listenHttp((request, response) => {
    asked.push(request.headers['accept-encoding'] as string | undefined)
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb)
  })
  const outcome = await performHttp(openDoor(), attemptOf(`http://127.0.0.1:${port}/`), keeping)
  expect(outcome).toMatchObject({
    status: 'succeeded',
    response: { truncated: false, headers: { 'content-encoding': 'gzip' } },
  })
  expect(outcome.response?.body.equals(bomb)).toBe(true)
  expect(asked).toEqual(['identity'])
})

test('all of them at once end, and the next call through the same door succeeds', async () => {
  const outbound = openDoor()
  const ports = await Promise.all(behaviours.map(async ([, onRequest]) => (await listenRaw(onRequest)).port))
  const outcomes = await Promise.all(
    ports.flatMap((port) =>
      [0, 1, 2].map(() => performHttp(outbound, attemptOf(`http://127.0.0.1:${port}/`, { timeoutMs }), keeping)),
    ),
  )
  expect(Math.max(...outcomes.map(({ durationMs }) => durationMs))).toBeLessThan(timeoutMs + 1_000)
  const { port } = await listenHttp((_request, response) => answer(response, 204))
  expect(await performHttp(outbound, attemptOf(`http://127.0.0.1:${port}/`), keeping)).toMatchObject({
    status: 'succeeded',
  })
  await expect.poll(() => outbound.stats()).toMatchObject({ active: 0, pending: 0 })
})
