import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLog } from '@meridian/core/kernel/log'
import { createTenant, type TestTenant } from '@meridian/core/testing/factories'
import { createTestDb, type TestDb } from '@meridian/core/testing/test-db'
import { inject } from 'vitest'
import type { z } from 'zod'
import { readConfig } from '../src/config.ts'
import { listen } from '../src/server.ts'
import { createServices, type RunningServices } from '../src/services.ts'
import type { jobWire } from '../src/wire/job.ts'
import type { problemWire } from '../src/wire/problem.ts'
import type { runWire } from '../src/wire/run.ts'
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

export interface TestApi {
  url: string
  db: TestDb
  services: RunningServices
  /** The lines of the log, parsed. */
  log: Record<string, unknown>[]
  tenant(plan?: Parameters<typeof createTenant>[1]): Promise<TestTenant & { client: Client }>
  /** A client with that credential, or with none. */
  as(token: string | null, headers?: Record<string, string>): Client
  close(): Promise<void>
}

/** The real API on a free port, over a database of its own and the run's Redis. */
export async function startTestApi(environment: Record<string, string> = {}): Promise<TestApi> {
  const db = await createTestDb(inject('postgresUrl'))
  const folder = await mkdtemp(join(tmpdir(), 'meridian-api-'))
  const keyFile = join(folder, 'key')
  await writeFile(keyFile, randomBytes(32).toString('base64'))
  const log: Record<string, unknown>[] = []
  const config = readConfig({
    PORT: '0',
    API_URL: 'http://api.test',
    DATABASE_URL: db.appUrl,
    REDIS_URL: inject('redisUrl'),
    KEY_FILE: keyFile,
    ALLOW_PRIVATE_TARGETS: 'true',
    ...environment,
  })
  const services = await createServices(
    config,
    createLog({
      service: 'api',
      level: 'info',
      destination: { write: (line) => void log.push(JSON.parse(line) as Record<string, unknown>) },
    }),
  )
  const server = await listen(services)
  const url = `http://127.0.0.1:${server.port}`
  const as = (token: string | null, headers: Record<string, string> = {}): Client =>
    createClient(url, { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...headers })
  return {
    url,
    db,
    services,
    log,
    as,
    tenant: async (plan) => {
      const tenant = await createTenant(db, plan)
      return { ...tenant, client: as(tenant.apiKey) }
    },
    close: async () => {
      services.beginStop()
      await server.close()
      await services.close()
      await db.close()
      await rm(folder, { recursive: true, force: true })
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
