import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sleep } from '../wait.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

let server: Server
let proxy: TcpProxy
let client: Socket

beforeEach(async () => {
  server = createServer((socket) => socket.on('error', () => undefined).pipe(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  proxy = await startTcpProxy({ host: '127.0.0.1', port: (server.address() as AddressInfo).port })
})

afterEach(async () => {
  client.destroy()
  await proxy.close()
  server.close()
})

async function open(): Promise<Socket> {
  client = connect(proxy.port, '127.0.0.1')
  client.on('error', () => undefined)
  await once(client, 'connect')
  return client
}

async function echo(text: string): Promise<string> {
  client.write(text)
  const [chunk] = await once(client, 'data')
  return String(chunk)
}

test('a healthy wire carries bytes both ways', async () => {
  await open()
  expect(await echo('hello')).toBe('hello')
})

test('a slow wire delays each direction and keeps the order', async () => {
  await open()
  proxy.set({ delayMs: 30 })
  const start = performance.now()
  const got: string[] = []
  client.on('data', (chunk) => got.push(String(chunk)))
  client.write('a')
  await sleep(5)
  proxy.set({})
  client.write('b')
  while (got.join('') !== 'ab') await sleep(2)
  expect(performance.now() - start).toBeGreaterThan(28)
})

test('a dropped wire swallows bytes and keeps the connection', async () => {
  await open()
  proxy.set({ drop: true })
  client.write('lost')
  await sleep(30)
  expect(client.destroyed).toBe(false)
  proxy.set({})
  expect(await echo('kept')).toBe('kept')
})

test('a half-open wire accepts and never answers', async () => {
  proxy.set({ halfOpen: true })
  await open()
  let heard = false
  client.on('data', () => {
    heard = true
  })
  client.write('anyone?')
  await sleep(30)
  expect([heard, client.destroyed, proxy.open()]).toEqual([false, false, 1])
})

test('a reset ends open connections with ECONNRESET', async () => {
  await open()
  expect(await echo('x')).toBe('x')
  const failed = once(client, 'error')
  proxy.reset()
  expect((await failed)[0]).toMatchObject({ code: 'ECONNRESET' })
})
