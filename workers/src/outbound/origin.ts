import { type buildConnector, Pool } from 'undici'
import type { Exchange } from './exchange.ts'
import { Link } from './link.ts'

export interface OriginOptions {
  connect: buildConnector.connector
  socketsMax: number
}

/**
 * The sockets to one origin, and the line of requests that wait for one. The line is ours rather than undici's, so
 * that a request whose time is up leaves it at once.
 */
export class Origin {
  readonly #pool: Pool
  readonly #socketsMax: number
  readonly #line = new Link()
  #active = 0
  #pumpIsDue = false

  constructor(origin: string, { connect, socketsMax }: OriginOptions) {
    this.#socketsMax = socketsMax
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
    return this.#active === 0 && this.#lineIsEmpty
  }

  get #lineIsEmpty(): boolean {
    return this.#line.after === this.#line
  }

  submit(exchange: Exchange): void {
    if (this.#active < this.#socketsMax && this.#lineIsEmpty) this.#start(exchange)
    else if (exchange.isUrgent) this.#line.prepend(exchange)
    else this.#line.append(exchange)
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

  readonly #release = (failed: boolean): void => {
    this.#active--
    // undici retires a client that could not connect without telling that there is room for another.
    if (!failed || this.#pumpIsDue || this.#lineIsEmpty) return
    this.#pumpIsDue = true
    setImmediate(this.#pump)
  }

  readonly #pump = (): void => {
    this.#pumpIsDue = false
    while (this.#active < this.#socketsMax && !this.#lineIsEmpty) {
      const exchange = this.#line.after as Exchange
      exchange.unlink()
      this.#start(exchange)
    }
  }
}
