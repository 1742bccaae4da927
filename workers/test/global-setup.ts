import setupPostgres from '@meridian/core/testing/global-setup'
import { startRedisServer } from './redis-server.ts'

async function startRedis(): Promise<{ url: string; stop: () => Promise<void> }> {
  const given = process.env['TEST_REDIS_URL']
  return given !== undefined && given !== '' ? { url: given, stop: async () => undefined } : startRedisServer()
}

/** One Postgres and one Redis a test run, provided as `postgresUrl` and `redisUrl`. */
export default async function setup(project: {
  provide(key: 'postgresUrl' | 'redisUrl', value: string): void
}): Promise<() => Promise<void>> {
  const [stopPostgres, redis] = await Promise.all([setupPostgres(project), startRedis()])
  project.provide('redisUrl', redis.url)
  return async () => {
    await redis.stop()
    await stopPostgres()
  }
}

declare module 'vitest' {
  export interface ProvidedContext {
    redisUrl: string
  }
}
