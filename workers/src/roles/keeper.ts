import type { Pool } from '@meridian/core/db/client'
import { deleteOver, resumePaused } from '@meridian/core/job/keep'
import type { Log } from '@meridian/core/kernel/log'
import type { KeyRing } from '@meridian/core/secret/key-ring'
import type { Pass } from '../loop.ts'

/** Does what jobs ask for themselves: resumes those whose pause is over, deletes those that are over. Any number may run. */
export async function runKeeper(options: { engine: Pool; keyRing: KeyRing; shard: number; log: Log }): Promise<Pass> {
  const { engine, keyRing, shard, log } = options
  const resumed = await resumePaused(engine, keyRing)
  const deleted = await deleteOver(engine, keyRing, shard)
  if (resumed + deleted === 0) return 'idle'
  log.info({ resumed, deleted }, 'jobs were resumed or deleted as they had asked')
  return 'more'
}
