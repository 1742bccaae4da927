/**
 * `ENGINE_DATABASE_URL=… KEY_FILE=… node workers/src/repair.ts [--shard 1]`: for operators. Releases leases that ran out,
 * lets go what breakers hold, makes the partitions ahead, takes operations to their end, and sets every schedule of the
 * shard that stands still or has gone astray to where its ledger says. Safe at any time, beside any workers, and again and again. What it did
 * is one JSON object on standard output; each schedule has an audit line and an event.
 */
import { parseArgs } from 'node:util'
import { releaseHeld } from '@meridian/core/breaker/hold'
import { createPool } from '@meridian/core/db/client'
import { withTx } from '@meridian/core/db/context'
import { ensurePartitions } from '@meridian/core/db/janitor'
import { systemCtx } from '@meridian/core/job/keep'
import { systemClock } from '@meridian/core/kernel/clock'
import { AppError } from '@meridian/core/kernel/errors'
import { stepOperation } from '@meridian/core/operation/step'
import { rescueShard } from '@meridian/core/run/rescue'
import { localFileKeyProvider } from '@meridian/core/secret/key-provider'
import { KeyRing } from '@meridian/core/secret/key-ring'
import { lookForAstray, type Subject } from '@meridian/core/watch/astray'
import { defaultPatience, lookFor } from '@meridian/core/watch/look'
import { repairSchedule } from '@meridian/core/watch/repair'

const { values } = parseArgs({ options: { shard: { type: 'string', default: '1' } } })
const { ENGINE_DATABASE_URL: url, KEY_FILE: keyFile } = process.env
if (url === undefined || keyFile === undefined) {
  process.stderr.write('usage: ENGINE_DATABASE_URL=… KEY_FILE=… node workers/src/repair.ts [--shard 1]\n')
  process.exit(2)
}
const shard = Number(values.shard)
const weeksAhead = 8
const rescueMax = 1_000
const engine = createPool({ url, max: 2, applicationName: 'meridian-repair' })
const keyRing = new KeyRing(engine, await localFileKeyProvider(keyFile))

async function finishOperations(): Promise<number> {
  let items = 0
  for (;;) {
    const step = await stepOperation({ engine, keyRing, clock: systemClock, shard })
    if (step === null) return items
    items += step.items
  }
}

async function repairSchedules(): Promise<{ stuck: number; repaired: number }> {
  const stuck = await lookFor(engine, 'schedule-stuck', { shard, patience: defaultPatience })
  let since: Subject | null = null
  do {
    const { findings, reached } = await lookForAstray(engine, { shard, since, pageSize: 1_000 })
    stuck.push(...findings)
    since = reached
  } while (since !== null)
  let repaired = 0
  for (const { tenantId, projectId, subject } of stuck) {
    try {
      const ctx = systemCtx(engine, keyRing, [tenantId, projectId])
      if ((await withTx(ctx, (tx) => repairSchedule(tx, subject))).isRepaired) repaired++
    } catch (error) {
      // Deleted meanwhile.
      if (!(error instanceof AppError) || error.code !== 'not-found') throw error
    }
  }
  return { stuck: stuck.length, repaired }
}

try {
  const leases = await rescueShard(engine, shard, rescueMax)
  await releaseHeld(engine)
  const partitions = await ensurePartitions(engine, weeksAhead)
  const operationItems = await finishOperations()
  const schedules = await repairSchedules()
  process.stdout.write(`${JSON.stringify({ leases, partitions, operationItems, schedules })}\n`)
} finally {
  await engine.end()
}
