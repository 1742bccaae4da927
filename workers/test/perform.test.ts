import type { IncomingHttpHeaders } from 'node:http'
import { fromWireId, uuidv7 } from '@meridian/core/kernel/ids'
import { defaultRetryPolicy, nextDelay } from '@meridian/core/run/retry-policy'
import { describe, expect, test } from 'vitest'
import { type HttpAttempt, performHttp } from '../src/perform/http.ts'
import type { StoreBody } from '../src/perform/response.ts'
import { answer, attemptOf, keeping, listenHttp, openDoor, readBody } from './servers.ts'

async function seenBy(attempt: Partial<HttpAttempt>) {
  const seen: { method: string | undefined; url: string | undefined; headers: IncomingHttpHeaders; body: string }[] = []
  const { port } = await listenHttp(async (request, response) => {
    const { method, url, headers } = request
    seen.push({ method, url, headers, body: (await readBody(request)).toString() })
    answer(response, 200)
  })
  const outcome = await performHttp(openDoor(), attemptOf(`http://127.0.0.1:${port}/a%20b?c=d#e`, attempt), keeping)
  expect(outcome.status).toBe('succeeded')
  return seen[0]
}

describe('what a target gets', () => {
  test('is who calls, which try it is, and when it was due', async () => {
    const runId = uuidv7(Date.now())
    const seen = await seenBy({
      runId,
      attempt: 3,
      fence: 7,
      nominalAtMs: Date.UTC(2026, 2, 29, 5, 25),
      dueAtMs: Date.UTC(2026, 2, 29, 5, 26, 1, 5),
    })
    const headers = seen?.headers ?? {}
    expect(headers).toMatchObject({
      'meridian-attempt': '3',
      'meridian-fence': '7',
      'meridian-nominal-at': '2026-03-29T05:25:00.000Z',
      'meridian-due-at': '2026-03-29T05:26:01.005Z',
      'user-agent': 'Meridian/1',
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      'content-length': '2',
    })
    expect(fromWireId('run', String(headers['meridian-run-id']))).toBe(runId)
    expect(headers['idempotency-key']).toBe(headers['meridian-run-id'])
    expect(headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    expect(headers.traceparent).toContain(runId.replaceAll('-', ''))
    expect(seen).toMatchObject({ method: 'POST', url: '/a%20b?c=d', body: '{}' })
  })

  test('has one trace a run, and one span an attempt', async () => {
    const runId = uuidv7(Date.now())
    const first = String((await seenBy({ runId, attempt: 1 }))?.headers.traceparent).split('-')
    const second = String((await seenBy({ runId, attempt: 2 }))?.headers.traceparent).split('-')
    expect(second[1]).toBe(first[1])
    expect(second[2]).not.toBe(first[2])
  })

  test('has the due instant as the nominal one when there is no schedule', async () => {
    const headers = (await seenBy({ nominalAtMs: null, dueAtMs: 1_774_761_900_123 }))?.headers
    expect(headers?.['meridian-nominal-at']).toBe(headers?.['meridian-due-at'])
  })

  test('has the headers of the tenant, which may replace some of ours, in any spelling', async () => {
    const headers = {
      'X-Own': 'a',
      'Content-Type': 'text/csv',
      'USER-AGENT': 'mine',
      'Idempotency-Key': 'k',
      traceparent: '00-1-1-00',
    }
    const seen = (await seenBy({ headers }))?.headers
    expect(seen).toMatchObject({
      'x-own': 'a',
      'content-type': 'text/csv',
      'user-agent': 'mine',
      'idempotency-key': 'k',
      traceparent: '00-1-1-00',
    })
  })

  test('has no content type without a body', async () => {
    const seen = await seenBy({ method: 'GET', body: null })
    expect(seen?.headers).not.toHaveProperty('content-type')
    expect(seen?.headers).not.toHaveProperty('content-length')
  })

  test.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const)('can be a %s', async (method) => {
    expect(
      (await seenBy({ method, body: method === 'GET' || method === 'HEAD' ? null : Buffer.from('x') }))?.method,
    ).toBe(method)
  })
})

describe('what comes back', () => {
  async function outcomeOf(status: number, headers: Record<string, string>, body = '', more = keeping) {
    const { port } = await listenHttp((_request, response) => answer(response, status, headers, body))
    return performHttp(openDoor(), attemptOf(`http://127.0.0.1:${port}/`), more)
  }

  test.each([200, 201, 202, 204, 299])('%d is a success', async (status) => {
    expect(await outcomeOf(status, { 'x-a': 'b' })).toMatchObject({
      status: 'succeeded',
      httpStatus: status,
      retryAfterMs: null,
      response: { headers: { 'x-a': 'b' } },
    })
  })

  test.each([400, 404, 418, 429, 500, 503])('%d is a failure with its status', async (status) => {
    expect(await outcomeOf(status, {}, 'why')).toMatchObject({
      status: 'failed',
      errorClass: 'http-status',
      httpStatus: status,
      detail: expect.stringContaining(String(status)),
    })
  })

  test('is kept whole up to the limit, and cut there', async () => {
    const few = { ...keeping, inlineBytesMax: 10, keptBytesMax: 10 }
    const whole = await outcomeOf(200, {}, '0123456789', few)
    expect([whole.response?.body.toString(), whole.response?.truncated]).toEqual(['0123456789', false])
    const cut = await outcomeOf(200, {}, '0123456789a', few)
    expect([cut.response?.body.toString(), cut.response?.truncated, cut.status]).toEqual([
      '0123456789',
      true,
      'succeeded',
    ])
  })

  test('goes to the store when it is longer than what stays inline', async () => {
    const stored: [string, unknown][] = []
    const storeBody: StoreBody = async (body, about) => {
      stored.push([body.toString(), about])
      return 'responses/1'
    }
    const some = { ...keeping, inlineBytesMax: 4, keptBytesMax: 8, storeBody }
    const fits = await outcomeOf(500, { 'content-type': 'text/plain' }, '01234567', some)
    expect(fits.response).toMatchObject({ storedAs: 'responses/1', truncated: false, body: Buffer.from('0123') })
    const cut = await outcomeOf(500, {}, '012345678', some)
    expect(cut.response).toMatchObject({ storedAs: 'responses/1', truncated: true })
    expect(stored).toEqual([
      ['01234567', expect.objectContaining({ attempt: 1 })],
      ['01234567', expect.objectContaining({ attempt: 1 })],
    ])
  })

  test('is cut when the store fails, which is told but fails no attempt', async () => {
    const told: unknown[] = []
    const broken = {
      ...keeping,
      inlineBytesMax: 4,
      storeBody: () => Promise.reject(new Error('full')),
      onStoreError: (error: unknown) => void told.push(error),
    }
    const outcome = await outcomeOf(200, {}, '012345', broken)
    expect(outcome).toMatchObject({
      status: 'succeeded',
      response: { storedAs: null, truncated: true, body: Buffer.from('0123') },
    })
    expect(told).toEqual([new Error('full')])
  })

  test('is cut when the store hangs, a second past the deadline at the latest', async () => {
    const { port } = await listenHttp((_request, response) => answer(response, 200, {}, '012345'))
    const hanging = { ...keeping, inlineBytesMax: 4, storeBody: () => new Promise<string>(() => undefined) }
    const outcome = await performHttp(openDoor(), attemptOf(`http://127.0.0.1:${port}/`, { timeoutMs: 100 }), hanging)
    expect(outcome).toMatchObject({ status: 'succeeded', response: { truncated: true } })
    expect(outcome.durationMs).toBeLessThan(1_500)
  })
})

// R17
describe('a time to come back', () => {
  async function delayAfter(status: number, header: () => string): Promise<number> {
    const { port } = await listenHttp((_request, response) => answer(response, status, { 'retry-after': header() }))
    const outcome = await performHttp(openDoor(), attemptOf(`http://127.0.0.1:${port}/`), keeping)
    if (outcome.status === 'succeeded') throw new Error('it succeeded')
    return nextDelay(defaultRetryPolicy, 1, Math.random(), outcome) ?? Number.NaN
  }

  test.each([429, 503])('of 120 seconds after %d is kept, within a tenth', async (status) => {
    const delay = await delayAfter(status, () => '120')
    expect(delay).toBeGreaterThanOrEqual(120_000)
    expect(delay).toBeLessThanOrEqual(132_000)
  })

  test('O-35: as a date 120 seconds ahead is kept, within a tenth', async () => {
    const date = new Date(Date.now() + 120_000)
    const delay = await delayAfter(429, () => date.toUTCString())
    // A date of HTTP has no milliseconds: what was asked for is the second it names.
    expect(Date.now() + delay).toBeGreaterThanOrEqual(Math.floor(date.getTime() / 1_000) * 1_000)
    expect(delay).toBeLessThanOrEqual(133_100)
  })
})
