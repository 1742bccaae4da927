import type { Pool } from '@meridian/core/db/client'
import type { Log } from '@meridian/core/kernel/log'
import { expireRuns } from '@meridian/core/run/expire'
import { rescueRuns } from '@meridian/core/run/rescue'
import type { Pass } from '../loop.ts'

const limit = 1_000

/** Heals what a dead executor or an emptied Redis left behind, and says so. Any number may run. */
export async function runReaper(options: {
  engine: Pool
  poolId: number
  log: Log
  wake(poolId: number, dueMs: number): void
}): Promise<Pass> {
  const rescued = await rescueRuns(options.engine, options.poolId, limit)
  const total = rescued.requeued + rescued.retried + rescued.failed
  if (total === 0) return 'idle'
  options.log.warn(rescued, 'runs were rescued')
  options.wake(options.poolId, 0)
  return total >= limit ? 'more' : 'idle'
}

/** Ends runs whose deadline has passed while they waited. Any number may run. */
export async function runExpirer({ engine, log }: { engine: Pool; log: Log }): Promise<Pass> {
  const { looked, expired } = await expireRuns(engine, limit)
  if (expired > 0) log.info({ expired }, 'runs expired')
  return looked >= limit ? 'more' : 'idle'
}
