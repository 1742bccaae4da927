import { type ClassShares, usualShares } from '@meridian/core/flow/classes'
import { parseConfig } from '@meridian/core/kernel/config'
import { logLevels } from '@meridian/core/kernel/log'
import { z } from 'zod'

export const roleNames = ['scheduler', 'dispatcher', 'executor', 'relay', 'reaper', 'janitor', 'watchdog'] as const
export type RoleName = (typeof roleNames)[number]

const flag = z.enum(['true', 'false']).transform((text) => text === 'true')
const count = (fallback: number, min: number, max: number) =>
  z.coerce.number().int().min(min).max(max).default(fallback)

const { reserved, spare } = usualShares

const settings = z.object({
  ENGINE_DATABASE_URL: z.url(),
  REDIS_URL: z.url(),
  /** Path of the local key-encryption key: 32 bytes, base64. */
  KEY_FILE: z.string(),
  SHARD: count(1, 1, 32_767),
  POOL: count(1, 1, 32_767),
  HOST: z.string().default('127.0.0.1'),
  METRICS_PORT: z.coerce.number().int().min(0).max(65_535).optional(),
  /** Let runs call private addresses of this machine: for demos and tests. */
  ALLOW_PRIVATE_TARGETS: flag.default(false),
  /** Runs that one executor performs at once. */
  EXECUTOR_CAPACITY: count(512, 1, 10_000),
  /** How long a claimed run is an executor's without a sign of life. */
  LEASE_SECONDS: count(15, 2, 300),
  SOCKETS_PER_ORIGIN: count(64, 1, 1_000),
  /** What is reserved of the slots for each class of queues while it has work, in percent. */
  CLASS_CRITICAL_PERCENT: count(reserved.critical, 0, 98),
  CLASS_STANDARD_PERCENT: count(reserved.standard, 1, 99),
  CLASS_BULK_PERCENT: count(reserved.bulk, 1, 99),
  /** What of the slots, and of the sockets to a host, is kept free for critical runs. */
  CLASS_SPARE_PERCENT: count(spare, 0, 98),
  RETENTION_DAYS: count(90, 7, 3_650),
  RESPONSE_INLINE_BYTES: count(65_536, 0, 1_048_576),
  RESPONSE_KEPT_BYTES: count(1_048_576, 0, 16_777_216),
  OBJECT_STORE_URL: z.url().optional(),
  OBJECT_STORE_BUCKET: z.string().default('meridian'),
  OBJECT_STORE_ACCESS_KEY: z.string().default(''),
  OBJECT_STORE_SECRET_KEY: z.string().default(''),
  OBJECT_STORE_REGION: z.string().default('us-east-1'),
  LOG_LEVEL: z.enum(logLevels).default('info'),
})

const schema = settings
  .refine((all) => all.CLASS_CRITICAL_PERCENT + all.CLASS_STANDARD_PERCENT + all.CLASS_BULK_PERCENT <= 100, {
    error: 'CLASS_CRITICAL_PERCENT, CLASS_STANDARD_PERCENT and CLASS_BULK_PERCENT are more than 100 together',
  })
  .refine((all) => all.CLASS_SPARE_PERCENT <= all.CLASS_CRITICAL_PERCENT, {
    error: 'CLASS_SPARE_PERCENT is more than CLASS_CRITICAL_PERCENT, of which it is a part',
  })

export type Config = z.output<typeof schema> & { roles: RoleName[] }

/** How slots are divided among classes of queues. */
export const sharesOf = (config: Config): ClassShares => ({
  reserved: {
    critical: config.CLASS_CRITICAL_PERCENT,
    standard: config.CLASS_STANDARD_PERCENT,
    bulk: config.CLASS_BULK_PERCENT,
  },
  spare: config.CLASS_SPARE_PERCENT,
})

/** The environment and `--roles=a,b` as a typed value. Throws with every problem named. */
export function readConfig(environment: Record<string, string | undefined>, argv: readonly string[]): Config {
  const given = argv
    .find((argument) => argument.startsWith('--roles='))
    ?.slice('--roles='.length)
    .split(',') ?? [...roleNames]
  const unknown = given.filter((role) => !(roleNames as readonly string[]).includes(role))
  if (unknown.length > 0) throw new Error(`there is no role ${unknown.join(', ')}; there are ${roleNames.join(', ')}`)
  return { ...parseConfig(schema, environment), roles: given as RoleName[] }
}
