import { createTenant } from '@meridian/core/testing/factories'
import { startTestPostgres } from '@meridian/core/testing/test-db'
import { bootApi } from './boot.ts'
import { startRedis } from './redis.ts'

/**
 * The real API with a tenant of its own, as a process: for tests of rooms that may not import it. Prints one line of
 * JSON when it is ready, and ends when its standard input does.
 */
const postgres = await startTestPostgres()
const redis = process.env.TEST_REDIS_URL ? null : await startRedis()
const api = await bootApi(postgres.url, redis?.url ?? process.env.TEST_REDIS_URL ?? '', { LOG_LEVEL: 'warn' })
const tenant = await createTenant(api.db)
process.stdout.write(`${JSON.stringify({ url: api.url, apiKey: tenant.apiKey })}\n`)

process.stdin.resume()
process.stdin.once('end', () => {
  void api
    .close()
    .then(() => redis?.stop())
    .then(() => postgres.stop())
    .then(() => process.exit(0))
})
