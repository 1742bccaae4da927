import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import type { Ctx } from '../db/context.ts'
import { materialise } from '../run/materialise.ts'
import { prepareJobRun } from '../run/trigger.ts'
import { createTenant, testCtx } from '../testing/factories.ts'
import { sampleJob, trailOf, unknownId } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { archiveJob, unarchiveJob } from './archive.ts'
import { createJob } from './create.ts'
import { deleteJob } from './delete.ts'
import { getJob } from './get.ts'
import { listJobs } from './list.ts'
import { restoreJob } from './restore.ts'
import { pauseJob, resumeJob } from './set-state.ts'
import { setJobMode } from './shadow.ts'
import { updateJob } from './update.ts'
import { upsertJob } from './upsert.ts'

let db: TestDb
let ctx: Ctx
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
})
afterAll(() => db.close())
beforeEach(async () => {
  ctx = testCtx(db, await createTenant(db))
  await db.owner.query('delete from schedules')
})

const hourly = (changes = {}) => sampleJob({ schedule: { type: 'every', every: 'PT1H' }, ...changes })
const writeAhead = () =>
  materialise(db.engine, { keyRing: db.engineKeyRing, shard: 1, aheadMs: 3 * 3_600_000, limit: 1_000 })
const ledgerOf = async (jobId: string) =>
  (
    await db.owner.query<{ outcome: string; reason: string | null; count: number }>(
      'select outcome, reason, count from occurrences where job_id = $1 order by nominal_at',
      [jobId],
    )
  ).rows
const listed = async (state?: 'active' | 'paused' | 'archived'): Promise<string[]> =>
  (await listJobs(ctx, { ...(state && { state }) }, { limit: 10, cursor: undefined })).items.map(({ id }) => id)

describe('an archived job', () => {
  test('starts nothing, and is only in lists that ask for it', async () => {
    const job = await createJob(ctx, hourly())
    const other = await createJob(ctx, hourly())
    await writeAhead()
    expect(await archiveJob(ctx, job.id)).toMatchObject({
      state: 'archived',
      archivedAt: expect.any(Date),
      nextAt: null,
    })
    expect(await ledgerOf(job.id)).toEqual([])
    expect((await writeAhead()).runs).toBe(0)
    expect([await listed(), await listed('active'), await listed('archived')]).toEqual([
      [other.id],
      [other.id],
      [job.id],
    ])
    expect(await getJob(ctx, job.id)).toMatchObject({ state: 'archived' })
    await archiveJob(ctx, job.id)
    expect(await trailOf(db, job.id)).toEqual({
      events: ['job.created', 'job.archived'],
      actions: ['job.create', 'job.archive'],
    })
  })

  test('can be deleted, and nothing else can be done to it', async () => {
    const job = await createJob(ctx, hourly())
    await archiveJob(ctx, job.id)
    const refused = { code: 'invalid-transition', extra: { current: { state: 'archived' } } }
    for (const verb of [
      () => pauseJob(ctx, job.id, null),
      () => resumeJob(ctx, job.id),
      () => updateJob(ctx, job.id, { name: 'Another' }),
      () => restoreJob(ctx, job.id, { version: 1 }),
      () => setJobMode(ctx, job.id, 'shadow'),
      () => prepareJobRun(ctx, job.id, {}),
    ])
      await expect(verb()).rejects.toMatchObject(refused)
    await deleteJob(ctx, job.id)
    await expect(unarchiveJob(ctx, job.id)).rejects.toMatchObject({ code: 'not-found' })
  })

  test('comes back as it was and goes on from now; what fell in between is told as skipped', async () => {
    const job = await createJob(ctx, hourly())
    await archiveJob(ctx, job.id)
    await db.owner.query(
      `update schedules set spec = spec || '{"anchor": "2020-01-01T00:00:00.000Z"}', next_at = now() - interval '3 days' where job_id = $1`,
      [job.id],
    )
    await db.owner.query("update schedules set next_at = date_trunc('hour', next_at) where job_id = $1", [job.id])
    const back = await unarchiveJob(ctx, job.id)
    expect(back).toMatchObject({ state: 'active', archivedAt: null })
    expect(back.nextAt?.getTime()).toBeGreaterThan(Date.now())
    await materialise(db.engine, { keyRing: db.engineKeyRing, shard: 1, aheadMs: 0, limit: 100 })
    const [row, ...more] = await ledgerOf(job.id)
    expect([row, more]).toEqual([{ outcome: 'skipped', reason: 'archived', count: expect.any(Number) }, []])
    expect(row?.count).toBeGreaterThanOrEqual(72)
  })

  test('that was paused comes back paused, and a pause with an end has lost it', async () => {
    const job = await createJob(ctx, hourly())
    await pauseJob(ctx, job.id, 'moving', new Date(Date.now() + 60_000))
    await archiveJob(ctx, job.id)
    expect(await listed('paused')).toEqual([])
    expect(await unarchiveJob(ctx, job.id)).toMatchObject({ state: 'paused', pauseReason: 'moving', pauseUntil: null })
  })

  test('comes back by an upsert, also by one that changes nothing', async () => {
    const { externalId: _, ...definition } = hourly()
    const { job } = await upsertJob(ctx, 'nightly', definition)
    await archiveJob(ctx, job.id)
    await expect(upsertJob(ctx, 'nightly', definition)).resolves.toMatchObject({
      job: { id: job.id, state: 'active', version: 1 },
      outcome: 'updated',
    })
    await archiveJob(ctx, job.id)
    await expect(upsertJob(ctx, 'nightly', { ...definition, name: 'Another' })).resolves.toMatchObject({
      job: { id: job.id, state: 'active', version: 2, nextAt: expect.any(Date) },
      outcome: 'updated',
    })
  })

  test('is not archived at another version, nor when it is not there', async () => {
    const job = await createJob(ctx, hourly())
    await expect(archiveJob(ctx, job.id, { expectedVersion: 7 })).rejects.toMatchObject({ code: 'precondition-failed' })
    await expect(archiveJob(ctx, unknownId())).rejects.toMatchObject({ code: 'not-found' })
    expect(await unarchiveJob(ctx, job.id)).toMatchObject({ state: 'active' })
  })
})
