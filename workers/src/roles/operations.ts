import type { Pool } from '@meridian/core/db/client'
import { systemClock } from '@meridian/core/kernel/clock'
import type { Log } from '@meridian/core/kernel/log'
import { stepOperation } from '@meridian/core/operation/step'
import type { KeyRing } from '@meridian/core/secret/key-ring'
import type { Pass } from '../loop.ts'

export interface OperationsOptions {
  engine: Pool
  keyRing: KeyRing
  shard: number
  log: Log
  wake(poolId: number, dueMs: number): void
}

/** Takes operations forward, a step a pass, in turns among tenants. Any number may run. */
export async function runOperations({ engine, keyRing, shard, log, wake }: OperationsOptions): Promise<Pass> {
  const step = await stepOperation({ engine, keyRing, clock: systemClock, shard })
  if (step === null) return 'idle'
  for (const { item, error } of step.broken) {
    log.error({ err: error, operationId: step.operationId, kind: step.kind, item }, 'an item of an operation failed')
  }
  for (const poolId of step.wakes) wake(poolId, Date.now())
  return 'more'
}
