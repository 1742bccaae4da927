import { createLog } from '@meridian/core/kernel/log'
import { expect, test } from 'vitest'
import { createRedis, redisTarget } from './redis.ts'

test('an address is taken apart', () => {
  expect(redisTarget('redis://cache.internal')).toMatchObject({ host: 'cache.internal', port: 6379 })
  expect(redisTarget('redis://cache.internal')).not.toHaveProperty('tls')
  expect(redisTarget('rediss://me:p%40ss@[::1]:7000/3')).toMatchObject({
    port: 7000,
    username: 'me',
    password: 'p@ss',
    db: 3,
    tls: {},
  })
  expect(redisTarget('redis://:secret@h')).toMatchObject({ password: 'secret' })
})

test('it is tried again within half a second, however long it was away', () => {
  const { retryStrategy } = redisTarget('redis://h')
  for (const times of [1, 5, 10, 1_000_000]) {
    expect(retryStrategy(times)).toBeGreaterThan(0)
    expect(retryStrategy(times)).toBeLessThanOrEqual(500)
  }
})

test('one that is away is said once, refuses at once, and takes nobody down', async () => {
  const lines: string[] = []
  const log = createLog({ service: 'test', level: 'info', destination: { write: (line) => void lines.push(line) } })
  const redis = createRedis({ ...redisTarget('redis://127.0.0.1:1'), retryStrategy: () => 5 }, log)
  await expect(redis.publish('a', 'b')).rejects.toThrow('enableOfflineQueue')
  for (let errors = 0; errors < 3; errors++) await new Promise((resolve) => redis.once('error', resolve))
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('Redis is away')
  redis.disconnect()
})
