import type { Pool } from '@meridian/core/db/client'
import type { Uuid } from '@meridian/core/kernel/ids'
import type { Log } from '@meridian/core/kernel/log'
import { announceExecutor, retireExecutor } from '@meridian/core/run/admit'
import { type Claimed, claimRuns, handBack, type Lease, renewLeases } from '@meridian/core/run/claim'
import { returnQueued } from '@meridian/core/run/rescue'
import type { KeyRing } from '@meridian/core/secret/key-ring'
import type { Parcel, Way } from '../carrier.ts'
import { Cancellation } from '../outbound/cancellation.ts'
import type { Outbound } from '../outbound.ts'
import type { ResponseKeeping } from '../perform/response.ts'
import type { Breakers } from './breakers.ts'
import { DatabaseClock } from './database-clock.ts'
import type { ExecutorMetrics } from './executor-metrics.ts'
import { type Performed, perform } from './perform-run.ts'
import { Recorder } from './recorder.ts'
import { Requests } from './requests.ts'
import { WaitingLine } from './waiting-line.ts'

export interface ExecutorOptions {
  id: Uuid
  engine: Pool
  keyRing: KeyRing
  outbound: Outbound
  breakers: Breakers
  keeping: ResponseKeeping
  poolId: number
  /** Runs performed at once. */
  capacity: number
  /** How many of them critical runs find free, where queues have classes. */
  spare: number
  /** How long a claim holds without being renewed. */
  leaseSeconds: number
  log: Log
  metrics: ExecutorMetrics
  /** Slots came free: a dispatcher with a backlog wants to know. */
  onFreed(): void
  /** A run is due in so many milliseconds: the dispatcher may have to look earlier than it planned. */
  onRetry(delayMs: number): void
}

/** A run this executor holds the lease of. */
interface Held {
  run: Claimed
  cancellation: Cancellation
  /** When the lease is certainly over, by `performance.now()`, which goes on while this process is frozen. */
  leaseUntilMs: number
  state: 'waiting' | 'performing' | 'recording'
  way: Way | 'critical'
}

interface Unclaimed {
  runs: Parcel['runs']
  way: Held['way']
  done: () => void
}

const claimMax = 1_000
/** The next claim goes out while the last one is on its way: it takes a commit, and performing must outlast it. */
const claimsAtOnce = 2
/** Claimed runs kept at hand, so that performing outlasts the next claim: at least this many, or so many seconds of them. */
const bufferMin = 600
const bufferSeconds = 0.25
const recordBacklogMax = 4_000

/**
 * Claims what the carrier brings, performs it at its instant, and records how it went. It counts runs, not parcels, and
 * keeps no transaction open while it performs.
 */
export class Executor {
  readonly #options: ExecutorOptions
  readonly #clock = new DatabaseClock()
  readonly #requests: Requests
  readonly #recorder: Recorder
  readonly #held = new Map<Uuid, Held>()
  readonly #line = new WaitingLine<Held>()
  #performing = 0
  #performingCritical = 0
  /** Slots that others than critical runs leave free; none where queues have no classes. */
  #spare = 0
  #finished = 0
  #rate = 0
  #rateAtMs = performance.now()
  readonly #unclaimed: Unclaimed[] = []
  readonly #claiming = new Set<Promise<void>>()
  #roomWaiters: (() => void)[] = []
  #isStopping = false
  #idleWaiters: (() => void)[] = []

  constructor(options: ExecutorOptions) {
    this.#options = options
    this.#requests = new Requests(options.engine, options.keyRing)
    this.#recorder = new Recorder({
      ...options,
      executorId: options.id,
      onRecorded: (leases) => {
        for (const lease of leases) this.#forget(lease)
        this.#finished += leases.length
        options.onFreed()
        this.#pump()
      },
    })
  }

  get running(): number {
    return this.#held.size
  }

  /** Takes a parcel: resolves once its runs are claimed and there is room for more. */
  async take({ runs, isAwaited, class: parcelClass }: Parcel, way: Way = 'road'): Promise<void> {
    this.#recorder.isAwaited = isAwaited
    this.#spare = parcelClass === undefined ? 0 : this.#options.spare
    await new Promise<void>((done) => {
      if (way === 'express') this.#unclaimed.unshift({ runs, way: parcelClass === 'critical' ? 'critical' : way, done })
      else this.#unclaimed.push({ runs, way, done })
      // Few claims at a time, of all parcels that came meanwhile: under load claims grow, alone they are prompt.
      if (this.#claiming.size >= claimsAtOnce) return
      const claiming = this.#claimAll().finally(() => this.#claiming.delete(claiming))
      this.#claiming.add(claiming)
    })
    while (way === 'road' && !this.#isStopping && this.#line.length > this.#buffer) {
      await new Promise<void>((resolve) => this.#roomWaiters.push(resolve))
    }
  }

  get #buffer(): number {
    return Math.max(bufferMin, this.#options.capacity, this.#rate * bufferSeconds)
  }

  async #claimAll(): Promise<void> {
    const { engine, poolId, log } = this.#options
    while (this.#unclaimed.length > 0) {
      let count = 0
      let parcels = 0
      while (
        parcels < this.#unclaimed.length &&
        (parcels === 0 || count + (this.#unclaimed[parcels]?.runs.length ?? 0) <= claimMax)
      ) {
        count += this.#unclaimed[parcels++]?.runs.length ?? 0
      }
      const batch = this.#unclaimed.splice(0, parcels)
      const runs = batch.flatMap((parcel) => parcel.runs)
      try {
        if (this.#isStopping) await returnQueued(engine, poolId, runs)
        else await this.#claim(runs, batch)
      } catch (error) {
        // Not claimed, or claimed unheard: either way the reaper gives them out again.
        log.warn({ err: error, runs: count }, 'could not claim runs')
      }
      for (const parcel of batch) parcel.done()
    }
  }

  async #claim(runs: Parcel['runs'], parcels: readonly Unclaimed[]): Promise<void> {
    const { engine, poolId, id, leaseSeconds } = this.#options
    const askedAtMs = DatabaseClock.localMs()
    const leaseUntilMs = performance.now() + leaseSeconds * 1_000
    const claim = await claimRuns(engine, poolId, id, runs, leaseSeconds)
    if (claim.runs.length > 0) this.#clock.observe(askedAtMs, DatabaseClock.localMs(), claim.nowMs)
    this.#requests.readAhead(claim.runs)
    if (claim.breakersAtMs > 0) await this.#options.breakers.catchUp(claim.breakersAtMs)
    const hasten = new Map(
      parcels.flatMap(({ way, runs: own }) => (way === 'road' ? [] : own.map((run) => [run[2], way] as const))),
    )
    for (const run of claim.runs) {
      // An attempt of it that this executor lost by being frozen may still be going on.
      this.cancel(run.id)
      const held: Held = {
        run,
        cancellation: new Cancellation(),
        leaseUntilMs,
        state: 'waiting',
        way: hasten.get(run.id) ?? 'road',
      }
      this.#held.set(run.id, held)
      this.#arm(held)
    }
  }

  /** Nobody but this very attempt is meant: a later one of the same run may be here by now. */
  #forget({ id, fence }: Lease): void {
    if (this.#held.get(id)?.run.fence === fence) this.#held.delete(id)
  }

  // The last timer before the instant: rounded up and asked again, so that it is never early.
  #arm(held: Held): void {
    const waitMs = held.run.dueAtMs - this.#clock.nowMs()
    if (waitMs > 0) {
      setTimeout(() => this.#arm(held), Math.min(Math.ceil(waitMs), 3_600_000))
      return
    }
    this.#line.push(held, held.way)
    this.#pump()
  }

  /** Whether what is next may have a slot: the spare ones are for critical runs. */
  get #hasSlot(): boolean {
    const spare = this.#line.hasCritical ? 0 : Math.max(0, this.#spare - this.#performingCritical)
    return this.#performing < this.#options.capacity - spare
  }

  #pump(): void {
    while (this.#line.length > 0 && this.#hasSlot && !this.#isStopping && this.#recorder.backlog < recordBacklogMax) {
      const held = this.#line.shift()
      if (held === undefined || held.cancellation.cancelled) continue
      // Frozen or cut off for too long: by now it may be somebody else's, and is given out again if it is not.
      if (performance.now() >= held.leaseUntilMs) this.#forget(held.run)
      else void this.#perform(held)
    }
    if (this.#line.length < this.#buffer) for (const resolve of this.#roomWaiters.splice(0)) resolve()
  }

  async #perform(held: Held): Promise<void> {
    this.#performing++
    if (held.way === 'critical') this.#performingCritical++
    held.state = 'performing'
    const means = held.way === 'road' ? this.#options : { ...this.#options, urgency: held.way }
    try {
      const performed = await perform(held.run, held.cancellation, means, this.#requests, this.#clock)
      if (held.cancellation.cancelled) this.#forget(held.run)
      else if (performed === null) {
        this.#forget(held.run)
        this.#options.onFreed()
      } else this.#record(held, performed)
    } catch (error) {
      // A bug, not an outcome. The lease runs out and the run is tried again.
      this.#options.log.error({ err: error, runId: held.run.id, tenantId: held.run.tenantId }, 'performing a run threw')
      this.#forget(held.run)
    } finally {
      this.#performing--
      if (held.way === 'critical') this.#performingCritical--
      this.#pump()
      if (this.#performing === 0) this.#rest()
    }
  }

  #rest(): void {
    if (this.#recorder.isAwaited && this.#held.size === this.#recorder.backlog) this.#recorder.flush()
    for (const resolve of this.#idleWaiters.splice(0)) resolve()
  }

  #record(held: Held, performed: Performed): void {
    held.state = 'recording'
    this.#options.metrics.observe(performed)
    this.#recorder.add(performed)
  }

  /** Stops an attempt: its run was cancelled, or belongs to somebody else by now. */
  cancel(id: Uuid, fence?: number): void {
    const held = this.#held.get(id)
    if (held === undefined || held.state === 'recording' || (fence !== undefined && held.run.fence !== fence)) return
    held.cancellation.cancel()
    if (held.state === 'waiting') this.#forget(held.run)
  }

  /** How often `renew` wants to be called. */
  get renewEveryMs(): number {
    return (this.#options.leaseSeconds * 1_000) / 6
  }

  /** Prolongs the leases that are a third over, and stops the attempts whose lease was lost. */
  async renew(): Promise<void> {
    const { engine, poolId, leaseSeconds } = this.#options
    const nowMs = performance.now()
    const leaseMs = leaseSeconds * 1_000
    // A row whose record is in flight is left alone: touching it would make the guarded delete look twice.
    const old = [...this.#held.values()].filter(
      (held) => held.state !== 'recording' && held.leaseUntilMs - nowMs < (leaseMs * 2) / 3,
    )
    if (old.length === 0) return
    const kept = await renewLeases(
      engine,
      poolId,
      old.map((held) => held.run),
      leaseSeconds,
    )
    for (const held of old) {
      if (kept.has(held.run.id)) held.leaseUntilMs = nowMs + leaseMs
      else this.cancel(held.run.id, held.run.fence)
    }
  }

  /** Tells dispatchers what this executor can take. Returns whether it has finished something of late. */
  async announce(): Promise<boolean> {
    const nowMs = performance.now()
    const seconds = (nowMs - this.#rateAtMs) / 1_000
    if (seconds >= 0.19) {
      const latest = this.#finished / seconds
      // Quick to rise, slow to fall: a pause must not starve the next burst.
      this.#rate = Math.max(latest, this.#rate * 0.7 + latest * 0.3)
      this.#finished = 0
      this.#rateAtMs = nowMs
    }
    const { engine, id, poolId, capacity, spare } = this.#options
    await announceExecutor(engine, {
      id,
      pool: poolId,
      capacity,
      spare,
      running: this.#held.size,
      finishedPerSecond: this.#rate,
    })
    return this.#rate >= 1
  }

  /**
   * Goes down in order: takes nothing new, hands back what has not begun, waits up to `graceMs` for what has, records
   * it, and leaves the rest to its leases.
   */
  async stop(graceMs: number): Promise<void> {
    const { engine, id, poolId, log } = this.#options
    this.#isStopping = true
    for (const resolve of this.#roomWaiters.splice(0)) resolve()
    await retireExecutor(engine, id).catch((error: unknown) => log.warn({ err: error }, 'could not retire'))
    await Promise.all(this.#claiming)
    const waiting = [...this.#held.values()].filter((held) => held.state === 'waiting')
    for (const held of waiting) this.cancel(held.run.id, held.run.fence)
    if (waiting.length > 0) {
      await handBack(
        engine,
        poolId,
        waiting.map((held) => held.run),
      ).catch((error: unknown) => log.warn({ err: error }, 'could not hand runs back'))
    }
    if (this.#performing > 0) {
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, graceMs)
      })
      await Promise.race([new Promise<void>((resolve) => this.#idleWaiters.push(resolve)), late])
      clearTimeout(timer)
    }
    await this.#recorder.drain()
  }
}
