import { createServer } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { expect, test } from 'vitest'
import type { Resolver } from '../src/outbound/connector.ts'
import { performHttp } from '../src/perform/http.ts'
import { makeCertificate } from './certificate.ts'
import { answer, attemptOf, keeping, listen, listenHttp, listenHttps, openDoor } from './servers.ts'

// S2: 127.0.0.2 stands for the public internet, 127.0.0.1 for what must not be reached. Both listen on one port.
const publicAddress = '127.0.0.2'
const privateAddress = '127.0.0.1'
const allowPrivate = [`${publicAddress}/32`]

async function release() {
  const canary = await listen(createServer())
  const reached: (string | undefined)[] = []
  const hosts: (string | undefined)[] = []
  const listener = await listenHttp(
    (request, response) => {
      reached.push(request.socket.localAddress)
      hosts.push(request.headers.host)
      // No connection is kept, so that every try has to ask for the name again, as with a TTL of 0.
      answer(response, 200, { connection: 'close' })
    },
    publicAddress,
    canary.port,
  )
  return { port: canary.port, canary, reached, hosts, listener }
}

const inTurn = (...answers: string[][]): { resolver: Resolver; asked: () => number } => {
  let asked = 0
  return { resolver: async () => answers[asked++ % answers.length] ?? [], asked: () => asked }
}

test('O-60: a name that leads to a public address first and to a private one later never reaches the private one', async () => {
  const { port, canary, reached } = await release()
  const { resolver, asked } = inTurn([publicAddress], [privateAddress])
  const outbound = openDoor({ allowPrivate, resolver })
  const statuses: string[] = []
  for (let batch = 0; batch < 50; batch++) {
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => performHttp(outbound, attemptOf(`http://target.test:${port}/`), keeping)),
    )
    statuses.push(...outcomes.map((outcome) => (outcome.status === 'failed' ? outcome.errorClass : outcome.status)))
  }
  expect(statuses).toHaveLength(1_000)
  expect(asked()).toBe(1_000)
  expect(canary.connections.total).toBe(0)
  expect(statuses.filter((status) => status === 'succeeded')).toHaveLength(500)
  expect(statuses.filter((status) => status === 'blocked-destination')).toHaveLength(500)
  expect(new Set(reached)).toEqual(new Set([publicAddress]))
})

test.each([
  ['mixed, public first', [publicAddress, privateAddress]],
  ['mixed, private first', [privateAddress, publicAddress]],
  ['mixed with a private IPv6 address', [publicAddress, '::1']],
  ['mixed with a mapped one', [publicAddress, '::ffff:127.0.0.1']],
])('a name whose addresses are %s is refused as a whole', async (_what, addresses) => {
  const { port, canary, listener } = await release()
  const outbound = openDoor({ allowPrivate, resolver: async () => addresses })
  for (let index = 0; index < 20; index++) {
    const outcome = await performHttp(outbound, attemptOf(`http://target.test:${port}/`), keeping)
    expect(outcome).toMatchObject({ status: 'failed', errorClass: 'blocked-destination' })
  }
  expect([canary.connections.total, listener.connections.total]).toEqual([0, 0])
})

test('the address connected is the one judged, and the Host header keeps the name', async () => {
  const { port, reached, hosts } = await release()
  const { resolver, asked } = inTurn([publicAddress])
  const outcome = await performHttp(
    openDoor({ allowPrivate, resolver }),
    attemptOf(`http://target.test:${port}/`),
    keeping,
  )
  expect(outcome.status).toBe('succeeded')
  expect([reached, hosts, asked()]).toEqual([[publicAddress], [`target.test:${port}`], 1])
})

test('the next address is tried when one does not answer', async () => {
  const { port } = await release()
  const outbound = openDoor({ allowPrivate: ['127.0.0.0/8'], resolver: async () => ['127.0.0.9', publicAddress] })
  expect(await performHttp(outbound, attemptOf(`http://target.test:${port}/`), keeping)).toMatchObject({
    status: 'succeeded',
  })
})

test('a kept connection stays with the address it was judged for', async () => {
  const { port, connections } = await listenHttp((_request, response) => answer(response, 200), publicAddress)
  const { resolver, asked } = inTurn([publicAddress], [privateAddress])
  const outbound = openDoor({ allowPrivate, resolver })
  for (let index = 0; index < 5; index++) {
    expect((await performHttp(outbound, attemptOf(`http://target.test:${port}/`), keeping)).status).toBe('succeeded')
    // The socket is free again one turn of the event loop later.
    await turn()
    await turn()
  }
  expect([asked(), connections.total]).toEqual([1, 1])
})

test('TLS names and verifies the host of the URL, not the address', async () => {
  const certificate = makeCertificate('target.test')
  const names: (string | false)[] = []
  const { port } = await listenHttps(
    certificate,
    (request, response) => {
      names.push(
        (request.socket as TLSSocket & { servername: string | false }).servername,
        request.headers.host ?? false,
      )
      answer(response, 200, { connection: 'close' })
    },
    publicAddress,
  )
  const resolver: Resolver = async () => [publicAddress]
  const trusting = openDoor({ allowPrivate, resolver, ca: certificate.cert })
  // Twice: the second time a session of the first may be resumed.
  for (let index = 0; index < 2; index++) {
    const outcome = await performHttp(trusting, attemptOf(`https://target.test:${port}/`), keeping)
    expect(outcome).toMatchObject({ status: 'succeeded' })
  }
  expect(names).toEqual(['target.test', `target.test:${port}`, 'target.test', `target.test:${port}`])

  const wrongName = await performHttp(trusting, attemptOf(`https://other.test:${port}/`), keeping)
  expect(wrongName).toMatchObject({
    status: 'failed',
    errorClass: 'tls-failed',
    detail: expect.stringContaining('ALTNAME'),
  })
  const address = await performHttp(trusting, attemptOf(`https://${publicAddress}:${port}/`), keeping)
  expect(address).toMatchObject({ status: 'failed', errorClass: 'tls-failed' })
  const untrusting = openDoor({ allowPrivate, resolver })
  const unknown = await performHttp(untrusting, attemptOf(`https://target.test:${port}/`), keeping)
  expect(unknown).toMatchObject({
    status: 'failed',
    errorClass: 'tls-failed',
    detail: expect.stringContaining('SELF_SIGNED'),
  })
  expect(names).toHaveLength(4)
})

test('a door that trusts nothing new still refuses a private address behind https', async () => {
  const canary = await listen(createServer())
  const outbound = openDoor({ allowPrivate, resolver: async () => [privateAddress] })
  const outcome = await performHttp(outbound, attemptOf(`https://target.test:${canary.port}/`), keeping)
  expect(outcome).toMatchObject({ errorClass: 'blocked-destination' })
  expect(canary.connections.total).toBe(0)
})
