import { randomUUID } from 'node:crypto'
import { Api } from '../api.ts'
import { type ReceivedRequest, type Receiver, startReceiver } from '../receiver.ts'
import { type Stack, startStack } from '../stack.ts'
import { waitFor } from '../wait.ts'

/** A run as the API shows it; what the flows look at. */
export interface WireRun {
  id: string
  status: string
  attempt: number
  createdAt: string
  dueAt: string
  startedAt: string | null
  finishedAt: string | null
  httpStatus: number | null
  error: string | null
  replayOf: string | null
}

const finals = ['succeeded', 'failed', 'cancelled', 'expired', 'skipped']

/** Somebody who uses the product from outside: with a key, a server of their own to be called, and patience. */
export class Person {
  readonly stack: Stack
  readonly api: Api
  readonly receiver: Receiver
  /** Keeps this person's calls apart from everybody else's. */
  readonly label = `flow-${randomUUID()}`

  private constructor(stack: Stack, receiver: Receiver) {
    this.stack = stack
    this.receiver = receiver
    this.api = new Api(stack.urls.api ?? '', stack.apiKey)
  }

  static async meet(): Promise<Person> {
    return new Person(await startStack(), await startReceiver())
  }

  async leave(): Promise<void> {
    await this.api.close()
    await this.receiver.stop()
  }

  /** A target that behaves so, and a run body that calls it. */
  target(behaviour = 'ok') {
    return { type: 'http', url: this.receiver.url(this.label, behaviour), body: { hello: 'world' } }
  }

  run(behaviour = 'ok', more: object = {}): Promise<WireRun> {
    return this.api.ask('POST', '/v1/runs', { target: this.target(behaviour), ...more })
  }

  get(id: string): Promise<WireRun> {
    return this.api.ask('GET', `/v1/runs/${id}`)
  }

  /** The run once it has ended. */
  ended(id: string, timeoutMs = 30_000): Promise<WireRun> {
    return waitFor(
      `${id} to end`,
      async () => {
        const run = await this.get(id)
        return finals.includes(run.status) && run
      },
      { timeoutMs },
    )
  }

  /** The calls that this run made. */
  async calls(id: string): Promise<ReceivedRequest[]> {
    return (await this.receiver.requests(this.label)).filter(({ run }) => run === id)
  }
}
