import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { performHttp } from '../src/perform/http.ts'
import { makeCertificate } from './certificate.ts'
import { answer, attemptOf, keeping, listen, listenHttp, listenHttps, openDoor, readBody } from './servers.ts'

interface Seen {
  path: string
  method: string
  headers: IncomingHttpHeaders
  body: string
}

/** A target that answers each path with what `plan` says, and remembers what it saw. */
async function target(plan: (path: string, response: ServerResponse) => void, host = '127.0.0.2') {
  const seen: Seen[] = []
  const { port } = await listenHttp(async (request, response) => {
    const { url: path = '', method = '', headers } = request
    seen.push({ path, method, headers, body: (await readBody(request)).toString() })
    plan(path, response)
  }, host)
  return { url: `http://${host}:${port}`, seen }
}

const redirect = (response: ServerResponse, status: number, location: string): void =>
  answer(response, status, { location })

describe('O-43: a redirect to a private address', () => {
  test.each([301, 302, 303, 307, 308])('by %d is not followed', async (status) => {
    const canary = await listen(createServer())
    const { url, seen } = await target((_path, response) =>
      redirect(response, status, `http://127.0.0.1:${canary.port}/`),
    )
    const outcome = await performHttp(openDoor({ allowPrivate: ['127.0.0.2/32'] }), attemptOf(`${url}/`), keeping)
    expect(outcome).toMatchObject({ status: 'failed', errorClass: 'blocked-destination' })
    expect([canary.connections.total, seen.length]).toEqual([0, 1])
  })

  test('after another hop, or by a name, is not followed', async () => {
    const canary = await listen(createServer())
    for (const last of [
      `http://127.0.0.1:${canary.port}/`,
      `http://localhost:${canary.port}/`,
      `http://0x7f.1:${canary.port}/`,
      `http://inner.test:${canary.port}/`,
    ]) {
      const { url } = await target((path, response) => redirect(response, 302, path === '/' ? '/second' : last))
      const outbound = openDoor({ allowPrivate: ['127.0.0.2/32'], resolver: async () => ['127.0.0.1'] })
      const outcome = await performHttp(outbound, attemptOf(`${url}/`), keeping)
      expect({ last, ...outcome }).toMatchObject({ last, errorClass: 'blocked-destination' })
    }
    expect(canary.connections.total).toBe(0)
  })

  test('with a user name, another scheme or a mail port is not followed', async () => {
    for (const last of [
      'http://u:p@127.0.0.2/',
      'ftp://127.0.0.2/',
      'file:///etc/passwd',
      'http://127.0.0.2:25/',
      'gopher://x',
    ]) {
      const { url } = await target((_path, response) => redirect(response, 302, last))
      const outcome = await performHttp(openDoor(), attemptOf(`${url}/`), keeping)
      expect({ last, ...outcome }).toMatchObject({ last, errorClass: 'blocked-destination' })
    }
  })
})

test('a redirect from https to http is not followed', async () => {
  const certificate = makeCertificate('target.test')
  const plain = await listenHttp((_request, response) => answer(response, 200))
  const { port } = await listenHttps(certificate, (_request, response) =>
    redirect(response, 302, `http://127.0.0.1:${plain.port}/`),
  )
  const outbound = openDoor({ ca: certificate.cert, resolver: async () => ['127.0.0.1'] })
  const outcome = await performHttp(outbound, attemptOf(`https://target.test:${port}/`), keeping)
  expect(outcome).toMatchObject({ errorClass: 'blocked-destination', detail: expect.stringContaining('https to http') })
  expect(plain.connections.total).toBe(0)
})

test('five hops are followed, a chain of twenty ends after them', async () => {
  const { url, seen } = await target((path, response) => {
    const left = Number(path.slice(1))
    if (left === 0) answer(response, 200, {}, 'there')
    else redirect(response, 307, `/${left - 1}`)
  })
  const outbound = openDoor()
  const there = await performHttp(outbound, attemptOf(`${url}/5`), keeping)
  expect(there).toMatchObject({ status: 'succeeded', response: { redirectedTo: `${url}/0` } })
  expect(there.response?.body.toString()).toBe('there')
  seen.length = 0
  const endless = await performHttp(outbound, attemptOf(`${url}/20`), keeping)
  expect(endless).toMatchObject({ status: 'failed', errorClass: 'too-many-redirects', httpStatus: 307 })
  expect(seen).toHaveLength(6)
})

test('the timeout holds for the whole chain', async () => {
  const { url } = await target((_path, response) => void setTimeout(() => redirect(response, 307, '/again'), 60))
  const outcome = await performHttp(openDoor(), attemptOf(`${url}/`, { timeoutMs: 150 }), keeping)
  expect(outcome).toMatchObject({ errorClass: 'timeout' })
})

describe('method and body', () => {
  test.each([
    [301, 'POST', 'GET'],
    [302, 'POST', 'GET'],
    [303, 'POST', 'GET'],
    [307, 'POST', 'POST'],
    [308, 'POST', 'POST'],
    [301, 'PUT', 'PUT'],
    [302, 'PATCH', 'PATCH'],
    [303, 'PUT', 'GET'],
    [303, 'DELETE', 'GET'],
    [303, 'HEAD', 'HEAD'],
    [302, 'GET', 'GET'],
  ] as const)('after %d a %s becomes %s', async (status, method, next) => {
    const { url, seen } = await target((path, response) =>
      path === '/' ? redirect(response, status, '/next') : answer(response, 204),
    )
    const body = method === 'GET' || method === 'HEAD' ? null : Buffer.from('{"a":1}')
    const outcome = await performHttp(
      openDoor(),
      attemptOf(`${url}/`, { method, body, headers: { 'content-language': 'en' } }),
      keeping,
    )
    expect(outcome.status).toBe('succeeded')
    expect(seen.map((request) => request.method)).toEqual([method, next])
    const kept = method === next && body !== null
    expect(seen[1]?.body).toBe(kept ? '{"a":1}' : '')
    expect(seen[1]?.headers['content-type']).toBe(kept ? 'application/json' : undefined)
  })

  test.each([300, 304, 305, 306])('%d is an answer, not a redirect', async (status) => {
    const { url, seen } = await target((_path, response) => redirect(response, status, '/next'))
    expect(await performHttp(openDoor(), attemptOf(`${url}/`), keeping)).toMatchObject({
      errorClass: 'http-status',
      httpStatus: status,
    })
    expect(seen).toHaveLength(1)
  })

  test('a redirect without a place, or to none, is a failure', async () => {
    const nowhere = await target((_path, response) => answer(response, 302))
    expect(await performHttp(openDoor(), attemptOf(nowhere.url), keeping)).toMatchObject({
      errorClass: 'http-status',
      httpStatus: 302,
    })
    const nonsense = await target((_path, response) => redirect(response, 302, 'http://[not'))
    expect(await performHttp(openDoor(), attemptOf(nonsense.url), keeping)).toMatchObject({
      errorClass: 'protocol-error',
    })
  })
})

describe('headers', () => {
  const headers = {
    Authorization: 'Bearer secret',
    Cookie: 'a=secret',
    'X-Api-Key': 'secret',
    Accept: 'text/plain',
    'X-Trace': '1',
  }

  test('of the tenant stay behind when the origin changes, even when it changes back', async () => {
    let home = ''
    const away = await target((_path, response) => redirect(response, 307, `${home}/back`), '127.0.0.3')
    const { url, seen } = await target((path, response) =>
      path === '/' ? redirect(response, 307, away.url) : answer(response, 200),
    )
    home = url
    const outcome = await performHttp(openDoor(), attemptOf(`${url}/`, { headers }), keeping)
    expect(outcome.status).toBe('succeeded')
    expect(seen[0]?.headers).toMatchObject({
      authorization: 'Bearer secret',
      cookie: 'a=secret',
      'x-api-key': 'secret',
      'x-trace': '1',
    })
    for (const request of [away.seen[0], seen[1]]) {
      expect(request?.headers).toMatchObject({
        accept: 'text/plain',
        'meridian-attempt': '1',
        'content-type': 'application/json',
      })
      expect(JSON.stringify(request?.headers)).not.toContain('secret')
      expect(request?.headers).not.toHaveProperty('x-trace')
    }
  })

  test('stay with the request on its own origin', async () => {
    const { url, seen } = await target((path, response) =>
      path === '/' ? redirect(response, 307, '/next') : answer(response, 200),
    )
    await performHttp(openDoor(), attemptOf(`${url}/`, { headers }), keeping)
    expect(seen[1]?.headers).toMatchObject({
      authorization: 'Bearer secret',
      cookie: 'a=secret',
      'x-api-key': 'secret',
    })
  })

  test('another port is another origin', async () => {
    const other = await target((_path, response) => answer(response, 200))
    const { url } = await target((_path, response) => redirect(response, 302, other.url))
    await performHttp(openDoor(), attemptOf(url, { headers }), keeping)
    expect(JSON.stringify(other.seen[0]?.headers)).not.toContain('secret')
  })
})
