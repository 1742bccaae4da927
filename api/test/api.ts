import { createTenant, type TestTenant } from '@meridian/core/testing/factories'
import { inject } from 'vitest'
import type { z } from 'zod'
import type { jobWire } from '../src/wire/job.ts'
import type { problemWire } from '../src/wire/problem.ts'
import type { runWire } from '../src/wire/run.ts'
import { type BootedApi, bootApi } from './boot.ts'
import { checkContract } from './contract.ts'

/** An answer; its body was held against the document before a test sees it. */
export interface Answer<Body> {
  status: number
  headers: Headers
  text: string
  body: Body
}

type Headed = Record<string, string>

export interface Client {
  send<Body = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Headed,
  ): Promise<Answer<Body>>
  get<Body = Record<string, unknown>>(path: string, headers?: Headed): Promise<Answer<Body>>
  post<Body = Record<string, unknown>>(path: string, body?: unknown, headers?: Headed): Promise<Answer<Body>>
  /** Opens a stream and leaves it as soon as its status is known. */
  open(method: string, path: string): Promise<{ status: number; text: string }>
}

export type Run = z.output<typeof runWire>
export type Job = z.output<typeof jobWire>
export type Problem = z.output<typeof problemWire>
export interface Page<Item> {
  data: Item[]
  nextCursor: string | null
}

export interface TestApi extends BootedApi {
  tenant(plan?: Parameters<typeof createTenant>[1]): Promise<TestTenant & { client: Client }>
  /** A client with that credential, or with none. */
  as(token: string | null, headers?: Headed): Client
}

/** The real API over a database of its own and the run's Redis. */
export async function startTestApi(environment: Record<string, string> = {}): Promise<TestApi> {
  const api = await bootApi(inject('postgresUrl'), inject('redisUrl'), environment)
  const as = (token: string | null, headers: Headed = {}): Client =>
    createClient(api.url, { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...headers })
  return {
    ...api,
    as,
    tenant: async (plan) => {
      const tenant = await createTenant(api.db, plan)
      return { ...tenant, client: as(tenant.apiKey) }
    },
  }
}

function createClient(url: string, own: Headed): Client {
  async function send<Body>(method: string, path: string, body?: unknown, headers: Headed = {}): Promise<Answer<Body>> {
    const isRaw = typeof body === 'string' || body instanceof Uint8Array
    const response = await fetch(url + path, {
      method,
      headers: { ...own, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const type = response.headers.get('content-type') ?? ''
    const parsed: unknown = type.includes('json') && text !== '' ? JSON.parse(text) : undefined
    checkContract({ method, path, status: response.status, headers: response.headers, body: parsed })
    return { status: response.status, headers: response.headers, text, body: parsed as Body }
  }
  return {
    send,
    get: (path, headers) => send('GET', path, undefined, headers),
    post: (path, body, headers) => send('POST', path, body, headers),
    async open(method, path) {
      const response = await fetch(url + path, { method, headers: own })
      if (!response.ok) return { status: response.status, text: await response.text() }
      await response.body?.cancel()
      return { status: response.status, text: '' }
    },
  }
}

/** A target that nothing answers; runs of these tests are accepted, never performed. */
export const target = { type: 'http', url: 'http://127.0.0.1:9/hook', body: { hello: 'world' } }

export const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString()
