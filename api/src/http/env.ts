import type { Pool } from '@meridian/core/db/client'
import type { Clock } from '@meridian/core/kernel/clock'
import type { Log } from '@meridian/core/kernel/log'
import type { Metrics } from '@meridian/core/kernel/metrics'
import type { BodyStore } from '@meridian/core/object/store'
import type { ZoneDatabase } from '@meridian/core/schedule/zone'
import type { InstallationKey } from '@meridian/core/secret/installation-key'
import type { KeyRing } from '@meridian/core/secret/key-ring'
import type { Redis } from 'ioredis'
import type { Config } from '../config.ts'
import type { Authenticator } from './auth.ts'
import type { EventHub } from './event-hub.ts'
import type { IdTokenVerifier } from './id-token.ts'
import type { Intake } from './intake.ts'
import type { RateLimiter } from './rate-limit.ts'
import type { RequestLog } from './request-log.ts'
import type { RunReads } from './run-reads.ts'
import type { Wake } from './wake.ts'

/** What every request may use. Made once, in `services.ts`. */
export interface Services {
  config: Config
  log: Log
  clock: Clock
  pool: Pool
  keyRing: KeyRing
  /** What certificates are signed with. Null when its file can't be made. */
  installationKey: InstallationKey | null
  /** The time zone data of a version; undefined when it is not here. */
  zonesOf(version: string): ZoneDatabase | undefined
  redis: Redis
  metrics: Metrics
  requestLog: RequestLog
  authenticator: Authenticator
  /** Of one key or session, and of all of a tenant. */
  limits: {
    caller: RateLimiter
    tenant: RateLimiter
    /** Pings of one URL, and of one address. */
    ping: RateLimiter
    pingAddress: RateLimiter
  }
  intake: Intake
  runReads: RunReads
  wake: Wake
  events: EventHub
  /** Where long responses lie. Null when none is configured. */
  bodyStore: BodyStore | null
  /** Null when no identity provider is configured: then nobody signs in. */
  idTokens: IdTokenVerifier | null
  /** Turns true when the process is about to stop. */
  isStopping(): boolean
}
