import { dirname, join } from 'node:path'
import { parseConfig } from '@meridian/core/kernel/config'
import { logLevels } from '@meridian/core/kernel/log'
import { z } from 'zod'

const flag = z.stringbool({ truthy: ['true', '1'], falsy: ['false', '0'], error: 'must be true or false' })
const count = (minimum: number, maximum: number) => z.coerce.number().pipe(z.int().min(minimum).max(maximum))
const origin = z.url({ protocol: /^https?$/ }).transform((text) => text.replace(/\/+$/, ''))

const schema = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: count(0, 65_535).default(4000),
  /** Where callers reach this API: goes into the document and into problem types. */
  API_URL: origin.optional(),
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }),
  DATABASE_POOL: count(1, 200).default(10),
  REDIS_URL: z.url({ protocol: /^rediss?$/ }),
  KEY_FILE: z.string(),
  /** What certificates are signed with; made beside KEY_FILE when absent. All processes of an installation share it. */
  INSTALLATION_KEY_FILE: z.string().optional(),
  /** Compiled zone files of other versions, a folder each (`2026a/Europe/London`): certificates of the past need theirs. */
  TZDATA_FOLDER: z.string().optional(),
  OBJECT_STORE_URL: z.url({ protocol: /^https?$/ }).optional(),
  OBJECT_STORE_BUCKET: z.string().default('meridian'),
  OBJECT_STORE_ACCESS_KEY: z.string().default(''),
  OBJECT_STORE_SECRET_KEY: z.string().default(''),
  OBJECT_STORE_REGION: z.string().default('us-east-1'),
  OIDC_ISSUER: z.url({ protocol: /^https?$/ }).optional(),
  OIDC_CLIENT_ID: z.string().optional(),
  ALLOW_PRIVATE_TARGETS: flag.default(false),
  LOG_LEVEL: z.enum(logLevels).default('info'),
  /** Requests of one key or session in a window. */
  RATE_LIMIT: count(1, 100_000_000).default(200_000),
  /** Requests of all keys and sessions of a tenant in a window. */
  TENANT_RATE_LIMIT: count(1, 100_000_000).default(400_000),
  RATE_LIMIT_SECONDS: count(1, 3_600).default(10),
  /** Event streams that one tenant may hold open on one process. */
  STREAMS_PER_TENANT: count(1, 100_000).default(100),
  /** How long a stop waits for requests in flight. */
  SHUTDOWN_GRACE_SECONDS: count(1, 600).default(20),
})

export type Config = ReturnType<typeof readConfig>

/** The settings of the api from the environment. Throws `ConfigError` that names every problem at once. */
export function readConfig(environment: Record<string, string | undefined>) {
  const parsed = parseConfig(schema, environment)
  return {
    host: parsed.HOST,
    port: parsed.PORT,
    publicUrl: parsed.API_URL ?? `http://${parsed.HOST}:${parsed.PORT}`,
    databaseUrl: parsed.DATABASE_URL,
    databasePool: parsed.DATABASE_POOL,
    redisUrl: parsed.REDIS_URL,
    keyFile: parsed.KEY_FILE,
    installationKeyFile: parsed.INSTALLATION_KEY_FILE ?? join(dirname(parsed.KEY_FILE), 'installation.key'),
    tzdataFolder: parsed.TZDATA_FOLDER ?? null,
    objectStore:
      parsed.OBJECT_STORE_URL === undefined
        ? null
        : {
            url: parsed.OBJECT_STORE_URL,
            region: parsed.OBJECT_STORE_REGION,
            bucket: parsed.OBJECT_STORE_BUCKET,
            accessKey: parsed.OBJECT_STORE_ACCESS_KEY,
            secretKey: parsed.OBJECT_STORE_SECRET_KEY,
          },
    oidc:
      parsed.OIDC_ISSUER !== undefined && parsed.OIDC_CLIENT_ID !== undefined
        ? { issuer: parsed.OIDC_ISSUER, clientId: parsed.OIDC_CLIENT_ID }
        : null,
    allowPrivateTargets: parsed.ALLOW_PRIVATE_TARGETS,
    logLevel: parsed.LOG_LEVEL,
    rateLimit: parsed.RATE_LIMIT,
    tenantRateLimit: parsed.TENANT_RATE_LIMIT,
    rateLimitSeconds: parsed.RATE_LIMIT_SECONDS,
    streamsPerTenant: parsed.STREAMS_PER_TENANT,
    shutdownGraceMs: parsed.SHUTDOWN_GRACE_SECONDS * 1_000,
  }
}
