import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import { createBlackout } from '../calendar/blackouts.ts'
import type { Ctx } from '../db/context.ts'
import { uuidv7 } from '../kernel/ids.ts'
import { materialise } from '../run/materialise.ts'
import { createTenant, type TestTenant, testCtx } from '../testing/factories.ts'
import { sampleJob, trailOf, unknownId } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { createJob } from './create.ts'
import { getJob } from './get.ts'
import { simulateUpdate } from './simulate.ts'

let db: TestDb
let tenant: TestTenant
let ctx: Ctx
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
})
afterAll(() => db.close())
beforeEach(async () => {
  tenant = await createTenant(db)
  ctx = testCtx(db, tenant)
})

const daily = (hour: string) => ({ type: 'cron', cron: `0 ${hour} * * *`, timezone: 'UTC' }) as const
const hourOf = ({ effectiveAt }: { effectiveAt: Temporal.Instant }) => effectiveAt.toZonedDateTimeISO('UTC').hour

test('what appears and disappears in 30 days is told, and nothing is written', async () => {
  const job = await createJob(ctx, sampleJob({ schedule: daily('9') }))
  const {
    job: after,
    diff,
    durations,
  } = await simulateUpdate(ctx, job.id, { schedule: daily('9,17'), queue: 'unmade' })
  expect([after.version, after.schedule, durations]).toEqual([2, daily('9,17'), null])
  expect([diff.added.length, diff.removed.length, diff.kept]).toEqual([30, 0, 30])
  expect(new Set(diff.added.map(hourOf))).toEqual(new Set([17]))
  expect(await getJob(ctx, job.id)).toEqual(job)
  expect(await trailOf(db, job.id)).toEqual({ events: ['job.created'], actions: ['job.create'] })
  const queues = await db.owner.query('select name from queues where tenant_id = $1', [tenant.tenantId])
  expect(queues.rows).toEqual([{ name: 'default' }])
})

test('what is written ahead stays', async () => {
  const job = await createJob(ctx, sampleJob({ schedule: { type: 'every', every: 'PT1S' } }))
  await materialise(db.engine, { keyRing: db.engineKeyRing, shard: 1, aheadMs: 5_000, limit: 100 })
  const pending = () => db.owner.query('select nominal_at from occurrences where job_id = $1 order by 1', [job.id])
  const before = (await pending()).rows
  expect(before.length).toBeGreaterThan(0)
  await simulateUpdate(ctx, job.id, { schedule: null })
  expect((await pending()).rows).toEqual(before)
})

test('blackouts count, and so does how long the runs take', async () => {
  const job = await createJob(ctx, sampleJob({ schedule: { type: 'every', every: 'PT24H' } }))
  await db.owner.query(
    `insert into runs (tenant_id, project_id, id, queue_id, pool, state, attempt, fence, due_at, ended_at, duration_ms, job_id)
     select $1, $2, gen_random_uuid(), $3, 1, 4, 1, 1, now(), now(), d, $4 from unnest(array[100, 200, 700000]) d`,
    [tenant.tenantId, tenant.projectId, uuidv7(Date.now()), job.id],
  )
  const nowMs = Date.now()
  await createBlackout(ctx, {
    name: 'move',
    fromAt: new Date(nowMs),
    untilAt: new Date(nowMs + 29.5 * 86_400_000),
  })
  const { diff, durations } = await simulateUpdate(ctx, job.id, { schedule: { type: 'every', every: 'PT10M' } })
  expect(durations).toEqual({ meanMs: 233_433 + 1 / 3, medianMs: 200, p95Ms: 700_000, runs: 3 })
  expect(diff.added.length).toBeGreaterThan(70)
  expect(diff.added.length).toBeLessThan(74)
  expect(diff.overlaps).toEqual({ before: 0, after: diff.added.length + diff.kept - 1 })
})

test('it refuses what the change would refuse', async () => {
  const { id } = await createJob(ctx, sampleJob({ externalId: 'a' }))
  await createJob(ctx, sampleJob({ externalId: 'b' }))
  await expect(simulateUpdate(ctx, id, { externalId: 'b' })).rejects.toMatchObject({ code: 'conflict' })
  await expect(simulateUpdate(ctx, id, { expectedVersion: 2 })).rejects.toMatchObject({ code: 'precondition-failed' })
  await expect(simulateUpdate(ctx, id, { schedule: { type: 'at', at: '2020-01-01T00:00:00Z' } })).rejects.toMatchObject(
    { code: 'validation-failed' },
  )
  await expect(simulateUpdate(ctx, unknownId(), {})).rejects.toMatchObject({ code: 'not-found' })
  const reader = testCtx(db, tenant, { scopes: ['jobs:read'] })
  await expect(simulateUpdate(reader, id, {})).rejects.toMatchObject({ code: 'forbidden' })
})
