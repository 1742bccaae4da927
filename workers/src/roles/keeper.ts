import type { Pool } from '@meridian/core/db/client'
import { putAwayOver, resumePaused } from '@meridian/core/job/keep'
import type { Log } from '@meridian/core/kernel/log'
import type { KeyRing } from '@meridian/core/secret/key-ring'
import type { Pass } from '../loop.ts'

/** Does what jobs ask for themselves: resumes those whose pause is over, deletes or archives those that are over. Any number may run. */
export async function runKeeper(options: { engine: Pool; keyRing: KeyRing; shard: number; log: Log }): Promise<Pass> {
  const { engine, keyRing, shard, log } = options
  const resumed = await resumePaused(engine, keyRing)
  const putAway = await putAwayOver(engine, keyRing, shard)
  if (resumed + putAway === 0) return 'idle'
  log.info({ resumed, putAway }, 'jobs were resumed or put away as they had asked')
  return 'more'
}
