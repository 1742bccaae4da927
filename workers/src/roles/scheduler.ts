import type { Pool } from '@meridian/core/db/client'
import type { Log } from '@meridian/core/kernel/log'
import { materialise, nextScheduleMs } from '@meridian/core/run/materialise'
import { lookAheadMs } from '@meridian/core/run/wake'
import type { KeyRing } from '@meridian/core/secret/key-ring'
import type { Pass } from '../loop.ts'

export interface SchedulerOptions {
  engine: Pool
  keyRing: KeyRing
  shard: number
  log: Log
  pollMs: number
  wake(poolId: number, dueMs: number): void
}

const limit = 500

/** Turns schedules into occurrences and runs, a little ahead of time. Any number may run. */
export async function runScheduler(options: SchedulerOptions): Promise<Pass> {
  const { engine, keyRing, shard, log, pollMs } = options
  const made = await materialise(engine, { keyRing, shard, aheadMs: lookAheadMs, limit })
  for (const [poolId, dueMs] of made.wakes) options.wake(poolId, dueMs)
  for (const { jobId, error } of made.broken) log.error({ err: error, jobId }, 'a schedule could not be computed')
  if (made.missed > 0) log.warn({ missed: made.missed }, 'occurrences were past their grace')
  if (made.isFull) return 'more'
  const nextMs = await nextScheduleMs(engine, shard)
  if (nextMs === null) return 'idle'
  const untilNextMs = nextMs - lookAheadMs - Date.now()
  // What is due and was not taken is another scheduler's, or broken: no reason to look all the time.
  return { sleepMs: untilNextMs <= 0 && made.schedules === 0 ? pollMs : Math.min(pollMs, Math.max(50, untilNextMs)) }
}
