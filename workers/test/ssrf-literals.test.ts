import { createServer } from 'node:net'
import type { AttemptOutcome } from '@meridian/core/run/outcome'
import { expect, test } from 'vitest'
import { performHttp } from '../src/perform/http.ts'
import { answer, attemptOf, keeping, type Listening, listen, listenHttp, openDoor } from './servers.ts'

// S1: a canary on both loopbacks, and every way to write an address that leads to it or to its like.

async function releaseCanaries(): Promise<{ port: number; hits: () => number }> {
  const first = await listen(createServer())
  const canaries: Listening[] = [first]
  // A machine without IPv6 has no other loopback to watch.
  canaries.push(
    ...(await listen(createServer(), '::1', first.port).then(
      (second) => [second],
      () => [],
    )),
  )
  return { port: first.port, hits: () => canaries.reduce((sum, { connections }) => sum + connections.total, 0) }
}

const hosts = `
  127.0.0.1 127.0.0.1. 127.1 127.0.1 0x7f.1 0x7f000001 0x7f.0x0.0x0.0x1 0177.0.0.1 017700000001 2130706433
  127.255.255.254 0.0.0.0 0 00000 ①②⑦.0.0.1 127。0。0。1 127%2e0%2e0%2e1
  localhost LOCALHOST localhost. a.localhost ｌocalhost
  [::1] [::] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [::ffff:0:127.0.0.1]
  [64:ff9b::127.0.0.1] [64:ff9b:1::127.0.0.1] [2002:7f00:1::] [2001:0:7f00:1::] [2001:db8::5efe:127.0.0.1]
  [2a00:1450:4001:81b:0:5efe:7f00:1] [::ffff:169.254.169.254] [64:ff9b::169.254.169.254] [::ffff:10.0.0.1]
  10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 100.64.0.1 100.127.255.254
  169.254.169.254 169.254.170.2 168.63.129.16 100.100.100.200 [fd00:ec2::254] [fe80::1] [fd12:3456::1]
  224.0.0.1 239.255.255.255 [ff02::1] 255.255.255.255 240.0.0.1 192.0.2.1 198.18.0.1 [2001:db8::1]
`
  .trim()
  .split(/\s+/)

test('O-41, O-42: no literal reaches a private or reserved address', async () => {
  const canaries = await releaseCanaries()
  const outbound = openDoor({ allowPrivate: false })
  const reached: string[] = []
  for (const host of hosts) {
    const outcome = await performHttp(outbound, attemptOf(`http://${host}:${canaries.port}/`), keeping)
    if (!isBlocked(outcome)) reached.push(host)
  }
  expect(reached).toEqual([])
  expect(canaries.hits()).toBe(0)
})

test('no name reaches one either, whatever the resolver says', async () => {
  const canaries = await releaseCanaries()
  const addresses = hosts.flatMap((host) => {
    const { hostname } = new URL(`http://${host}`)
    return [host, hostname, hostname.replace(/[[\]]/g, '')]
  })
  const reached: string[] = []
  for (const address of addresses) {
    const outbound = openDoor({ allowPrivate: false, resolver: async () => [address] })
    const outcome = await performHttp(outbound, attemptOf(`http://target.test:${canaries.port}/`), keeping)
    if (!isBlocked(outcome)) reached.push(address)
  }
  expect(reached).toEqual([])
  expect(canaries.hits()).toBe(0)
})

const isBlocked = (outcome: AttemptOutcome): boolean =>
  outcome.status === 'failed' && outcome.errorClass === 'blocked-destination' && outcome.sentAtMs === null

test.each([
  ['fails', () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' })), 'dns-failed'],
  ['finds nothing', async () => [], 'dns-failed'],
  ['answers nonsense', async () => ['not an address'], 'blocked-destination'],
  ['never answers', () => new Promise<string[]>(() => undefined), 'dns-failed'],
])('O-41: a resolver that %s lets nothing through', async (_what, resolver, errorClass) => {
  const outbound = openDoor({ allowPrivate: true, resolver, connectTimeoutMs: 100 })
  const outcome = await performHttp(outbound, attemptOf('http://target.test/'), keeping)
  expect(outcome).toMatchObject({ status: 'failed', errorClass, sentAtMs: null })
})

test.each([
  'http://user:secret@HOST/',
  'http://user@HOST/',
  'ftp://HOST/',
  'file:///etc/passwd',
  'http://example.com:25/',
  'nonsense',
])('%s is refused where private addresses are allowed', async (form) => {
  const canaries = await releaseCanaries()
  const outcome = await performHttp(openDoor(), attemptOf(form.replace('HOST', `127.0.0.1:${canaries.port}`)), keeping)
  expect(outcome).toMatchObject({ status: 'failed', errorClass: 'blocked-destination' })
  expect(canaries.hits()).toBe(0)
})

test('the canaries can be hit: where private addresses are allowed, they are', async () => {
  const { port, connections } = await listenHttp((_request, response) => answer(response, 204))
  const outcome = await performHttp(openDoor(), attemptOf(`http://localhost:${port}/`), keeping)
  expect(outcome).toMatchObject({ status: 'succeeded', httpStatus: 204 })
  expect(connections.total).toBe(1)
})

test('no refusal tells which address a name leads to', async () => {
  const outbound = openDoor({ allowPrivate: false, resolver: async () => ['10.20.30.40'] })
  const outcome = await performHttp(outbound, attemptOf('http://target.test/'), keeping)
  expect(JSON.stringify(outcome)).not.toContain('10.20.30.40')
})
