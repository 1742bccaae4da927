import { Client } from 'pg'
import { type NoopTarget, startNoopTarget } from '../noop-target.ts'
import { type Receiver, startStopwatch } from '../receiver.ts'
import { type ExtraProcess, type Stack, startStack } from '../stack.ts'
import type { Measure } from './benchmark.ts'
import { type CpuReading, coresUsed, type ProcessGroups, readCpu } from './cpu.ts'
import { type PeerProcess, startPeer } from './peer-process.ts'
import type { PeerName } from './peers/peer.ts'
import type { Profile } from './profile.ts'

/** What the contenders share: one stack, one target, one receiver, each started when first asked for. */
export class Lab {
  readonly profile: Profile
  #stack: Stack | undefined
  #target: NoopTarget | undefined
  #receiver: Receiver | undefined
  #peer: PeerProcess | undefined
  #warm: Promise<unknown> | undefined
  #secondExecutor: ExtraProcess | undefined

  constructor(profile: Profile) {
    this.profile = profile
  }

  async stack(): Promise<Stack> {
    this.#stack ??= await startStack(benchSettings)
    return this.#stack
  }

  /** From now on there are two executors, as who drains on two cores would have: each of them is one thread. */
  async useTwoExecutors(): Promise<void> {
    const stack = await this.stack()
    this.#secondExecutor ??= await stack.startExtra('executor')
  }

  /** Does `work` once for the processes of Meridian, which stay warm for all that follows. */
  async warmUp(work: () => Promise<unknown>): Promise<void> {
    this.#warm ??= work()
    await this.#warm
  }

  async target(): Promise<NoopTarget> {
    this.#target ??= await startNoopTarget()
    return this.#target
  }

  async receiver(): Promise<Receiver> {
    this.#receiver ??= await startStopwatch()
    return this.#receiver
  }

  /**
   * Runs `work` with a fresh process of a peer, against the same Postgres server (its own database) and the same
   * Redis. Meanwhile Meridian's own processes stand still, so that their idling costs the peer nothing.
   */
  async withPeer<Result>(name: PeerName, work: (peer: PeerProcess) => Promise<Result>): Promise<Result> {
    const stack = await this.stack()
    const database = name.replaceAll('-', '_')
    await createDatabase(stack.databaseUrl('postgres'), database)
    const peer = startPeer(name, { databaseUrl: stack.databaseUrl(database), redisUrl: stack.redisUrl })
    this.#peer = peer
    try {
      return await work(peer)
    } finally {
      this.#peer = undefined
      await peer.stop()
    }
  }

  /** The processes that count, by group. */
  groups(): ProcessGroups {
    const second = this.#secondExecutor === undefined ? [] : [this.#secondExecutor.pid]
    const ours = ['api', 'engine', 'executor'].flatMap((name) => this.#stack?.pids(name) ?? []).concat(second)
    return {
      node: this.#peer === undefined ? ours : [this.#peer.pid],
      postgres: this.#stack?.pids('postgres') ?? [],
      redis: this.#stack?.pids('redis') ?? [],
      target: [this.#target?.pid, this.#receiver?.pid].filter((pid) => pid !== undefined),
      harness: [process.pid],
    }
  }

  readCpu(): CpuReading {
    return readCpu(this.groups())
  }

  /** CPU since a reading for each of `runs` runs, in total and by group, and what others used meanwhile. */
  cpuPerRun(since: CpuReading, runs: number): Measure[] {
    const now = this.readCpu()
    const cores = coresUsed(since, now)
    const microseconds = ((now.atMs - since.atMs) * 1_000) / runs
    const parts = ['node', 'postgres', 'redis', 'target'].map((name) => ({
      metric: `cpu-${name}`,
      value: (cores[name] ?? 0) * microseconds,
      unit: 'us/run',
    }))
    return [
      { metric: 'cpu', value: parts.reduce((sum, { value }) => sum + value, 0), unit: 'us/run' },
      ...parts,
      { metric: 'foreign', value: cores.other ?? 0, unit: 'cores' },
    ]
  }

  async close(): Promise<void> {
    await this.#peer?.stop()
    await this.#target?.stop()
    await this.#receiver?.stop()
    await this.#stack?.stop()
  }
}

/** Postgres as a server of its own would have it: everything durable, room for a long drain between checkpoints. */
const benchSettings = {
  MERIDIAN_POSTGRES_SETTINGS: 'shared_buffers=2GB,max_wal_size=8GB,checkpoint_timeout=15min,random_page_cost=1.1',
}

async function createDatabase(adminUrl: string, name: string): Promise<void> {
  const client = new Client({ connectionString: adminUrl })
  await client.connect()
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name])
    if (rowCount === 0) await client.query(`create database ${client.escapeIdentifier(name)}`)
  } finally {
    await client.end()
  }
}
