import { randomInt } from 'node:crypto'
import type { Ctx } from '@meridian/core/db/context'
import { uuidv7 } from '@meridian/core/kernel/ids'
import { createLog } from '@meridian/core/kernel/log'
import { createMetrics } from '@meridian/core/kernel/metrics'
import { acceptRuns, type IntakeRow, type NewRun, prepareRun } from '@meridian/core/run/accept'
import { getRun } from '@meridian/core/run/get'
import { isFinal, type Run } from '@meridian/core/run/run'
import { httpTargetValue } from '@meridian/core/run/target'
import { wakeChannel } from '@meridian/core/run/wake'
import { createTenant, type TestTenant, testCtx } from '@meridian/core/testing/factories'
import { createTestDb, type TestDb } from '@meridian/core/testing/test-db'
import { inject } from 'vitest'
import { type RoleName, readConfig } from '../src/config.ts'
import { createRedis, redisTarget } from '../src/redis.ts'
import { startRoles } from '../src/start.ts'

export const log = createLog({ service: 'test', level: (process.env['TEST_LOG'] as 'debug' | undefined) ?? 'silent' })

/** A database, a Redis keyspace and a tenant of one's own, and workers on demand. */
export interface Bench {
  db: TestDb
  ctx: Ctx
  tenant: TestTenant
  startWorkers(...roles: RoleName[]): Promise<{ stop(): Promise<void> }>
  accept(...runs: NewRun[]): Promise<Run[]>
  close(): Promise<void>
}

export const targetOf = (url: string, more: Record<string, unknown> = {}): NewRun['target'] =>
  httpTargetValue.parse({ type: 'http', url, ...more })

export async function createBench(environment: Record<string, string> = {}): Promise<Bench> {
  const db = await createTestDb(inject('postgresUrl'))
  const tenant = await createTenant(db)
  const ctx = testCtx(db, tenant)
  // Each file has a Redis database of its own: parcels of one database must not reach executors of another.
  const redisUrl = `${inject('redisUrl')}/${randomInt(1, 16)}`
  const publisher = createRedis(redisTarget(redisUrl), log)
  await new Promise((resolve) => publisher.once('ready', resolve))
  await publisher.flushdb()
  const metrics = createMetrics('test')
  const stops: (() => Promise<void>)[] = []
  return {
    db,
    ctx,
    tenant,
    async startWorkers(...roles) {
      const config = readConfig(
        {
          ENGINE_DATABASE_URL: db.engineUrl,
          REDIS_URL: redisUrl,
          KEY_FILE: 'unused',
          ALLOW_PRIVATE_TARGETS: 'true',
          ...environment,
        },
        [`--roles=${roles.join(',')}`],
      )
      const running = await startRoles({
        config,
        engine: db.engine,
        redis: redisTarget(redisUrl),
        publisher,
        keyRing: db.engineKeyRing,
        log,
        metrics,
        executorId: uuidv7(Date.now()),
      })
      let isStopped = false
      const stop = async (): Promise<void> => {
        if (isStopped) return
        isStopped = true
        await running.stop(5_000)
      }
      stops.push(stop)
      return { stop }
    },
    async accept(...runs) {
      const rows: IntakeRow[] = await Promise.all(runs.map((run) => prepareRun(ctx, run)))
      const results = await acceptRuns(db.app, rows, false)
      await publisher.publish(wakeChannel(1), String(Date.now()))
      return results.map((result) => {
        if (result.outcome === 'refused') throw result.error
        return result.run
      })
    },
    async close() {
      await Promise.all(stops.map((stop) => stop()))
      publisher.disconnect()
      await metrics.close()
      await db.close()
    },
  }
}

/** Looks until a run has ended. */
export async function ended(ctx: Ctx, id: string, withinMs = 20_000): Promise<Run> {
  const until = Date.now() + withinMs
  for (;;) {
    const run = await getRun(ctx, id)
    if (isFinal(run.status)) return run
    if (Date.now() > until) throw new Error(`the run is still ${run.status} (attempt ${run.attempt})`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
