import { type buildConnector, Pool } from 'undici'
import type { Exchange } from './exchange.ts'
import { Link } from './link.ts'

export interface OriginOptions {
  connect: buildConnector.connector
  socketsMax: number
  /** How many of them stay free for critical requests, where some have been of late. */
  socketsSpare: number
}

/** How long after a critical request sockets stay free for the next: it covers what comes every minute. */
const spareMs = 120_000

/**
 * The sockets to one origin, and the lines of requests that wait for one. The lines are ours rather than undici's, so
 * that a request whose time is up leaves at once.
 */
export class Origin {
  readonly #pool: Pool
  readonly #socketsMax: number
  readonly #socketsSpare: number
  readonly #line = new Link()
  readonly #criticalLine = new Link()
  #active = 0
  #activeCritical = 0
  /** Until when sockets stay free for critical requests; 0 while there were none. */
  #spareUntilMs = 0
  #pumpIsDue = false

  constructor(origin: string, { connect, socketsMax, socketsSpare }: OriginOptions) {
    this.#socketsMax = socketsMax
    this.#socketsSpare = socketsSpare
    this.#pool = new Pool(origin, {
      connect,
      connections: socketsMax,
      pipelining: 1,
      allowH2: false,
      // Deadlines are the wheel's.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    // A socket is free one turn of the event loop after its response, not at once: undici says when.
    this.#pool.on('drain', this.#pump)
  }

  /** Requests that undici holds: one a socket. */
  get active(): number {
    return this.#active
  }

  get isIdle(): boolean {
    return this.#active === 0 && this.#line.isAlone && this.#criticalLine.isAlone
  }

  /** How many sockets requests that are not critical leave free. */
  get #spare(): number {
    if (this.#spareUntilMs === 0) return 0
    if (performance.now() >= this.#spareUntilMs) this.#spareUntilMs = 0
    return this.#spareUntilMs === 0 ? 0 : Math.max(0, this.#socketsSpare - this.#activeCritical)
  }

  submit(exchange: Exchange): void {
    if (exchange.urgency === 'critical') this.#submitCritical(exchange)
    else if (this.#line.isAlone && this.#active < this.#socketsMax - this.#spare) this.#start(exchange)
    else if (exchange.urgency === 'express') this.#line.prepend(exchange)
    else this.#line.append(exchange)
  }

  #submitCritical(exchange: Exchange): void {
    this.#spareUntilMs = performance.now() + spareMs
    if (this.#criticalLine.isAlone && this.#active < this.#socketsMax) this.#startCritical(exchange)
    else this.#criticalLine.append(exchange)
  }

  /** Closes the sockets, each after its request. */
  async close(): Promise<void> {
    await this.#pool.close()
  }

  /** Closes the sockets now. */
  async destroy(): Promise<void> {
    await this.#pool.destroy()
  }

  #start(exchange: Exchange): void {
    this.#active++
    exchange.dispatchOn(this.#pool, this.#release)
  }

  #startCritical(exchange: Exchange): void {
    this.#active++
    this.#activeCritical++
    exchange.dispatchOn(this.#pool, this.#releaseCritical)
  }

  readonly #release = (failed: boolean): void => {
    this.#active--
    // undici retires a client that could not connect without telling that there is room for another, and tells nothing
    // while some are free.
    if (!(failed || this.#spareUntilMs > 0) || this.#pumpIsDue) return
    if (this.#line.isAlone && this.#criticalLine.isAlone) return
    this.#pumpIsDue = true
    setImmediate(this.#pump)
  }

  readonly #releaseCritical = (failed: boolean): void => {
    this.#activeCritical--
    this.#release(failed)
  }

  readonly #pump = (): void => {
    this.#pumpIsDue = false
    while (this.#active < this.#socketsMax && !this.#criticalLine.isAlone)
      this.#startCritical(this.#criticalLine.takeNext() as Exchange)
    const most = this.#socketsMax - this.#spare
    while (this.#active < most && !this.#line.isAlone) this.#start(this.#line.takeNext() as Exchange)
  }
}
