import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { Ctx } from '../db/context.ts'
import { createTenant, type TestTenant, testCtx } from '../testing/factories.ts'
import { sampleJob, trailOf, unknownId } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { createJob } from './create.ts'
import { getJob } from './get.ts'
import { restoreJob } from './restore.ts'
import { updateJob } from './update.ts'
import { getJobVersion, listJobVersions } from './versions.ts'

let db: TestDb
let tenant: TestTenant
let ctx: Ctx
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
  tenant = await createTenant(db)
  ctx = testCtx(db, tenant)
})
afterAll(() => db.close())

describe('versions', () => {
  test('every version reads back as it was, with its maker', async () => {
    const job = await createJob(ctx, sampleJob({ tags: ['one'] }))
    await updateJob(ctx, job.id, { name: 'Two', target: { type: 'http', url: 'https://two.example.com/' } })
    const first = await getJobVersion(ctx, job.id, 1)
    expect(first).toMatchObject({
      version: 1,
      restoredFrom: null,
      createdBy: `key:${tenant.apiKeyId}`,
      definition: { name: 'Nightly report', tags: ['one'] },
      target: job.target,
      isTargetReduced: false,
    })
    expect(first.definition).not.toHaveProperty('target')
    expect(first.tzVersion).toBe(null)
    expect((await getJobVersion(ctx, job.id, 2)).target.url).toBe('https://two.example.com/')
    const reader = testCtx(db, tenant, { scopes: ['jobs:read'] })
    expect(await getJobVersion(reader, job.id, 1)).toMatchObject({ isTargetReduced: true, target: { headers: {} } })
  })

  test('pages go from the newest to the first, each version once', async () => {
    const job = await createJob(ctx, sampleJob())
    for (const name of ['b', 'c', 'd', 'e']) await updateJob(ctx, job.id, { name })
    const seen: number[] = []
    let cursor: string | undefined
    do {
      const page = await listJobVersions(ctx, job.id, { cursor, limit: 2 })
      seen.push(...page.items.map((item) => item.version))
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined)
    expect(seen).toEqual([5, 4, 3, 2, 1])
    for (const forged of ['', 'xx', 'LTE', Buffer.from('01').toString('base64url')]) {
      await expect(listJobVersions(ctx, job.id, { cursor: forged, limit: 2 })).rejects.toMatchObject({
        code: 'malformed-request',
      })
    }
  })

  test('a version that is not there is not found', async () => {
    const job = await createJob(ctx, sampleJob())
    await expect(getJobVersion(ctx, job.id, 2)).rejects.toMatchObject({ code: 'not-found' })
    await expect(listJobVersions(ctx, unknownId(), { limit: 2 })).rejects.toMatchObject({ code: 'not-found' })
  })
})

describe('restore', () => {
  test('makes a new version that is the old one again, target and schedule too', async () => {
    const job = await createJob(ctx, sampleJob({ schedule: { type: 'cron', cron: '0 * * * *', timezone: 'UTC' } }))
    await updateJob(ctx, job.id, {
      name: 'Broken',
      schedule: null,
      queue: 'elsewhere',
      target: { type: 'http', url: 'https://two.example.com/' },
    })
    const restored = await restoreJob(ctx, job.id, { version: 1, expectedVersion: 2 })
    expect(restored).toEqual({ ...job, version: 3, nextAt: expect.any(Date), updatedAt: restored.updatedAt })
    expect(await getJob(ctx, job.id)).toEqual(restored)
    expect(await getJobVersion(ctx, job.id, 3)).toMatchObject({ restoredFrom: 1, target: job.target })
    expect(await trailOf(db, job.id)).toEqual({
      events: ['job.created', 'job.updated', 'job.updated'],
      actions: ['job.create', 'job.update', 'job.restore'],
    })
  })

  test('the job keeps its external id, which may be another’s by now', async () => {
    const job = await createJob(ctx, sampleJob({ externalId: 'old-name' }))
    await updateJob(ctx, job.id, { externalId: 'new-name' })
    await createJob(ctx, sampleJob({ externalId: 'old-name' }))
    expect((await restoreJob(ctx, job.id, { version: 1 })).externalId).toBe('new-name')
  })

  test('a version whose only instant has passed comes back without a next one', async () => {
    const at = new Date(Date.now() + 60_000).toISOString()
    const job = await createJob(ctx, sampleJob({ schedule: { type: 'at', at } }))
    await updateJob(ctx, job.id, { schedule: null })
    await db.owner.query(
      `update job_versions set definition = jsonb_set(definition, '{schedule,at}', '"2020-01-01T00:00:00Z"')
       where job_id = $1 and version = 1`,
      [job.id],
    )
    expect(await restoreJob(ctx, job.id, { version: 1 })).toMatchObject({ version: 3, nextAt: null })
  })

  test('a stale editor, a reader and a missing version restore nothing', async () => {
    const job = await createJob(ctx, sampleJob())
    await expect(restoreJob(ctx, job.id, { version: 1, expectedVersion: 9 })).rejects.toMatchObject({
      code: 'precondition-failed',
    })
    await expect(restoreJob(ctx, job.id, { version: 7 })).rejects.toMatchObject({ code: 'not-found' })
    const reader = testCtx(db, tenant, { scopes: ['jobs:read'] })
    await expect(restoreJob(reader, job.id, { version: 1 })).rejects.toMatchObject({ code: 'forbidden' })
    expect((await getJob(ctx, job.id)).version).toBe(1)
  })
})
