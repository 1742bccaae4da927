import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Ctx } from '@meridian/core/db/context'
import { AppError } from '@meridian/core/kernel/errors'
import { uuidv7 } from '@meridian/core/kernel/ids'
import { createLog } from '@meridian/core/kernel/log'
import { createMetrics } from '@meridian/core/kernel/metrics'
import { acceptRuns } from '@meridian/core/run/accept'
import { getRun } from '@meridian/core/run/get'
import { type IntakeRow, type NewRun, prepareRun } from '@meridian/core/run/prepare'
import { isFinal, type Run } from '@meridian/core/run/run'
import { httpTargetValue } from '@meridian/core/run/target'
import { wakeChannel } from '@meridian/core/run/wake'
import { localFileKeyProvider } from '@meridian/core/secret/key-provider'
import { KeyRing } from '@meridian/core/secret/key-ring'
import { createTenant, type TestTenant, testCtx } from '@meridian/core/testing/factories'
import { createTestDb, type TestDb } from '@meridian/core/testing/test-db'
import type { Redis } from 'ioredis'
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
  redisUrl: string
  publisher: Redis
  /** What a process of workers needs to know to join in. */
  environment: Record<string, string>
  startWorkers(...roles: RoleName[]): Promise<{ stop(): Promise<void> }>
  accept(...runs: NewRun[]): Promise<Run[]>
  close(): Promise<void>
}

export const targetOf = (url: string, more: Record<string, unknown> = {}): NewRun['target'] =>
  httpTargetValue.parse({ type: 'http', url, ...more })

export interface BenchOptions {
  /** Settings of the workers. */
  environment?: Record<string, string>
  /** A Postgres or a Redis other than that of the test run. */
  postgresUrl?: string
  redisUrl?: string
}

// Files that run at the same time have Redis databases of their own: parcels of one must not reach executors of another.
const redisDatabase = 1 + (Number(process.env['VITEST_POOL_ID'] ?? 0) % 15)

export async function createBench(options: BenchOptions = {}): Promise<Bench> {
  const db = await createTestDb(options.postgresUrl ?? inject('postgresUrl'))
  const tenant = await createTenant(db)
  const folder = await mkdtemp(join(tmpdir(), 'meridian-workers-'))
  const keyFile = join(folder, 'key')
  await writeFile(keyFile, randomBytes(32).toString('base64'))
  const provider = await localFileKeyProvider(keyFile)
  const keyRing = new KeyRing(db.engine, provider)
  const ctx = testCtx(db, tenant, { keyRing: new KeyRing(db.app, provider) })
  const redisUrl = options.redisUrl ?? `${inject('redisUrl')}/${redisDatabase}`
  const environment = {
    ENGINE_DATABASE_URL: db.engineUrl,
    REDIS_URL: redisUrl,
    KEY_FILE: keyFile,
    ALLOW_PRIVATE_TARGETS: 'true',
    ...options.environment,
  }
  const publisher = createRedis(redisTarget(redisUrl), log)
  await new Promise((resolve) => publisher.once('ready', resolve))
  await publisher.flushdb()
  const metrics = createMetrics('test')
  const stops: (() => Promise<void>)[] = []
  return {
    db,
    ctx,
    tenant,
    redisUrl,
    publisher,
    environment,
    async startWorkers(...roles) {
      const config = readConfig(environment, [`--roles=${roles.join(',')}`])
      const running = await startRoles({
        config,
        engine: db.engine,
        redis: redisTarget(redisUrl),
        publisher,
        keyRing,
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
      const results = await acceptRuns({ pool: db.app, keyRing: ctx.keyRing }, rows, false)
      // As the api does it: best effort.
      if (publisher.status === 'ready')
        await publisher.publish(wakeChannel(1), String(Date.now())).catch(() => undefined)
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
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Looks until a run has ended. */
export async function ended(ctx: Ctx, id: string, withinMs = 20_000): Promise<Run> {
  const until = Date.now() + withinMs
  for (;;) {
    const run = await getRun(ctx, id).catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'dependency-unavailable') return null
      throw error
    })
    if (run !== null && isFinal(run.status)) return run
    if (Date.now() > until)
      throw new Error(run === null ? 'the database is away' : `the run is still ${run.status} (attempt ${run.attempt})`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
