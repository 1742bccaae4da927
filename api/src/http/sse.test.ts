import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { openSse, type SseOptions, type SseStream } from './sse.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

/** Opens a stream to a peer that reads, or does not. */
async function open(options: Partial<SseOptions>, isReading = true) {
  const opened = Promise.withResolvers<SseStream>()
  const server = createServer((incoming, outgoing) => {
    opened.resolve(
      openSse(incoming, outgoing, {}, { heartbeatMs: 10_000, ageMaxMs: 10_000, writeTimeoutMs: 10_000, ...options }),
    )
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const heard: string[] = []
  socket.on('error', () => undefined)
  if (isReading) socket.on('data', (chunk) => void heard.push(String(chunk)))
  else socket.pause()
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  const stream = await opened.promise
  return { stream, socket, heard: () => heard.join('') }
}

const elapsed = async (work: Promise<unknown>): Promise<number> => {
  const startedAt = performance.now()
  await work
  return performance.now() - startedAt
}

test('messages, heartbeats and the end arrive', async () => {
  const { stream, heard } = await open({ heartbeatMs: 30 })
  stream.send([{ id: '1-1', event: 'run.created', data: '{"a":1}' }])
  await new Promise((resolve) => setTimeout(resolve, 100))
  stream.end()
  await stream.closed
  expect(heard()).toContain('id: 1-1\nevent: run.created\ndata: {"a":1}\n\n')
  expect(heard()).toContain(': still here\n\n')
})

test('a peer that reads nothing is cut off', async () => {
  const { stream } = await open({ writeTimeoutMs: 200 }, false)
  const block = { data: 'x'.repeat(1024 * 1024) }
  for (let count = 0; count < 32; count++) stream.send([block])
  expect(stream.isKeepingUp).toBe(false)
  expect(await elapsed(stream.closed)).toBeLessThan(2_000)
})

test('O-64: seventy peers that vanished without a word are all let go by age', async () => {
  const streams = await Promise.all(
    Array.from({ length: 70 }, async () => (await open({ ageMaxMs: 300, writeTimeoutMs: 200 }, false)).stream),
  )
  expect(await elapsed(Promise.all(streams.map(({ closed }) => closed)))).toBeLessThan(3_000)
})

test('a stream ends when its check fails', async () => {
  const check = () => Promise.reject(new Error('revoked'))
  const { stream } = await open({ heartbeatMs: 20, check })
  expect(await elapsed(stream.closed)).toBeLessThan(1_000)
})

test('a peer that left is noticed at once', async () => {
  const { stream, socket } = await open({})
  socket.destroy()
  expect(await elapsed(stream.closed)).toBeLessThan(1_000)
  stream.send([{ data: '{}' }])
})
