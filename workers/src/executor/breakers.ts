import { type BreakerSettings, hostOf, verdictOf } from '@meridian/core/breaker/breaker'
import { type HoldVerdict, holdRuns } from '@meridian/core/breaker/hold'
import { readActiveBreakers, readBreakerSettings, reportProbe, tripBreaker } from '@meridian/core/breaker/trip'
import { FailureWindow } from '@meridian/core/breaker/window'
import type { Pool } from '@meridian/core/db/client'
import { type Uuid, uuidv7 } from '@meridian/core/kernel/ids'
import type { Log } from '@meridian/core/kernel/log'
import type { Claimed } from '@meridian/core/run/claim'
import type { AttemptOutcome } from '@meridian/core/run/outcome'
import { LRUCache } from 'lru-cache'
import { Batcher } from './batcher.ts'

export interface BreakersOptions {
  engine: Pool
  poolId: number
  log: Log
}

interface Question {
  lease: Claimed
  host: string
  answer(verdict: HoldVerdict): void
}

const settingsAgeMs = 10_000
const tenantsMax = 10_000
const hostsMax = 10_000
/** A host that has only just come back is left alone after this many failures. */
const drainingFailures = 3

/**
 * What this executor knows of the hosts that fail. Attempts are counted here, and only of hosts that have failed of
 * late; the database hears of it when a breaker is to open, and decides what may go while one is. Where nothing fails
 * this costs nothing.
 */
export class Breakers {
  readonly #options: BreakersOptions
  readonly #questions: Batcher<Question>
  readonly #settings: LRUCache<Uuid, { settings: BreakerSettings }>
  /** Breakers that are not closed, as of the last look, and when the latest of them changed. */
  #active = new Map<string, 'open' | 'draining'>()
  #knownAtMs = 0
  readonly #windows = new LRUCache<string, FailureWindow>({ max: hostsMax })
  /** Runs that go as the probe of their host's breaker. */
  readonly #probes = new Set<Uuid>()

  constructor(options: BreakersOptions) {
    this.#options = options
    const { engine, poolId, log } = options
    this.#settings = new LRUCache({
      max: tenantsMax,
      ttl: settingsAgeMs,
      fetchMethod: async (tenantId) => ({ settings: await readBreakerSettings(engine, tenantId) }),
    })
    this.#questions = new Batcher<Question>({
      size: 400,
      sizeMax: 800,
      waitMs: 5,
      inFlightMax: 1,
      onError: (error, batch) => log.warn({ err: error, count: batch.length }, 'could not ask breakers; asking again'),
      write: async (batch) => {
        const verdicts = await holdRuns(engine, poolId, batch)
        batch.forEach(({ answer }, index) => {
          answer(verdicts[index] ?? 'lost')
        })
      },
    })
  }

  /** Looks which breakers are not closed. */
  async refresh(): Promise<void> {
    const { breakers, atMs } = await readActiveBreakers(this.#options.engine)
    this.#knownAtMs = atMs
    this.#active = new Map(breakers.map(({ tenantId, host, state }) => [keyOf(tenantId, host), state]))
    const nowMs = performance.now()
    for (const [key, window] of this.#windows) if (window.isClean(nowMs)) this.#windows.delete(key)
  }

  /** Looks at once where a claim tells of a change that this executor has not seen: a host that is held is never called. */
  async catchUp(atMs: number): Promise<void> {
    if (atMs <= this.#knownAtMs) return
    await this.refresh().catch((error: unknown) => {
      this.#options.log.warn({ err: error }, 'could not look which breakers are open')
    })
  }

  /**
   * Whether a run may call its host: null when nobody has to be asked. False: it is held, or somebody else's, and not
   * ours to perform.
   */
  ask(run: Claimed, url: string): Promise<boolean> | null {
    if (this.#active.size === 0) return null
    const host = hostOf(url)
    if (!this.#active.has(keyOf(run.tenantId, host))) return null
    return new Promise((resolve) => {
      const answer = (verdict: HoldVerdict): void => {
        if (verdict === 'probes') this.#probes.add(run.id)
        resolve(verdict === 'goes' || verdict === 'probes')
      }
      this.#questions.add({ lease: run, host, answer })
    })
  }

  /** Hears how an attempt went, before it is recorded: null when there is nothing to say. */
  observe(run: Claimed, url: string, outcome: AttemptOutcome): Promise<void> | null {
    if (outcome.status === 'succeeded' && this.#windows.size === 0 && this.#probes.size === 0) return null
    const verdict = verdictOf(outcome)
    const isProbe = this.#probes.delete(run.id)
    if (verdict === null) return null
    const host = hostOf(url)
    if (isProbe) return this.#reportProbe(run, host, outcome, verdict === 'up')
    if (verdict === 'failing') return this.#countFailure(run, host, outcome)
    this.#windows.get(keyOf(run.tenantId, host))?.count(false, performance.now())
    return null
  }

  async #reportProbe(run: Claimed, host: string, outcome: AttemptOutcome, isUp: boolean): Promise<void> {
    const { engine, log } = this.#options
    const { tenantId, id: runId } = run
    try {
      await reportProbe(engine, { tenantId, host, runId, isUp, ...factsOf(outcome) })
      this.#windows.delete(keyOf(tenantId, host))
      log.info({ tenantId, host, isUp }, 'a breaker was probed')
    } catch (error) {
      // Whoever lets runs go finds that the probe is over, and sends another.
      log.warn({ err: error, tenantId, host }, 'could not report a probe')
    }
  }

  async #countFailure(run: Claimed, host: string, outcome: AttemptOutcome): Promise<void> {
    const { engine, log } = this.#options
    const { tenantId, projectId } = run
    const key = keyOf(tenantId, host)
    try {
      const known = this.#settings.get(tenantId) ?? (await this.#settings.fetch(tenantId))
      const state = this.#active.get(key)
      // What was on its way when the breaker opened says nothing new.
      if (known === undefined || !known.settings.isEnabled || state === 'open') return
      const { settings } = known
      const window = this.#windows.get(key) ?? new FailureWindow(settings.windowSeconds, performance.now())
      this.#windows.set(key, window)
      window.count(true, performance.now())
      const failuresMax = state === 'draining' ? Math.min(drainingFailures, settings.failures) : settings.failures
      if (!window.isOver({ ...settings, failures: failuresMax })) return
      const { failures } = window
      this.#windows.delete(key)
      this.#active.set(key, 'open')
      const { error, ...facts } = factsOf(outcome)
      const failure = { id: uuidv7(Date.now()), tenantId, projectId, host, failures, error: error ?? '', ...facts }
      if (await tripBreaker(engine, failure)) log.warn({ tenantId, host, failures, error }, 'a breaker opened')
    } catch (error) {
      // It is counted anew; meanwhile attempts go on as if there were no breakers.
      this.#active.delete(key)
      log.warn({ err: error, tenantId, host }, 'could not open a breaker')
    }
  }
}

const keyOf = (tenantId: Uuid, host: string): string => tenantId + host

const factsOf = (outcome: AttemptOutcome) => ({
  error: outcome.status === 'failed' ? outcome.errorClass : null,
  httpStatus: outcome.httpStatus,
  askedMs: outcome.retryAfterMs,
})
