import type { Pool } from '@meridian/core/db/client'
import { keepDead } from '@meridian/core/dead-letter/keep'
import type { StoredEvent } from '@meridian/core/event/event'
import { readEvents } from '@meridian/core/event/read'
import { advanceRelay, readRelayPosition } from '@meridian/core/event/relay'
import { pauseFailing } from '@meridian/core/job/keep'
import type { Log } from '@meridian/core/kernel/log'
import { startCallbacks } from '@meridian/core/run/callbacks'
import { settleBatches } from '@meridian/core/run/settle-batches'
import { eventStream } from '@meridian/core/run/wake'
import type { KeyRing } from '@meridian/core/secret/key-ring'
import type { Redis } from 'ioredis'
import type { Pass } from '../loop.ts'

const batch = 1_000
/** What the stream keeps, in events: an entry holds one to a thousand, and Redis has little memory. */
const eventsKept = 60_000
const entriesMax = 2_000
const awayMs = 200
const name = 'live'

/** The jobs that runs have failed of, each once. */
function failedJobs(events: readonly StoredEvent[]): { tenantId: string; jobId: string }[] {
  const jobs = new Map<string, { tenantId: string; jobId: string }>()
  for (const { type, tenantId, jobId } of events)
    if (type === 'run.failed' && jobId !== null) jobs.set(jobId, { tenantId, jobId })
  return [...jobs.values()]
}

/**
 * Tells events on to the Redis stream of live views, in order, a batch an entry (field `e`, a JSON array), and counts
 * them; batches end run by run, callbacks are started; runs that have failed are kept as dead letters, and their jobs are looked after. At least once: readers know an event by its position.
 */
export class Relay {
  readonly #engine: Pool
  readonly #redis: Redis
  readonly #keyRing: KeyRing
  readonly #log: Log
  #position: string | null = null

  constructor(engine: Pool, redis: Redis, keyRing: KeyRing, log: Log) {
    this.#engine = engine
    this.#redis = redis
    this.#keyRing = keyRing
    this.#log = log
  }

  async runOnce(): Promise<Pass> {
    // Live views read Postgres by themselves while Redis is away; the counters can wait.
    if (this.#redis.status !== 'ready') return { sleepMs: awayMs }
    const from = this.#position ?? (await readRelayPosition(this.#engine, name))
    const events = await readEvents(this.#engine, from, batch)
    if (events.length === 0) {
      this.#position = from
      return 'idle'
    }
    await this.#tell(events)
    await settleBatches(this.#engine, this.#keyRing, events)
    await keepDead(this.#engine, events)
    await startCallbacks(this.#engine, this.#keyRing, events, (error, runId) =>
      this.#log.warn({ err: error, runId }, 'a callback could not be made'),
    )
    await pauseFailing(this.#engine, this.#keyRing, failedJobs(events))
    const isOurs = await advanceRelay(this.#engine, name, from, events)
    // Another relay was faster: read again where it stands.
    this.#position = isOurs ? (events.at(-1)?.position ?? null) : null
    return events.length === batch ? 'more' : 'idle'
  }

  async #tell(events: StoredEvent[]): Promise<void> {
    const entries = Math.min(entriesMax, Math.ceil(eventsKept / events.length))
    await this.#redis.xadd(eventStream, 'MAXLEN', '~', entries, '*', 'e', JSON.stringify(events))
  }
}
