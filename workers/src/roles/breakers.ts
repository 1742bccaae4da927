import { releaseHeld } from '@meridian/core/breaker/hold'
import type { Pool } from '@meridian/core/db/client'
import type { Pass } from '../loop.ts'

/** Lets go what breakers hold: probes, and what drains. Any number may run. */
export async function runBreakers({
  engine,
  wake,
}: {
  engine: Pool
  wake(poolId: number, dueMs: number): void
}): Promise<Pass> {
  for (const pool of await releaseHeld(engine)) wake(pool, Date.now())
  return 'idle'
}
