import { Redis } from 'ioredis'
import { Client } from 'pg'
import { Api } from '../api.ts'
import { type Receiver, startReceiver } from '../receiver.ts'
import { type Stack, startStack } from '../stack.ts'
import { makeTenants, type Tenant } from '../tenants.ts'
import { waitFor } from '../wait.ts'
import type { FaultProfile } from './row.ts'

/** What a row may touch: the running product, a target that keeps a log, and the stores underneath. */
export class World {
  readonly profile: FaultProfile
  readonly stack: Stack
  readonly receiver: Receiver
  readonly api: Api

  readonly #neighbours: Tenant[] = []

  private constructor(profile: FaultProfile, stack: Stack, receiver: Receiver) {
    this.profile = profile
    this.stack = stack
    this.receiver = receiver
    this.api = new Api(stack.urls.api ?? '', stack.apiKey)
  }

  static async open(profile: FaultProfile): Promise<World> {
    const stack = await startStack()
    return new World(profile, stack, await startReceiver({ log: `${stack.home}/received.log` }))
  }

  async close(): Promise<void> {
    await this.api.close()
    await this.receiver.stop()
    await this.stack.stop()
  }

  /** A tenant beside the first one, with a key of its own. The same one every time. */
  async secondTenant(): Promise<Tenant> {
    const [neighbour] = await this.neighbours(1)
    if (neighbour === undefined) throw new Error('no tenant was made')
    return neighbour
  }

  /** So many tenants beside the first one, the second tenant first among them. The same ones every time. */
  async neighbours(count: number): Promise<Tenant[]> {
    const slugs = Array.from({ length: count }, (_, place) => (place === 0 ? 'neighbour' : `neighbour-${place + 1}`))
    const wanted = slugs.slice(this.#neighbours.length)
    if (wanted.length > 0) this.#neighbours.push(...(await makeTenants(this.stack.home, wanted)))
    return this.#neighbours.slice(0, count)
  }

  /** The pid of the first process of this name; throws when none runs. */
  pid(name: string): number {
    const [pid] = this.stack.pids(name)
    if (pid === undefined) throw new Error(`no process ${name} is running`)
    return pid
  }

  /** Kills a process with SIGKILL. What `up` keeps alive comes back by itself. */
  kill(name: string): number {
    const pid = this.pid(name)
    process.kill(pid, 'SIGKILL')
    return pid
  }

  /** Waits until the API says that it and what it needs are well. */
  async untilReady(timeoutMs = 30_000): Promise<void> {
    await waitFor('the API to be ready', async () => (await this.api.send('GET', '/ready')).status === 200, {
      timeoutMs,
    })
  }

  /** Does something with a connection of the superuser. */
  async withDatabase<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
    const client = new Client({ connectionString: this.stack.databaseUrl() })
    client.on('error', () => undefined)
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.end()
    }
  }

  /** Does something with a connection to Redis. */
  async withRedis<Result>(work: (redis: Redis) => Promise<Result>): Promise<Result> {
    const redis = new Redis(this.stack.redisUrl)
    redis.on('error', () => undefined)
    try {
      return await work(redis)
    } finally {
      redis.disconnect()
    }
  }
}
