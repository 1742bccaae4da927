import { Client } from 'pg'
import { Api } from '../api.ts'
import type { Stack } from '../stack.ts'
import { type Call, makeCall } from './call.ts'

/** Meridian as a benchmark drives it: over HTTP, with the key of the stack or of another tenant. */
export class Meridian {
  readonly api: Api
  readonly #stack: Stack

  constructor(stack: Stack, apiKey = stack.apiKey) {
    this.#stack = stack
    this.api = new Api(stack.urls.api ?? '', apiKey, { connections: 8 })
  }

  /** Makes a queue, left alone without limits that bind; `paused` holds back whatever is put into it. */
  async createQueue(name: string, { paused = false, concurrency = 100_000 } = {}): Promise<string> {
    await this.api.ask('POST', '/v1/queues', { name, concurrency })
    if (paused) await this.api.ask('POST', `/v1/queues/${name}/pause`, { reason: 'benchmark' })
    return name
  }

  async resumeQueue(name: string): Promise<void> {
    await this.api.ask('POST', `/v1/queues/${name}/resume`)
  }

  /** Accepts `count` runs by batches of 500, four in flight. */
  async acceptBatches(count: number, make: (index: number) => unknown): Promise<void> {
    let next = 0
    await Promise.all(
      Array.from({ length: 4 }, async () => {
        while (next < count) {
          const start = next
          const size = Math.min(500, count - start)
          next += size
          const runs = Array.from({ length: size }, (_, index) => make(start + index))
          await this.api.ask('POST', '/v1/runs/batch', { runs })
        }
      }),
    )
  }

  /** Asks the database directly, as nobody but a benchmark may. */
  async query<Row>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    const client = new Client({ connectionString: this.#stack.databaseUrl() })
    await client.connect()
    try {
      const { rows } = await client.query(sql, [...values])
      return rows as Row[]
    } finally {
      await client.end()
    }
  }

  close(): Promise<void> {
    return this.api.close()
  }
}

/** The body of `POST /v1/runs` that makes the call number `index` to `url`. */
export function runBody(index: number, url: string, more: { queue?: string; dueAt?: string } = {}) {
  const { url: target, method, headers, body }: Call = makeCall(index, url)
  return { target: { type: 'http', url: target, method, headers, body }, ...more }
}
