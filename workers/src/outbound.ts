import { createSecureContext } from 'node:tls'
import { type AllowPrivate, addressGate } from '@meridian/core/run/address'
import { urlProblems } from '@meridian/core/run/target'
import { LRUCache } from 'lru-cache'
import { type Cancellation, cancelledDetail } from './outbound/cancellation.ts'
import { createConnector, createSystemResolver, type Handover, type Resolver } from './outbound/connector.ts'
import { Exchange, type ExchangeRequest, type ExchangeResult, type ExchangeShared } from './outbound/exchange.ts'
import { Origin } from './outbound/origin.ts'
import { TimerWheel } from './outbound/timer-wheel.ts'

export interface OutboundOptions {
  /** Which addresses beyond the public internet may be called. */
  allowPrivate: AllowPrivate
  maxSocketsPerOrigin?: number
  /** How many of them stay free for critical requests, where an origin has had some of late. */
  spareSocketsPerOrigin?: number
  /** Name look-up, TCP and TLS together. */
  connectTimeoutMs?: number
  /** Origins whose sockets are kept. Beyond it the one that was idle longest goes. */
  maxOrigins?: number
  /** What responses together may hold in memory beyond 64 KiB each. */
  bodyBudgetBytes?: number
  resolver?: Resolver
  /** Certificates of authorities to trust instead of the usual ones, in PEM. */
  ca?: string
}

export interface Outbound {
  /** Makes one call and follows no redirect. Always resolves: what went wrong is part of the result. */
  request(request: ExchangeRequest, cancellation?: Cancellation): Promise<ExchangeResult>
  stats(): { origins: number; active: number; pending: number }
  /** Closes each socket after the call on it; calls that wait for a socket fail. */
  close(): Promise<void>
  /** Closes all sockets now; the calls on them fail. */
  destroy(): Promise<void>
}

interface Destination {
  origin: string
  path: string
  problem: string | null
}

/**
 * The only door out: every call to a tenant's URL goes through it. It bounds where calls go, how long they take,
 * how many sockets they use and how much of a response is kept.
 */
export function createOutbound(options: OutboundOptions): Outbound {
  const {
    allowPrivate,
    maxSocketsPerOrigin = 64,
    spareSocketsPerOrigin = 0,
    connectTimeoutMs = 10_000,
    maxOrigins = 1_000,
  } = options
  const wheel = new TimerWheel()
  const handover: Handover = { times: null }
  const bodyBudget = { bytesLeft: options.bodyBudgetBytes ?? 16_777_216 }
  const shared: ExchangeShared = { wheel, handover, bodyBudget, pending: 0 }
  const connect = createConnector({
    allows: addressGate(allowPrivate),
    resolve: options.resolver ?? createSystemResolver(),
    connectTimeoutMs,
    wheel,
    handover,
    secureContext: createSecureContext(options.ca === undefined ? {} : { ca: options.ca }),
  })
  // In the order of their last use.
  const origins = new Map<string, Origin>()
  let latest: Origin | null = null
  const destinations = new LRUCache<string, Destination>({ max: 5_000 })

  const destinationOf = (url: string): Destination => {
    const known = destinations.get(url)
    if (known) return known
    const problem = urlProblems(url, { allowPrivate }).join('; ')
    const parsed = problem ? null : new URL(url)
    const fresh = {
      origin: parsed?.origin ?? '',
      path: parsed ? parsed.pathname + parsed.search : '',
      problem: problem || null,
    }
    destinations.set(url, fresh)
    return fresh
  }

  const originOf = (name: string): Origin => {
    let origin = origins.get(name)
    if (origin === undefined) {
      if (origins.size >= maxOrigins) evictIdle()
      origin = new Origin(name, { connect, socketsMax: maxSocketsPerOrigin, socketsSpare: spareSocketsPerOrigin })
    } else if (origin === latest) {
      return origin
    } else {
      origins.delete(name)
    }
    origins.set(name, origin)
    latest = origin
    return origin
  }

  const evictIdle = (): void => {
    // Busy ones are passed over: then there are more than the limit, no more than calls are running.
    for (const [name, origin] of origins) {
      if (!origin.isIdle) continue
      origins.delete(name)
      void origin.close()
      return
    }
  }

  return {
    request(request, cancellation) {
      if (cancellation?.cancelled) return Promise.resolve(refused('cancelled', cancelledDetail))
      const { origin, path, problem } = destinationOf(request.url)
      if (problem !== null) return Promise.resolve(refused('blocked-destination', `The URL ${problem}.`))
      return new Promise((resolve) => {
        originOf(origin).submit(new Exchange(request, path, shared, cancellation, resolve))
      })
    },
    stats() {
      let active = 0
      for (const origin of origins.values()) active += origin.active
      return { origins: origins.size, active, pending: shared.pending }
    },
    async close() {
      await Promise.all([...origins.values()].map((origin) => origin.close()))
    },
    async destroy() {
      await Promise.all([...origins.values()].map((origin) => origin.destroy()))
    },
  }
}

const refused = (errorClass: 'blocked-destination' | 'cancelled', detail: string): ExchangeResult => ({
  failure: { errorClass, detail },
  response: null,
  sentAtMs: null,
  sendMs: null,
  firstByteMs: null,
  connection: null,
})
