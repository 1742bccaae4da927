import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { Meridian, MeridianConnectionError, MeridianProblem, MeridianUnexpectedAnswer } from '../src/index.ts'

interface Seen {
  method: string
  key: string | undefined
  body: string
  atMs: number
}
type Answer = (outgoing: ServerResponse, incoming: IncomingMessage) => void

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

/** A server that gives these answers one after the other, and a client of it. */
async function against(answers: Answer[], options: { retries?: number; timeoutMs?: number; patienceMs?: number } = {}) {
  const seen: Seen[] = []
  server = createServer((incoming, outgoing) => {
    let body = ''
    incoming.on('data', (chunk) => {
      body += String(chunk)
    })
    incoming.on('end', () => {
      const key = incoming.headers['idempotency-key']
      seen.push({
        method: incoming.method ?? '',
        key: typeof key === 'string' ? key : undefined,
        body,
        atMs: performance.now(),
      })
      answers[Math.min(seen.length, answers.length) - 1]?.(outgoing, incoming)
    })
  })
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { seen, meridian: new Meridian({ baseUrl: `http://127.0.0.1:${port}/`, apiKey: 'mk_test', ...options }) }
}

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (outgoing) => {
    outgoing.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  }
const problem = (status: number, code: string, headers: Record<string, string> = {}): Answer =>
  json(status, { type: `/problems/${code}`, title: code, status, detail: 'no', code, requestId: 'req_1' }, headers)
const reset: Answer = (_, incoming) => incoming.socket.resetAndDestroy()
const hang: Answer = () => undefined
const created = json(201, { id: 'run_1' })
const run = { target: { type: 'http' as const, url: 'https://example.com/' } }

test('a create is tried again with the same key and the same body', async () => {
  const { seen, meridian } = await against([
    reset,
    problem(503, 'dependency-unavailable', { 'retry-after': '0' }),
    created,
  ])
  expect(await meridian.runs.create(run)).toEqual({ id: 'run_1' })
  expect(seen).toHaveLength(3)
  expect(seen[0]?.key).toMatch(/^[0-9a-f-]{36}$/)
  expect(new Set(seen.map(({ key }) => key)).size).toBe(1)
  expect(new Set(seen.map(({ body }) => body))).toEqual(new Set([JSON.stringify(run)]))
})

test('two creates have two keys, and a given one is used', async () => {
  const { seen, meridian } = await against([created])
  await meridian.runs.create(run)
  await meridian.runs.create(run)
  await meridian.runs.create(run, { idempotencyKey: 'mine' })
  expect(new Set(seen.map(({ key }) => key)).size).toBe(3)
  expect(seen[2]?.key).toBe('mine')
})

test('Retry-After is honoured', async () => {
  const { seen, meridian } = await against([problem(429, 'rate-limited', { 'retry-after': '1' }), created])
  await meridian.runs.create(run)
  expect((seen[1]?.atMs ?? 0) - (seen[0]?.atMs ?? 0)).toBeGreaterThanOrEqual(990)
})

test('a server that asks for too much patience is told to the caller', async () => {
  const { seen, meridian } = await against([problem(503, 'dependency-unavailable', { 'retry-after': '3600' })])
  await expect(meridian.runs.create(run)).rejects.toMatchObject({ status: 503, retryAfterSeconds: 3_600 })
  expect(seen).toHaveLength(1)
})

test('a caller in a hurry hears at once that it is to wait', async () => {
  const { seen, meridian } = await against([problem(429, 'rate-limited', { 'retry-after': '12' })], {
    patienceMs: 1_500,
  })
  await expect(meridian.runs.get('run_1')).rejects.toMatchObject({ status: 429, retryAfterSeconds: 12 })
  expect(seen).toHaveLength(1)
})

test('what would be done twice is not tried again when nobody knows', async () => {
  const { seen, meridian } = await against([reset])
  await expect(meridian.jobs.restore('job_1', 1)).rejects.toBeInstanceOf(MeridianConnectionError)
  expect(seen).toHaveLength(1)
})

test('a refusal is not tried again', async () => {
  const { seen, meridian } = await against([problem(422, 'validation-failed')])
  await expect(meridian.runs.create(run)).rejects.toBeInstanceOf(MeridianProblem)
  expect(seen).toHaveLength(1)
})

test('tries end, and so does a request that gets no answer', async () => {
  const { seen, meridian } = await against([hang], { retries: 1, timeoutMs: 100 })
  const error = await meridian.runs.get('run_1').catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(MeridianConnectionError)
  expect(error).toMatchObject({ isTimeout: true })
  expect(seen).toHaveLength(2)
})

test('an abort ends a call at once, while it waits to try again too', async () => {
  const { meridian } = await against([problem(503, 'dependency-unavailable', { 'retry-after': '30' })])
  const signal = AbortSignal.timeout(200)
  await expect(meridian.runs.get('run_1', { signal })).rejects.toThrow(/timeout/i)
})

test('an answer that is not of the API is told as such', async () => {
  const { meridian } = await against([(outgoing) => outgoing.writeHead(502).end('<html>')], { retries: 0 })
  const error = await meridian.runs.get('run_1').catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(MeridianUnexpectedAnswer)
  expect(error).toMatchObject({ status: 502, body: '<html>' })
})

test('a stream comes back with the last id after its connection broke, and stops for what will not change', async () => {
  const ids: (string | undefined)[] = []
  const { meridian } = await against([
    (outgoing, incoming) => {
      ids.push(incoming.headers['last-event-id'] as string | undefined)
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
      outgoing.write(
        'id: 1-0\nevent: stream.ready\ndata: {}\n\n: still here\n\nid: 1-1\nevent: job.created\ndata: {"id":"1-1",',
      )
      outgoing.write('"type":"job.created"}\n\n')
      setTimeout(() => incoming.socket.resetAndDestroy(), 50)
    },
    (outgoing, incoming) => {
      ids.push(incoming.headers['last-event-id'] as string | undefined)
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
      outgoing.end('id: 9-0\nevent: stream.reset\ndata: {}\n\n')
    },
    (outgoing, incoming) => {
      ids.push(incoming.headers['last-event-id'] as string | undefined)
      problem(401, 'unauthenticated')(outgoing, incoming)
    },
  ])
  const types: string[] = []
  const follow = async () => {
    for await (const event of meridian.events.stream()) types.push(event.type)
  }
  await expect(follow()).rejects.toMatchObject({ code: 'unauthenticated' })
  expect(types).toEqual(['stream.ready', 'job.created', 'stream.reset'])
  expect(ids).toEqual([undefined, '1-1', '9-0'])
})
