import type { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import { RateLimiterMemory, RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible'

/** How much a caller may still do in the window that runs. */
export interface Standing {
  isAllowed: boolean
  remaining: number
  resetSeconds: number
}

export interface RateLimiterOptions {
  /** Names the policy in headers and its counters in Redis. */
  name: string
  redis: Redis
  limit: number
  windowSeconds: number
}

interface Window {
  /** Reserved in the store, not spent yet. */
  left: number
  /** Spent here in this window, and half of what was spent before. */
  used: number
  /** Nobody has reserved these. */
  unreserved: number
  resetAtMs: number
  refill: Promise<void> | null
  waiting: number
}

const redisAwayMs = 1_000
const refused: Pick<Standing, 'isAllowed'> = { isAllowed: false }
const allowed: Pick<Standing, 'isAllowed'> = { isAllowed: true }

/**
 * Counts requests in fixed windows that all processes share through Redis. A process reserves ahead, a tenth of what
 * it has already spent in the window, so a busy caller costs Redis a few calls a second while a quiet one is counted
 * exactly. Without Redis each process counts for itself: limits are then too generous, never too strict.
 */
export class RateLimiter {
  readonly policy: string
  readonly #name: string
  readonly #limit: number
  readonly #shared: RateLimiterRedis
  readonly #insurance: RateLimiterMemory
  readonly #windows = new LRUCache<string, Window>({ max: 50_000 })
  #redisAwayUntilMs = 0

  constructor({ name, redis, limit, windowSeconds }: RateLimiterOptions) {
    const settings = { points: limit, duration: windowSeconds, keyPrefix: `meridian:limit:${name}` }
    this.policy = `"${name}";q=${limit};w=${windowSeconds}`
    this.#name = name
    this.#limit = limit
    this.#shared = new RateLimiterRedis({ ...settings, storeClient: redis, rejectIfRedisNotReady: true })
    this.#insurance = new RateLimiterMemory(settings)
  }

  /** Spends one request of a caller. Never fails; waits only when a reservation is needed. */
  take(caller: string): Standing | Promise<Standing> {
    const window = this.#windowOf(caller)
    return this.#spend(window) ?? this.#reserveAndSpend(caller, window)
  }

  /** The item of the `RateLimit` header that tells a standing. */
  describe({ remaining, resetSeconds }: Standing): string {
    return `"${this.#name}";r=${remaining};t=${resetSeconds}`
  }

  #windowOf(caller: string): Window {
    const window = this.#windows.get(caller)
    if (window !== undefined) return window
    const opened: Window = { left: 0, used: 0, unreserved: this.#limit, resetAtMs: 0, refill: null, waiting: 0 }
    this.#windows.set(caller, opened)
    return opened
  }

  /** Spends what is reserved; null when a reservation has to be made first. */
  #spend(window: Window): Standing | null {
    const leftMs = window.resetAtMs - performance.now()
    if (leftMs <= 0) return null
    const resetSeconds = Math.ceil(leftMs / 1_000)
    if (window.left > 0) {
      window.left--
      window.used++
      return { ...allowed, remaining: window.left + window.unreserved, resetSeconds }
    }
    return window.unreserved === 0 ? { ...refused, remaining: 0, resetSeconds } : null
  }

  async #reserveAndSpend(caller: string, window: Window): Promise<Standing> {
    window.waiting++
    try {
      for (;;) {
        window.refill ??= this.#reserve(caller, window).finally(() => {
          window.refill = null
        })
        await window.refill
        const standing = this.#spend(window)
        if (standing !== null) return standing
      }
    } finally {
      window.waiting--
    }
  }

  async #reserve(caller: string, window: Window): Promise<void> {
    const points = Math.max(1, window.waiting, Math.floor(window.used / 10))
    const { consumedPoints, msBeforeNext } = await this.#count(caller, points)
    const now = performance.now()
    if (now >= window.resetAtMs) {
      window.left = 0
      window.used /= 2
    }
    window.resetAtMs = now + Math.max(1, msBeforeNext)
    // What the counter held before says how much of this reservation was still there to be had.
    window.left += Math.max(0, Math.min(points, this.#limit - (consumedPoints - points)))
    window.unreserved = Math.max(0, this.#limit - consumedPoints)
  }

  async #count(caller: string, points: number): Promise<RateLimiterRes> {
    if (performance.now() >= this.#redisAwayUntilMs) {
      try {
        return await this.#shared.penalty(caller, points)
      } catch {
        this.#redisAwayUntilMs = performance.now() + redisAwayMs
      }
    }
    return this.#insurance.penalty(caller, points)
  }
}
