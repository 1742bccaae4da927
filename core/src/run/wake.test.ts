import { expect, test } from 'vitest'
import { cancelChannel, parcelQueue, wakeChannel } from './wake.ts'

test('each pool has names of its own, and a queue none that BullMQ refuses', () => {
  const names = [1, 2, 12].flatMap((pool) => [wakeChannel(pool), cancelChannel(pool), parcelQueue(pool)])
  expect(new Set(names).size).toBe(names.length)
  for (const pool of [1, 32_767]) expect(parcelQueue(pool)).not.toContain(':')
})
