import { lookup } from 'node:dns/promises'
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls, type SecureContext } from 'node:tls'
import { type AddressGate, canonicalAddress } from '@meridian/core/run/address'
import { LRUCache } from 'lru-cache'
import type { buildConnector } from 'undici'
import { OutboundError } from './failure.ts'
import type { Expiring, TimerWheel } from './timer-wheel.ts'

/** All addresses of a name, in the order to try them. */
export type Resolver = (hostname: string) => Promise<readonly string[]>

/** The resolver of the operating system, which knows `/etc/hosts`. One look-up serves all that ask at once. */
export function createSystemResolver(): Resolver {
  const running = new Map<string, Promise<readonly string[]>>()
  return (hostname) => {
    const known = running.get(hostname)
    if (known) return known
    const answer = lookup(hostname, { all: true, order: 'verbatim' })
      .then((found) => found.map(({ address }) => address))
      .finally(() => running.delete(hostname))
    running.set(hostname, answer)
    return answer
  }
}

export interface ConnectTimes {
  dnsMs: number
  connectMs: number
}

/** The times of the connection that is being handed over right now; `null` at any other moment. */
export interface Handover {
  times: ConnectTimes | null
}

export interface ConnectorOptions {
  allows: AddressGate
  resolve: Resolver
  connectTimeoutMs: number
  wheel: TimerWheel
  handover: Handover
  secureContext: SecureContext
}

/**
 * Opens sockets for undici, and is the gate: it resolves the name itself, refuses when any address may not be
 * called, connects to none but those it has just judged, and looks at the peer's address again. Names stay what
 * they are for TLS and for the Host header. When in doubt it refuses.
 */
export function createConnector(options: ConnectorOptions): buildConnector.connector {
  const sessions = new LRUCache<string, Buffer>({ max: 1_000 })
  return ({ hostname, port, protocol }, callback) => {
    const secure = protocol === 'https:'
    const place = { hostname, port: Number(port) || (secure ? 443 : 80), secure }
    new Attempt(options, sessions, place, callback).start()
  }
}

interface Place {
  hostname: string
  port: number
  secure: boolean
}

class Attempt implements Expiring {
  readonly #options: ConnectorOptions
  readonly #sessions: LRUCache<string, Buffer>
  readonly #place: Place
  readonly #callback: buildConnector.Callback
  readonly #startedAt = performance.now()
  readonly #timer
  #resolvedAt = 0
  #stage: 'dns-failed' | 'connect-failed' | 'tls-failed' = 'dns-failed'
  #socket: Socket | null = null
  #over = false

  constructor(
    options: ConnectorOptions,
    sessions: LRUCache<string, Buffer>,
    place: Place,
    callback: buildConnector.Callback,
  ) {
    this.#options = options
    this.#sessions = sessions
    this.#place = place
    this.#callback = callback
    this.#timer = options.wheel.set(options.connectTimeoutMs, this)
  }

  start(): void {
    const { hostname } = this.#place
    const addresses = isIP(hostname) === 0 ? this.#options.resolve(hostname) : Promise.resolve([hostname])
    addresses
      .then(
        (found) => this.#open(found),
        (error: unknown) => this.#fail('dns-failed', codeOf(error), error),
      )
      .catch((error: unknown) => this.#fail(this.#stage, codeOf(error), error))
  }

  expire(): void {
    this.#fail(this.#stage, 'took too long')
  }

  #open(addresses: readonly string[]): void {
    if (this.#over) return
    this.#resolvedAt = performance.now()
    if (addresses.length === 0) this.#fail('dns-failed', 'no address')
    else if (!addresses.every((address) => this.#options.allows(address))) this.#fail('blocked-destination', '')
    else this.#connect(addresses)
  }

  #connect(addresses: readonly string[]): void {
    this.#stage = 'connect-failed'
    const { hostname, port, secure } = this.#place
    const shared = {
      host: hostname,
      port,
      lookup: pinnedLookup(addresses),
      // Several addresses are tried as RFC 8305 says, a quarter of a second apart.
      autoSelectFamily: addresses.length > 1,
      autoSelectFamilyAttemptTimeout: 250,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: 60_000,
    }
    const socket = secure ? this.#openTls(shared) : connectTcp(shared)
    this.#socket = socket
    const judged = new Set(addresses.map(canonicalAddress))
    socket.once('connect', () => this.#onConnect(socket, judged))
    socket.on('error', (error) => this.#fail(this.#stage, codeOf(error), error))
  }

  #openTls(shared: { host: string; port: number }): Socket {
    const name = shared.host.replace(/\.$/, '')
    const key = `${name}:${shared.port}`
    const session = this.#sessions.get(key)
    const socket = connectTls({
      ...shared,
      host: name,
      servername: isIP(name) === 0 ? name : '',
      ALPNProtocols: ['http/1.1'],
      secureContext: this.#options.secureContext,
      ...(session ? { session } : {}),
    })
    socket.on('session', (fresh) => this.#sessions.set(key, fresh))
    socket.once('secureConnect', () => this.#succeed(socket))
    return socket
  }

  #onConnect(socket: Socket, judged: ReadonlySet<string>): void {
    const peer = socket.remoteAddress ?? ''
    this.#stage = 'tls-failed'
    if (!judged.has(canonicalAddress(peer)) || !this.#options.allows(peer)) this.#fail('blocked-destination', '')
    else if (!this.#place.secure) this.#succeed(socket)
  }

  #succeed(socket: Socket): void {
    if (this.#over) return
    this.#settle()
    this.#hand(() => this.#callback(null, socket))
  }

  #fail(stage: keyof typeof sentences, detail: string, cause?: unknown): void {
    if (this.#over) return
    this.#settle()
    this.#socket?.destroy()
    this.#hand(() =>
      this.#callback(new OutboundError(stage, sentences[stage](this.#place.hostname, detail), cause), null),
    )
  }

  #settle(): void {
    this.#over = true
    this.#options.wheel.clear(this.#timer)
  }

  // undici starts (or fails) the waiting request inside the callback, which is how it learns its connection's times.
  #hand(call: () => void): void {
    const resolvedAt = this.#resolvedAt || performance.now()
    const { handover } = this.#options
    handover.times = { dnsMs: resolvedAt - this.#startedAt, connectMs: performance.now() - resolvedAt }
    try {
      call()
    } finally {
      handover.times = null
    }
  }
}

// No address is ever named: a tenant could map a private network by reading refusals.
const sentences = {
  'dns-failed': (hostname: string, detail: string) => `The name ${hostname} could not be resolved (${detail}).`,
  'connect-failed': (hostname: string, detail: string) => `No connection to ${hostname} (${detail}).`,
  'tls-failed': (hostname: string, detail: string) => `No secure connection to ${hostname} (${detail}).`,
  'blocked-destination': (hostname: string) => `${hostname} leads to a private or reserved address.`,
}

function pinnedLookup(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_hostname, { all }, done) => {
    if (all) done(null, found)
    else done(null, found[0]?.address ?? '', found[0]?.family ?? 4)
  }
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  const { code, message } = error as { code?: string; message?: string }
  return code ?? message ?? 'unknown'
}
