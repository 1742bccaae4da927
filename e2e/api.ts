import { randomUUID } from 'node:crypto'
import { Pool } from 'undici'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** An answer of the API, whatever its status. */
export interface Answer<Body = Record<string, unknown>> {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Body
  text: string
}

/** The API as a plain HTTP client sees it, with one key. Tests that bend the wire need to see every answer. */
export class Api {
  readonly origin: string
  readonly headers: Record<string, string>
  readonly #http: Pool

  constructor(url: string, apiKey: string, { connections = 64 }: { connections?: number } = {}) {
    this.origin = new URL(url).origin
    this.headers = apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` }
    this.#http = new Pool(this.origin, { connections, pipelining: 1, headersTimeout: 40_000 })
  }

  /** Sends one request and returns its answer; throws only when there is none. */
  async send<Body = Record<string, unknown>>(
    method: Method,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<Body>> {
    const isText = typeof body === 'string'
    const response = await this.#http.request({
      method,
      path,
      headers: { ...this.headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
    })
    const text = await response.body.text()
    return { status: response.statusCode, headers: response.headers, body: parse(text) as Body, text }
  }

  /** Sends a request that must succeed, creates with an idempotency key, and returns the body of its answer. */
  async ask<Body>(method: Method, path: string, body?: unknown): Promise<Body> {
    const key = method === 'POST' ? { 'idempotency-key': randomUUID() } : {}
    const answer = await this.send<Body>(method, path, body, key)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.body
  }

  close(): Promise<void> {
    return this.#http.destroy()
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
