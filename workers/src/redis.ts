import type { Log } from '@meridian/core/kernel/log'
import { Redis } from 'ioredis'

/** Where Redis is, to be handed to whoever opens its own connection. */
export interface RedisTarget {
  host: string
  port: number
  username?: string
  password?: string
  db?: number
  tls?: Record<string, never>
  retryStrategy(times: number): number
}

/** Connection options from a `redis://` URL. */
export function redisTarget(url: string): RedisTarget {
  const { hostname, port, username, password, pathname, protocol } = new URL(url)
  return {
    host: hostname,
    port: port === '' ? 6379 : Number(port),
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(pathname.length > 1 ? { db: Number(pathname.slice(1)) } : {}),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
    // Back within half a second of Redis's return, however long it was away.
    retryStrategy: (times: number) => Math.min(500, times * 50),
  }
}

/** A connection for what may fail: it says so at once, and never takes the process down. */
export function createRedis(options: RedisTarget, log: Log): Redis {
  const redis = new Redis({ ...options, maxRetriesPerRequest: 1, enableOfflineQueue: false, commandTimeout: 2_000 })
  let isAway = false
  redis.on('error', (error: Error) => {
    if (!isAway) log.warn({ err: error }, 'Redis is away')
    isAway = true
  })
  redis.on('ready', () => {
    if (isAway) log.info('Redis is back')
    isAway = false
  })
  return redis
}

/** A connection that listens; it comes back by itself and subscribes again. */
export function createSubscriber(options: RedisTarget, log: Log): Redis {
  const redis = new Redis({ ...options, maxRetriesPerRequest: null })
  redis.on('error', (error: Error) => log.debug({ err: error }, 'the subscription is away'))
  return redis
}
