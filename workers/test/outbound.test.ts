import type { ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { Cancellation } from '../src/outbound/cancellation.ts'
import type { ExchangeRequest } from '../src/outbound/exchange.ts'
import type { Outbound } from '../src/outbound.ts'
import { answer, listen, listenHttp, listenRaw, openDoor } from './servers.ts'

const requestTo = (port: number, more: Partial<ExchangeRequest> = {}): ExchangeRequest => ({
  method: 'POST',
  url: `http://127.0.0.1:${port}/`,
  headers: [],
  body: Buffer.from('{}'),
  timeoutMs: 5_000,
  bodyBytesMax: 65_536,
  ...more,
})

/** A target that keeps its requests until the test answers them. */
async function holdingTarget() {
  const held: ServerResponse[] = []
  const arrivals: (() => void)[] = []
  const listening = await listenHttp((_request, response) => {
    held.push(response)
    for (const arrived of arrivals.splice(0)) arrived()
  })
  const until = async (count: number): Promise<void> => {
    while (held.length < count) await new Promise<void>((resolve) => arrivals.push(resolve))
  }
  return { ...listening, held, until }
}

describe('sockets', () => {
  test('to one origin are never more than the limit, and all calls are served through them', async () => {
    const { port, connections } = await listenHttp(
      (_request, response) => void setTimeout(() => answer(response, 200), 2),
    )
    const outbound = openDoor({ maxSocketsPerOrigin: 8 })
    const results = await Promise.all(Array.from({ length: 400 }, () => outbound.request(requestTo(port))))
    expect(results.every(({ response }) => response?.status === 200)).toBe(true)
    expect(connections.most).toBe(8)
    expect(connections.total).toBe(8)
    expect(outbound.stats()).toMatchObject({ origins: 1, active: 0, pending: 0 })
  })

  test('that the target closes after each response are replaced, and nobody is left waiting', async () => {
    const { port, connections } = await listenHttp((_request, response) =>
      answer(response, 200, { connection: 'close' }),
    )
    const outbound = openDoor({ maxSocketsPerOrigin: 8 })
    const results = await Promise.all(Array.from({ length: 200 }, () => outbound.request(requestTo(port))))
    expect(results.every(({ response }) => response?.status === 200)).toBe(true)
    expect(connections.most).toBeLessThanOrEqual(8)
    expect(connections.total).toBe(200)
  })

  test.each(['connection refused', 'connection reset', 'name not found'])(
    'after a %s, many at once, nobody is left waiting',
    async (kind) => {
      const resetting = await listenRaw((socket) => void socket.resetAndDestroy())
      const refusing = await listenHttp((_request, response) => answer(response, 200), '127.0.0.5')
      const port = kind === 'connection reset' ? resetting.port : refusing.port
      const host = kind === 'name not found' ? 'target.test' : '127.0.0.1'
      const outbound = openDoor({ maxSocketsPerOrigin: 8, resolver: async () => [] })
      const results = await Promise.all(
        Array.from({ length: 200 }, () => outbound.request(requestTo(port, { url: `http://${host}:${port}/` }))),
      )
      expect(results.filter(({ failure }) => failure === null)).toEqual([])
      expect(results.map(({ failure }) => failure?.errorClass)).not.toContain('timeout')
      expect(outbound.stats()).toMatchObject({ active: 0, pending: 0 })
    },
  )

  test('work again once a target that refused has come back', async () => {
    const gone = await listenHttp((_request, response) => answer(response, 200), '127.0.0.5')
    const outbound = openDoor({ maxSocketsPerOrigin: 4 })
    await Promise.all(Array.from({ length: 20 }, () => outbound.request(requestTo(gone.port))))
    await listenHttp((_request, response) => answer(response, 200), '127.0.0.1', gone.port)
    const results = await Promise.all(Array.from({ length: 20 }, () => outbound.request(requestTo(gone.port))))
    expect(results.every(({ response }) => response?.status === 200)).toBe(true)
  })

  test('of an origin that was idle longest are closed when there are too many origins', async () => {
    const targets = await Promise.all([0, 1, 2].map(() => listenHttp((_request, response) => answer(response, 200))))
    const outbound = openDoor({ maxOrigins: 2 })
    for (const { port } of targets) await outbound.request(requestTo(port))
    expect(outbound.stats().origins).toBe(2)
    await expect.poll(() => targets.map(({ connections }) => connections.open)).toEqual([0, 1, 1])
  })

  test('of a busy origin stay, even when there are too many origins', async () => {
    const busy = await holdingTarget()
    const other = await listenHttp((_request, response) => answer(response, 200))
    const outbound = openDoor({ maxOrigins: 1 })
    const call = outbound.request(requestTo(busy.port))
    await busy.until(1)
    await outbound.request(requestTo(other.port))
    answer(busy.held[0] as ServerResponse, 200)
    expect((await call).response?.status).toBe(200)
  })
})

describe('critical requests', () => {
  const callMany = (outbound: Outbound, port: number, count: number, more: Partial<ExchangeRequest> = {}) =>
    Array.from({ length: count }, () => outbound.request(requestTo(port, more)))
  const isCritical = { urgency: 'critical' } as const

  test('find a socket free at once where others want all of them, and come first where none is', async () => {
    const target = await holdingTarget()
    const outbound = openDoor({ maxSocketsPerOrigin: 4, spareSocketsPerOrigin: 1 })
    const answerNext = (place: number) => answer(target.held[place] as ServerResponse, 200)
    const first = outbound.request(requestTo(target.port, isCritical))
    await target.until(1)
    answerNext(0)
    await first
    const others = callMany(outbound, target.port, 10)
    await target.until(4)
    expect(outbound.stats().active).toBe(3)
    const criticals = callMany(outbound, target.port, 2, { ...isCritical, url: `http://127.0.0.1:${target.port}/now` })
    await target.until(5)
    expect(target.held[4]?.req.url).toBe('/now')
    // With its spare socket in use the second one waits, for the very next.
    answerNext(1)
    await target.until(6)
    expect(target.held[5]?.req.url).toBe('/now')
    for (let place = 2; place < 13; place++) {
      await target.until(place + 1)
      answerNext(place)
    }
    const results = await Promise.all([...others, ...criticals])
    expect(results.every(({ response }) => response?.status === 200)).toBe(true)
    expect(target.connections.most).toBe(4)
    expect(outbound.stats()).toMatchObject({ active: 0, pending: 0 })
  })

  test('that nobody sends cost no socket, nor do those to another origin', async () => {
    const [target, other] = [await holdingTarget(), await listenHttp((_request, response) => answer(response, 200))]
    const outbound = openDoor({ maxSocketsPerOrigin: 4, spareSocketsPerOrigin: 1 })
    await outbound.request(requestTo(other.port, isCritical))
    const others = [
      ...callMany(outbound, target.port, 3),
      ...callMany(outbound, target.port, 3, { urgency: 'express' }),
    ]
    await target.until(4)
    expect(outbound.stats().active).toBe(4)
    for (let place = 0; place < 6; place++) {
      await target.until(place + 1)
      answer(target.held[place] as ServerResponse, 200)
    }
    await Promise.all(others)
  })

  test('among a flood leave nobody waiting, whatever the target does', async () => {
    let calls = 0
    const { port } = await listenHttp((request, response) => {
      if (++calls % 7 === 0) request.socket.destroy()
      else setImmediate(() => answer(response, 200, calls % 5 === 0 ? { connection: 'close' } : {}))
    })
    const outbound = openDoor({ maxSocketsPerOrigin: 8, spareSocketsPerOrigin: 2 })
    const results = await Promise.all(
      Array.from({ length: 400 }, (_, index) =>
        outbound.request(
          requestTo(port, index % 10 === 3 ? isCritical : index % 10 === 6 ? { urgency: 'express' } : {}),
        ),
      ),
    )
    expect(results.map(({ failure }) => failure?.errorClass)).not.toContain('timeout')
    expect(outbound.stats()).toMatchObject({ active: 0, pending: 0 })
  })
})

describe('a deadline', () => {
  test('counts the wait for a socket, and a request whose time is up is never sent', async () => {
    const target = await holdingTarget()
    const outbound = openDoor({ maxSocketsPerOrigin: 1 })
    const first = outbound.request(requestTo(target.port))
    await target.until(1)
    const late = await outbound.request(requestTo(target.port, { timeoutMs: 50 }))
    expect(late).toMatchObject({ failure: { errorClass: 'timeout' }, sentAtMs: null, sendMs: null })
    answer(target.held[0] as ServerResponse, 200)
    await first
    const next = outbound.request(requestTo(target.port))
    await target.until(2)
    answer(target.held[1] as ServerResponse, 200)
    await next
    expect(target.held).toHaveLength(2)
  })

  test('that passes while connecting ends the call, and the request is never sent', async () => {
    const target = await holdingTarget()
    let found: (addresses: string[]) => void = () => undefined
    const outbound = openDoor({ resolver: () => new Promise((resolve) => (found = resolve)) })
    const url = `http://target.test:${target.port}/`
    const late = await outbound.request(requestTo(0, { url, timeoutMs: 50 }))
    expect(late).toMatchObject({ failure: { errorClass: 'timeout' }, sentAtMs: null })
    found(['127.0.0.1'])
    await expect.poll(() => outbound.stats()).toMatchObject({ active: 0 })
    // The connection was made and is there for the next request.
    const next = outbound.request(requestTo(0, { url }))
    await target.until(1)
    answer(target.held[0] as ServerResponse, 200)
    expect((await next).failure).toBeNull()
    expect(target.connections.total).toBe(1)
  })

  test('of one request costs no other its socket in line', async () => {
    const target = await holdingTarget()
    const outbound = openDoor({ maxSocketsPerOrigin: 2 })
    const calls = Array.from({ length: 6 }, (_, index) =>
      outbound.request(requestTo(target.port, { timeoutMs: index === 0 ? 60 : 5_000 })),
    )
    expect(await calls[0]).toMatchObject({ failure: { errorClass: 'timeout' } })
    for (let count = 2; count <= 6; count++) {
      await target.until(count)
      answer(target.held[count - 1] as ServerResponse, 200)
    }
    const rest = await Promise.all(calls.slice(1))
    expect(rest.every(({ response }) => response?.status === 200)).toBe(true)
  })
})

describe('a cancellation', () => {
  test('ends a call that waits for its answer, and closes the socket', async () => {
    const target = await holdingTarget()
    const cancellation = new Cancellation()
    const call = openDoor().request(requestTo(target.port), cancellation)
    await target.until(1)
    cancellation.cancel()
    expect(await call).toMatchObject({ failure: { errorClass: 'cancelled' }, response: null })
    await expect.poll(() => target.connections.open).toBe(0)
  })

  test('ends a call that waits for a socket', async () => {
    const target = await holdingTarget()
    const outbound = openDoor({ maxSocketsPerOrigin: 1 })
    const first = outbound.request(requestTo(target.port))
    await target.until(1)
    const cancellation = new Cancellation()
    const second = outbound.request(requestTo(target.port), cancellation)
    cancellation.cancel()
    expect(await second).toMatchObject({ failure: { errorClass: 'cancelled' }, sentAtMs: null })
    answer(target.held[0] as ServerResponse, 200)
    expect((await first).failure).toBeNull()
  })

  test('that came first lets no call begin, and one that comes last changes nothing', async () => {
    const { port, connections } = await listenHttp((_request, response) => answer(response, 200))
    const outbound = openDoor()
    const early = new Cancellation()
    early.cancel()
    expect(await outbound.request(requestTo(port), early)).toMatchObject({ failure: { errorClass: 'cancelled' } })
    expect(connections.total).toBe(0)
    const late = new Cancellation()
    expect(await outbound.request(requestTo(port), late)).toMatchObject({ failure: null })
    late.cancel()
    await turn()
    expect((await outbound.request(requestTo(port))).failure).toBeNull()
  })
})

describe('times', () => {
  test('of the connection are told by the call that made it', async () => {
    const { port } = await listenHttp((_request, response) => void setTimeout(() => answer(response, 200), 30))
    const outbound = openDoor({
      resolver: () => new Promise((resolve) => setTimeout(() => resolve(['127.0.0.1']), 30)),
    })
    const url = `http://target.test:${port}/`
    const startedAt = Date.now()
    const first = await outbound.request(requestTo(port, { url }))
    expect(first.connection?.dnsMs).toBeGreaterThan(25)
    expect(first.connection?.connectMs).toBeGreaterThan(0)
    expect(first.sendMs).toBeGreaterThanOrEqual((first.connection?.dnsMs ?? 0) + (first.connection?.connectMs ?? 0))
    expect(first.firstByteMs).toBeGreaterThan(25)
    expect(first.sentAtMs).toBeGreaterThanOrEqual(startedAt + 25)
    await turn()
    await turn()
    const second = await outbound.request(requestTo(port, { url }))
    expect(second.connection).toBeNull()
    expect(second.sendMs).toBeLessThan(25)
  })

  test('of a connection that failed are told too', async () => {
    const { port } = await listen(createServer(), '127.0.0.5')
    const outbound = openDoor({
      resolver: () => new Promise((resolve) => setTimeout(() => resolve(['127.0.0.1']), 30)),
    })
    const result = await outbound.request(requestTo(port, { url: `http://target.test:${port}/` }))
    expect(result).toMatchObject({ failure: { errorClass: 'connect-failed' }, sendMs: null })
    expect(result.connection?.dnsMs).toBeGreaterThan(25)
  })
})

describe('closing', () => {
  test('waits for the calls that are running', async () => {
    const target = await holdingTarget()
    const outbound = openDoor()
    const call = outbound.request(requestTo(target.port))
    await target.until(1)
    const closed = outbound.close()
    answer(target.held[0] as ServerResponse, 200)
    expect((await call).failure).toBeNull()
    await closed
  })

  test('at once cuts them short', async () => {
    const target = await holdingTarget()
    const outbound = openDoor({ maxSocketsPerOrigin: 1 })
    const calls = [outbound.request(requestTo(target.port)), outbound.request(requestTo(target.port))]
    await target.until(1)
    await outbound.destroy()
    for (const result of await Promise.all(calls)) expect(result.failure?.errorClass).toBe('reset')
  })
})
