// Brings the type of what the other global setup provides.
import type {} from '@meridian/core/testing/global-setup'
import { startRedis } from './redis.ts'

/** vitest's global setup: a Redis of the run's own, or TEST_REDIS_URL. Its URL is provided as `redisUrl`. */
export default async function setup(project: {
  provide(key: 'redisUrl', value: string): void
}): Promise<() => Promise<void>> {
  const given = process.env.TEST_REDIS_URL
  if (given !== undefined && given !== '') {
    project.provide('redisUrl', given)
    return async () => undefined
  }
  const redis = await startRedis()
  project.provide('redisUrl', redis.url)
  return redis.stop
}

declare module 'vitest' {
  export interface ProvidedContext {
    redisUrl: string
  }
}
