import { forgetBreakers } from '@meridian/core/breaker/hold'
import type { Pool } from '@meridian/core/db/client'
import {
  dropPartitions,
  ensurePartitions,
  findOverflow,
  forgetCounters,
  forgetExecutors,
  forgetFarBlocks,
  forgetFarInputs,
  forgetIdempotencyKeys,
  forgetRunDetails,
  forgetRunKeys,
} from '@meridian/core/db/janitor'
import { forgetHandled } from '@meridian/core/dead-letter/keep'
import { forgetLanes } from '@meridian/core/flow/lanes'
import type { Log } from '@meridian/core/kernel/log'
import { forgetOperations } from '@meridian/core/operation/step'
import { refreshZones } from '@meridian/core/run/refresh-zones'
import type { Pass } from '../loop.ts'

export interface JanitorOptions {
  engine: Pool
  shard: number
  log: Log
  /** How long history is kept, in days. */
  retentionDays: number
}

const weeksAhead = 8
const keyHours = 24
const limit = 10_000
/** Each may have as many items as an operation can. */
const operationsMax = 10
const schedulesMax = 500

/** Keeps partitions ahead of need and throws away what is past its time. Any number may run. */
export async function runJanitor({ engine, shard, log, retentionDays }: JanitorOptions): Promise<Pass> {
  const made = await ensurePartitions(engine, weeksAhead)
  if (made > 0) log.info({ made }, 'partitions were made')
  const overflow = await findOverflow(engine)
  if (overflow.length > 0) log.error({ tables: overflow }, 'rows lie outside the partitions made ahead')
  const dropped = await dropPartitions(engine, retentionDays)
  if (dropped.length > 0) log.info({ dropped }, 'partitions past their retention were dropped')
  const keys = await forgetIdempotencyKeys(engine, keyHours, limit)
  const payloads = await forgetFarInputs(engine, retentionDays, limit)
  const blocks = await forgetFarBlocks(engine, limit)
  const details = await forgetRunDetails(engine, retentionDays, limit)
  const runKeys = await forgetRunKeys(engine, limit)
  const lanes = await forgetLanes(engine, limit)
  const letters = await forgetHandled(engine, retentionDays, limit)
  const operations = await forgetOperations(engine, retentionDays, operationsMax)
  const zones = await refreshZones(engine, { shard, limit: schedulesMax })
  if (zones.schedules > 0) log.info({ ...zones }, 'schedules were computed again with other time zone data')
  await forgetCounters(engine, retentionDays)
  await forgetExecutors(engine)
  await forgetBreakers(engine, retentionDays)
  const isFull =
    [keys, payloads, blocks, details, runKeys, letters].includes(limit) ||
    lanes >= limit ||
    operations === operationsMax
  return isFull || zones.schedules === schedulesMax ? 'more' : 'idle'
}
