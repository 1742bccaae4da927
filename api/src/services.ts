import { createPool, hotPathSettings } from '@meridian/core/db/client'
import { systemClock } from '@meridian/core/kernel/clock'
import type { Log } from '@meridian/core/kernel/log'
import { createMetrics } from '@meridian/core/kernel/metrics'
import { createBodyStore } from '@meridian/core/object/store'
import { zonesOfVersions } from '@meridian/core/schedule/zone-files'
import { type InstallationKey, keepInstallationKey } from '@meridian/core/secret/installation-key'
import { localFileKeyProvider } from '@meridian/core/secret/key-provider'
import { KeyRing } from '@meridian/core/secret/key-ring'
import { Redis } from 'ioredis'
import type { Config } from './config.ts'
import { createAuthenticator } from './http/auth.ts'
import type { Services } from './http/env.ts'
import { createEventHub } from './http/event-hub.ts'
import { createIdTokenVerifier } from './http/id-token.ts'
import { createIntake } from './http/intake.ts'
import { RateLimiter } from './http/rate-limit.ts'
import { createRequestLog } from './http/request-log.ts'
import { createRunReads } from './http/run-reads.ts'
import { createWake } from './http/wake.ts'

export interface RunningServices extends Services {
  /** No new streams, `/ready` says so. */
  beginStop(): void
  /** Writes what is pending and closes every connection. */
  close(): Promise<void>
}

const resumeTransactionsMax = 200_000

// A Redis that is away or frozen must cost a request next to nothing: fail at once, or after this.
const redisTimeoutMs = 250

/** Of one ping URL, and of all that one address calls, in a minute. */
const pingLimit = 300
const pingAddressLimit = 6_000

/** Makes everything a request may use. Connects lazily: a database that is away answers 503, it keeps nobody from starting. */
export async function createServices(config: Config, log: Log): Promise<RunningServices> {
  const clock = systemClock
  const pool = createPool({
    url: config.databaseUrl,
    max: config.databasePool,
    applicationName: 'meridian-api',
    settings: hotPathSettings,
    pipeline: true,
  })
  const keyRing = new KeyRing(pool, await localFileKeyProvider(config.keyFile))
  const bodyStore = config.objectStore && createBodyStore(config.objectStore, keyRing)
  const metrics = createMetrics('api')
  const redis = openRedis(config.redisUrl, log, { enableAutoPipelining: true, commandTimeout: redisTimeoutMs })
  const wake = createWake({ redis, clock })
  const intake = createIntake({ pool, keyRing, wake, log })
  const authenticator = createAuthenticator({ pool, clock, log })
  const events = createEventHub({
    openReader: () => openRedis(config.redisUrl, log, {}),
    log,
    streamsPerTenant: config.streamsPerTenant,
    resumeTransactionsMax,
  })
  const windowSeconds = config.rateLimitSeconds
  const limits = {
    caller: new RateLimiter({ name: 'default', redis, limit: config.rateLimit, windowSeconds }),
    tenant: new RateLimiter({ name: 'tenant', redis, limit: config.tenantRateLimit, windowSeconds }),
    ping: new RateLimiter({ name: 'ping', redis, limit: pingLimit, windowSeconds: 60 }),
    pingAddress: new RateLimiter({ name: 'ping-address', redis, limit: pingAddressLimit, windowSeconds: 60 }),
  }
  let isStopping = false

  const { meter } = metrics
  meter
    .createObservableGauge('meridian_intake_pending', { description: 'Runs that wait to be written' })
    .addCallback((result) => result.observe(intake.pending))
  meter
    .createObservableGauge('meridian_event_streams', { description: 'Live event streams' })
    .addCallback((result) => result.observe(events.subscriberCount))
  meter
    .createObservableGauge('meridian_db_connections', { description: 'Connections to Postgres' })
    .addCallback((result) => {
      result.observe(pool.totalCount - pool.idleCount, { state: 'busy' })
      result.observe(pool.idleCount, { state: 'idle' })
      result.observe(pool.waitingCount, { state: 'waited-for' })
    })

  return {
    config,
    log,
    clock,
    pool,
    keyRing,
    installationKey: await openInstallationKey(config.installationKeyFile, log),
    zonesOf: zonesOfVersions(config.tzdataFolder),
    redis,
    metrics,
    requestLog: createRequestLog(log, metrics),
    authenticator,
    limits,
    wake,
    intake,
    runReads: createRunReads(),
    events,
    bodyStore,
    idTokens: config.oidc === null ? null : createIdTokenVerifier(config.oidc),
    isStopping: () => isStopping,
    beginStop() {
      isStopping = true
      events.close()
    },
    async close() {
      await intake.drained()
      await authenticator.close()
      await pool.end()
      redis.disconnect()
      bodyStore?.close()
      await metrics.close()
    },
  }
}

/** Without it only certificates are refused: a folder that can't be written to keeps nobody from starting. */
async function openInstallationKey(path: string, log: Log): Promise<InstallationKey | null> {
  try {
    return await keepInstallationKey(path)
  } catch (error) {
    log.error({ err: error, path }, 'no installation key: certificates are refused')
    return null
  }
}

function openRedis(url: string, log: Log, options: { enableAutoPipelining?: boolean; commandTimeout?: number }): Redis {
  const redis = new Redis(url, {
    ...options,
    connectionName: 'meridian-api',
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (tries: number) => Math.min(50 * tries, 500),
  })
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
