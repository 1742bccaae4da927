import type { Pool } from '@meridian/core/db/client'
import { type ClassShares, perClass } from '@meridian/core/flow/classes'
import type { Owed } from '@meridian/core/flow/lines'
import type { Log } from '@meridian/core/kernel/log'
import { type Admitted, admitRuns, type Capacity, lookAhead, readCapacity } from '@meridian/core/run/admit'
import { type AdmittedByClass, admitByClass } from '@meridian/core/run/admit-by-class'
import type { Preempted } from '@meridian/core/run/preempt'
import { returnQueued } from '@meridian/core/run/rescue'
import { type PassedTable, tidyRunTables } from '@meridian/core/run/tidy'
import type { Carrier, Parcel } from '../carrier.ts'
import type { Pass } from '../loop.ts'
import { Traffic } from '../traffic.ts'

export interface DispatcherOptions {
  engine: Pool
  poolId: number
  carrier: Carrier
  /** What is reserved for each class of queues, in percent. */
  reserved: ClassShares['reserved']
  log: Log
  /** Tells whoever performs a run that it was cancelled for a newer one, or put back for a critical one. */
  interrupt(runId: string, fence: number): void
  /** The longest sleep: what makes a lost wake-up harmless. */
  pollMs: number
}

/**
 * How long before its due instant a run is admitted: it covers the tail of the path to an executor's timer, which is two
 * commits on a disk that has its moments. It has its slot meanwhile.
 */
const aheadMs = 150
/** What that path mostly takes. A run that is due sooner is not kept waiting for others. */
const pathMs = 30
/** Looks are this far apart, so that one takes all that came due meanwhile. */
const gapMs = 30
/** And this far after one that admitted many: what a look costs by itself is then a good part of what its runs cost. */
const busyGapMs = 60
const many = 12
/** How far apart looks are that take slots which come free one by one, from several executors, too. */
const freedGapMs = 10
/** A queued run that nobody claimed within this time was lost by the carrier. */
const queuedSeconds = 5
const batchMax = 1_000
const parcelMax = 200
/** Work that may wait on the way so that executors never run dry, as seconds of what they finish. */
const slackSeconds = 0.8
/** Slots that come free within this time are worth waiting for: one walk over the queues then serves them all. */
const gatherSeconds = 0.15
const capacityAgeMs = 200
/**
 * The tables where runs wait and are held are vacuumed when looks have walked over so much of what runs left there, each over
 * all of it: after 2,000 runs by twenties, 11,000 by six hundreds.
 */
const tidyAfter = 200_000
/** Every so many times also the one in which what is due next month lies. */
const tidyDueEvery = 10
/** How soon to look again while something is due that could not be admitted. */
const overdueMs = 10
const waitingMs = 250

/**
 * Gives slots to due runs and puts them on the carrier. Any number may run: the database lets one admit at a time, and
 * nobody is the leader.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions
  #capacity: Capacity & { readAtMs: number } = {
    executors: 0,
    slots: 0,
    spare: 0,
    finishedPerSecond: 0,
    usesClasses: false,
    readAtMs: Number.NEGATIVE_INFINITY,
  }
  #carrying: Promise<void> = Promise.resolve()
  #lookedAtMs = 0
  #gapMs = gapMs
  /** The same by the database's clock, epoch milliseconds, of the last look that told it. */
  #lastMs = 0
  readonly #owed: Owed = new Map()
  readonly #owedByClass = perClass((): Owed => new Map())
  readonly #traffic = new Traffic()
  #sinceTidy = 0
  #looksSinceTidy = 0
  #tidied = 0
  #tidying: Promise<void> | null = null
  /** Runs wait for slots, and slots come free one by one: each is worth a look. */
  wantsEachSlot = false
  /** Some have waited for longer than one look: what holds their slots is worth being recorded at once. */
  #isAwaited = false
  /** What waits is held up by limits of its own, however much room executors have. */
  #isLimited = false

  constructor(options: DispatcherOptions) {
    this.#options = options
  }

  /** One look: admit, carry, say when to look next. */
  async runOnce(): Promise<Pass> {
    const { engine, poolId, carrier, pollMs } = this.#options
    this.#lookedAtMs = performance.now()
    const capacity = await this.#readCapacity()
    // Without an executor or a carrier nothing is admitted: the backlog waits where it is safe.
    if (capacity.slots === 0 || !carrier.isReady()) return { sleepMs: Math.min(pollMs, 200) }
    const limit = Math.round(capacity.slots + slackSeconds * capacity.finishedPerSecond)
    const batch = Math.max(1, Math.min(batchMax, Math.ceil(limit / 2)))
    const roomMin = Math.min(batch, Math.round(gatherSeconds * capacity.finishedPerSecond))
    const { critical, others, preempted, criticalWaits } = await this.#admit(capacity, { batch, limit, roomMin })
    for (const run of preempted) this.#stop(run)
    const count = critical.length + others.length
    this.#gapMs = count < many ? gapMs : busyGapMs
    if (count > 0) {
      // One batch is on its way while the next is admitted, no more: Redis stays shallow.
      await this.#carrying
      this.#carrying = this.#carry(critical, others, capacity)
      this.#sinceTidy += count
      this.#looksSinceTidy++
      if (this.#sinceTidy * this.#looksSinceTidy >= tidyAfter) this.#tidy()
    }
    // With room for fewer than that nothing is admitted: it was not room that these few wanted for.
    if (others.length > 0) this.#isLimited = others.length < roomMin
    const gathers = roomMin > 1 && !this.#isLimited && !criticalWaits
    if (count >= batch) return 'more'
    const outlook = await lookAhead(engine, poolId, this.#lastMs)
    this.#lastMs = outlook.nowMs
    this.wantsEachSlot = outlook.waiting && !gathers
    this.#isAwaited = outlook.stillWaiting && !gathers
    const leftMs = outlook.nextDueMs === null ? null : outlook.nextDueMs - outlook.nowMs
    const sleepMs =
      leftMs === null ? pollMs : leftMs <= aheadMs - busyGapMs ? overdueMs : Math.min(pollMs, this.waitMs(leftMs))
    if (!outlook.waiting) return { sleepMs }
    const tokenMs = outlook.nextTokenMs === null ? waitingMs : Math.max(gapMs, outlook.nextTokenMs - outlook.nowMs)
    return { sleepMs: Math.min(sleepMs, gathers ? gatherSeconds * 1_000 : Math.min(waitingMs, tokenMs)) }
  }

  async #admit(
    { spare, usesClasses }: Capacity,
    { batch, limit, roomMin }: { batch: number; limit: number; roomMin: number },
  ): Promise<AdmittedByClass> {
    const { engine, poolId, reserved, interrupt } = this.#options
    const options = {
      pool: poolId,
      batch,
      capacity: limit,
      aheadMs,
      queuedSeconds,
      roomMin,
      onStopped: ({ id, fence }: { id: string; fence: number }) => interrupt(id, fence),
    }
    if (usesClasses) return admitByClass(engine, { ...options, spare, reserved, owed: this.#owedByClass })
    const others = await admitRuns(engine, { ...options, owed: this.#owed })
    return { critical: [], others, preempted: [], criticalWaits: false }
  }

  #stop({ tenantId, queueId, id, fence }: Preempted): void {
    const { interrupt, log } = this.#options
    log.info({ tenantId, queueId, runId: id }, 'a run was put back: a critical one has its slot')
    interrupt(id, fence)
  }

  /** How long the look for a run may wait that is due in `leftMs`, in milliseconds. */
  waitMs(leftMs: number): number {
    const untilGapMs = this.#lookedAtMs + this.#gapMs - performance.now()
    return Math.max(0, leftMs - aheadMs, Math.min(untilGapMs, leftMs - pathMs))
  }

  /** How long the look for slots that came free may wait, in milliseconds: a look for several costs as much as one for one. */
  get freedWaitMs(): number {
    return Math.max(0, this.#lookedAtMs + freedGapMs - performance.now())
  }

  /** Waits for what goes on in the background. */
  async drain(): Promise<void> {
    await Promise.all([this.#carrying, this.#tidying])
  }

  #tidy(): void {
    const { engine, log } = this.#options
    if (this.#tidying !== null) return
    this.#sinceTidy = 0
    this.#looksSinceTidy = 0
    this.#tidied++
    const tables: PassedTable[] = this.#tidied % tidyDueEvery === 0 ? ['ready', 'held', 'due'] : ['ready', 'held']
    this.#tidying = tidyRunTables(engine, tables)
      .catch((error: unknown) => log.debug({ err: error }, 'could not tidy; autovacuum will'))
      .finally(() => {
        this.#tidying = null
      })
  }

  async #readCapacity(): Promise<Capacity> {
    const nowMs = performance.now()
    if (nowMs - this.#capacity.readAtMs > capacityAgeMs) {
      this.#capacity = { ...(await readCapacity(this.#options.engine, this.#options.poolId)), readAtMs: nowMs }
    }
    return this.#capacity
  }

  async #carry(critical: Admitted[], others: Admitted[], { executors, usesClasses }: Capacity): Promise<void> {
    const { engine, poolId, carrier, log } = this.#options
    const { road, express } = this.#traffic.part(others, performance.now())
    const ofClass = usesClasses ? { class: 'other' as const } : {}
    try {
      if (critical.length > 0)
        await carrier.send(this.#parcelsOf(critical, executors, { class: 'critical' }), 'express')
      if (express.length > 0) await carrier.send(this.#parcelsOf(express, executors, ofClass), 'express')
      if (road.length > 0) await carrier.send(this.#parcelsOf(road, executors, ofClass))
    } catch (error) {
      const admitted = [...critical, ...others]
      log.warn({ err: error, runs: admitted.length }, 'the carrier refused runs; they wait again')
      await returnQueued(engine, poolId, admitted).catch((returnError: unknown) =>
        // The reaper puts them back when their time on the way is over.
        log.warn({ err: returnError }, 'could not put runs back'),
      )
    }
  }

  /** Light load: a parcel an executor. Heavy load: full parcels, since the queue's price is per parcel. */
  #parcelsOf(runs: Admitted[], executors: number, ofClass: Pick<Parcel, 'class'>): Parcel[] {
    const size = Math.min(parcelMax, Math.ceil(runs.length / Math.max(1, executors)))
    const parcels: Parcel[] = []
    for (let start = 0; start < runs.length; start += size)
      parcels.push({ runs: runs.slice(start, start + size), isAwaited: this.#isAwaited, ...ofClass })
    return parcels
  }
}
