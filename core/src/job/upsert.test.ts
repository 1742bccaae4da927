import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { Ctx } from '../db/context.ts'
import { materialise } from '../run/materialise.ts'
import { createTenant, type TestTenant, testCtx } from '../testing/factories.ts'
import { sampleJob, trailOf } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { getJobByExternalId } from './get.ts'
import { pauseJob } from './set-state.ts'
import { upsertJob } from './upsert.ts'

let db: TestDb
let tenant: TestTenant
let ctx: Ctx
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
  tenant = await createTenant(db)
  ctx = testCtx(db, tenant)
})
afterAll(() => db.close())

const count = async (sql: string, values: unknown[]): Promise<number> =>
  (await db.owner.query<{ n: number }>(`select count(*)::int n from ${sql}`, values)).rows[0]?.n ?? -1

describe('upsert', () => {
  test('makes the job, then changes it, then leaves it alone', async () => {
    const first = await upsertJob(ctx, 'sync', sampleJob({ schedule: { type: 'every', every: 'PT1H' } }))
    expect(first).toMatchObject({ outcome: 'created', job: { version: 1, externalId: 'sync' } })
    const second = await upsertJob(ctx, 'sync', sampleJob({ schedule: { type: 'every', every: 'PT1H' }, priority: 1 }))
    expect(second).toMatchObject({ outcome: 'updated', job: { id: first.job.id, version: 2, priority: 1 } })
    const third = await upsertJob(ctx, 'sync', sampleJob({ schedule: { type: 'every', every: 'PT1H' }, priority: 1 }))
    expect(third).toEqual({ outcome: 'unchanged', job: second.job })
    expect(await trailOf(db, first.job.id)).toEqual({
      events: ['job.created', 'job.updated'],
      actions: ['job.create', 'job.update'],
    })
  })

  test('what is left out becomes the default again', async () => {
    await upsertJob(ctx, 'whole', sampleJob({ description: 'text', tags: ['a'], queue: 'slow' }))
    const { job } = await upsertJob(ctx, 'whole', sampleJob())
    expect(job).toMatchObject({ description: null, tags: [], queue: 'default' })
  })

  // taskforcesh/bullmq#2988
  test('two hundred at once, while it is due, make one job, one schedule and one pending instant', async () => {
    const wanted = sampleJob({ schedule: { type: 'at', at: new Date(Date.now() + 120_000).toISOString() } })
    const writeAhead = () =>
      materialise(db.engine, { keyRing: db.engineKeyRing, shard: 1, aheadMs: 300_000, limit: 100 })
    const all = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        if (index % 20 === 10) await writeAhead()
        return upsertJob(ctx, 'crowd', wanted)
      }),
    )
    await writeAhead()
    const ids = new Set(all.map(({ job }) => job.id))
    expect(ids.size).toBe(1)
    expect(all.filter(({ outcome }) => outcome === 'created')).toHaveLength(1)
    expect(all.filter(({ outcome }) => outcome === 'unchanged')).toHaveLength(199)
    const [id] = ids
    expect(await count('jobs where external_id = $1', ['crowd'])).toBe(1)
    expect(await count('job_versions where job_id = $1', [id])).toBe(1)
    expect(await count('schedules where job_id = $1', [id])).toBe(1)
    expect(await count("occurrences where job_id = $1 and outcome = 'pending'", [id])).toBe(1)
    expect(await count('due where job_id = $1', [id])).toBe(1)
  })

  test('many at once with different content end as one of them, one version a change', async () => {
    const all = await Promise.all(
      Array.from({ length: 30 }, (_, index) => upsertJob(ctx, 'race', sampleJob({ name: `n${index % 3}` }))),
    )
    const changes = all.filter(({ outcome }) => outcome !== 'unchanged').length
    const job = await getJobByExternalId(ctx, 'race')
    expect(job.version).toBe(changes)
    expect(await count('job_versions where job_id = $1', [job.id])).toBe(changes)
  })

  test('a paused job stays paused, with its new definition', async () => {
    const { job } = await upsertJob(ctx, 'quiet', sampleJob({ schedule: { type: 'every', every: 'PT1H' } }))
    await pauseJob(ctx, job.id, 'holidays')
    const { job: after } = await upsertJob(ctx, 'quiet', sampleJob({ schedule: { type: 'every', every: 'PT5M' } }))
    expect(after).toMatchObject({ state: 'paused', pauseReason: 'holidays', nextAt: null, version: 2 })
    expect(await count('schedules where job_id = $1 and paused', [job.id])).toBe(1)
    const named = await upsertJob(ctx, 'quiet', sampleJob({ name: 'n', schedule: { type: 'every', every: 'PT5M' } }))
    expect(named.job).toMatchObject({ state: 'paused', nextAt: null, version: 3 })
  })

  test('an expected version is held against what is there', async () => {
    await expect(upsertJob(ctx, 'guarded', { ...sampleJob(), expectedVersion: 1 })).rejects.toMatchObject({
      code: 'precondition-failed',
    })
    await upsertJob(ctx, 'guarded', sampleJob())
    await upsertJob(ctx, 'guarded', { ...sampleJob({ name: 'two' }), expectedVersion: 1 })
    await expect(upsertJob(ctx, 'guarded', { ...sampleJob(), expectedVersion: 1 })).rejects.toMatchObject({
      code: 'precondition-failed',
    })
  })

  test('what is invalid is refused, the external id too', async () => {
    await expect(upsertJob(ctx, 'a\nb', sampleJob({ name: '' }))).rejects.toMatchObject({
      extra: { errors: [{ pointer: '/name' }, { pointer: '/externalId' }] },
    })
    await expect(upsertJob(testCtx(db, tenant, { scopes: ['jobs:read'] }), 'x', sampleJob())).rejects.toMatchObject({
      code: 'forbidden',
    })
  })
})
