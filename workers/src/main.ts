import { createPool, hotPathSettings } from '@meridian/core/db/client'
import { uuidv7 } from '@meridian/core/kernel/ids'
import { createLog } from '@meridian/core/kernel/log'
import { createMetrics } from '@meridian/core/kernel/metrics'
import { createShutdown } from '@meridian/core/kernel/shutdown'
import { localFileKeyProvider } from '@meridian/core/secret/key-provider'
import { KeyRing } from '@meridian/core/secret/key-ring'
import { countAlarms } from '@meridian/core/watch/settle'
import { readConfig } from './config.ts'
import { serveHealth } from './health.ts'
import { createRedis, redisTarget } from './redis.ts'
import { startRoles } from './start.ts'

const graceMs = 25_000

const config = readConfig(process.env, process.argv.slice(2))
const log = createLog({ service: `workers.${config.roles.join('+')}`, level: config.LOG_LEVEL })
const metrics = createMetrics('workers')
const shutdown = createShutdown({ log, graceMs })

const engine = createPool({
  url: config.ENGINE_DATABASE_URL,
  max: 4 + 4 * config.roles.length,
  applicationName: `meridian-${config.roles.join('+')}`.slice(0, 63),
  settings: { ...hotPathSettings, idle_in_transaction_session_timeout: '2s' },
})
shutdown.onStop('database', () => engine.end())
const redis = redisTarget(config.REDIS_URL)
const publisher = createRedis(redis, log)
shutdown.onStop('redis', () => publisher.disconnect())

const keyRing = new KeyRing(engine, await localFileKeyProvider(config.KEY_FILE))
const roles = await startRoles({
  config,
  engine,
  redis,
  publisher,
  keyRing,
  log,
  metrics,
  executorId: uuidv7(Date.now()),
})
shutdown.onStop('roles', () => roles.stop(graceMs - 5_000))
const health = await serveHealth({
  host: config.HOST,
  port: config.METRICS_PORT ?? 0,
  engine,
  metrics,
  roles: config.roles,
  alarms: config.roles.includes('watchdog') ? () => countAlarms(engine) : undefined,
})
shutdown.onStop('health', () => health.close())

log.info({ roles: config.roles, metricsPort: health.port }, 'workers are up')
await shutdown.done
process.exit(0)
