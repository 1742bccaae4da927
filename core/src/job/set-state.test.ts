import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { Ctx } from '../db/context.ts'
import { materialise } from '../run/materialise.ts'
import { createTenant, type TestTenant, testCtx } from '../testing/factories.ts'
import { sampleJob, trailOf, unknownId } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { createJob } from './create.ts'
import { deleteJob } from './delete.ts'
import { getJob, getJobByExternalId } from './get.ts'
import { listJobs } from './list.ts'
import { pauseJob, resumeJob } from './set-state.ts'
import { updateJob } from './update.ts'
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

const hourly = (changes = {}) => sampleJob({ schedule: { type: 'every', every: 'PT1H' }, ...changes })
const writeAhead = () =>
  materialise(db.engine, { keyRing: db.engineKeyRing, shard: 1, aheadMs: 3 * 3_600_000, limit: 1_000 })
const pendingOf = async (jobId: string): Promise<number> =>
  (
    await db.owner.query(
      'select from occurrences o join due d on d.id = o.run_id join inputs i on i.id = d.id where o.job_id = $1',
      [jobId],
    )
  ).rowCount ?? -1

describe('pause and resume', () => {
  test('a pause says who and why, and takes back what was written ahead', async () => {
    const job = await createJob(ctx, hourly())
    await writeAhead()
    expect(await pendingOf(job.id)).toBe(3)
    const paused = await pauseJob(ctx, job.id, 'the target is moving')
    expect(paused).toEqual({
      ...job,
      state: 'paused',
      pausedAt: expect.any(Date),
      pausedBy: `key:${tenant.apiKeyId}`,
      pauseReason: 'the target is moving',
      nextAt: null,
      updatedAt: paused.updatedAt,
    })
    expect(await pendingOf(job.id)).toBe(0)
    expect((await writeAhead()).runs).toBe(0)
    expect(await getJob(ctx, job.id)).toEqual(paused)
  })

  test('a resumed schedule goes on from now; what it missed is not made up for', async () => {
    const job = await createJob(ctx, hourly())
    await pauseJob(ctx, job.id, null)
    // An interval is anchored, so an anchor of long ago is a pause of long.
    await db.owner.query(
      `update schedules set spec = spec || '{"anchor": "2020-01-01T00:00:00.000Z"}', next_at = '2020-01-01T01:00:00Z' where job_id = $1`,
      [job.id],
    )
    const resumed = await resumeJob(ctx, job.id)
    const next = resumed.nextAt?.getTime() ?? 0
    expect(next % 3_600_000).toBe(0)
    expect(next).toBeGreaterThan(Date.now() - 1_000)
    expect(next).toBeLessThan(Date.now() + 3_601_000)
    expect(resumed).toMatchObject({ state: 'active', pausedAt: null, pausedBy: null, pauseReason: null, version: 1 })
    await writeAhead()
    expect(await pendingOf(job.id)).toBe(3)
  })

  test('twice is once: the first reason stays, and is told once', async () => {
    const job = await createJob(ctx, hourly())
    const paused = await pauseJob(ctx, job.id, 'first')
    expect(await pauseJob(ctx, job.id, 'second')).toEqual(paused)
    const resumed = await resumeJob(ctx, job.id)
    expect(await resumeJob(ctx, job.id)).toEqual(resumed)
    expect(await trailOf(db, job.id)).toEqual({
      events: ['job.created', 'job.paused', 'job.resumed'],
      actions: ['job.create', 'job.pause', 'job.resume'],
    })
  })

  test('a pause waits for a scheduler that is writing ahead, and takes that back too', async () => {
    const job = await createJob(ctx, hourly())
    const scheduler = await db.engine.connect()
    await scheduler.query('begin')
    await scheduler.query('select from schedules where job_id = $1 for update', [job.id])
    const paused = pauseJob(ctx, job.id, null)
    const isWaiting = async (): Promise<boolean> =>
      (await db.owner.query("select from pg_stat_activity where usename = 'meridian_app' and wait_event_type = 'Lock'"))
        .rowCount === 1
    while (!(await isWaiting()));
    await scheduler.query(
      `with o as (insert into occurrences (tenant_id, job_id, nominal_at, project_id, job_version, run_id, tz_version)
         select tenant_id, job_id, next_at, project_id, job_version, job_id, tz_version from schedules where job_id = $1),
       i as (insert into inputs (tenant_id, project_id, id, keep_week, created_at, due_at, queue_id, pool, priority, source, job_id)
         select tenant_id, project_id, job_id, '9999-12-31', now(), next_at, queue_id, pool, priority, 1, job_id from schedules where job_id = $1)
       insert into due (pool, due_at, id, tenant_id, project_id, queue_id, priority, attempts_max, keep_week, job_id, nominal_at)
         select pool, next_at, job_id, tenant_id, project_id, queue_id, priority, 1, '9999-12-31', job_id, next_at from schedules where job_id = $1`,
      [job.id],
    )
    await scheduler.query('commit')
    scheduler.release()
    await paused
    expect(await pendingOf(job.id)).toBe(0)
  })

  test('an instant that passed during the pause is over when the job comes back', async () => {
    const job = await createJob(
      ctx,
      sampleJob({ schedule: { type: 'at', at: new Date(Date.now() + 60_000).toISOString() } }),
    )
    await pauseJob(ctx, job.id, null)
    await db.owner.query(
      `update schedules set spec = spec || '{"at": "2020-01-01T00:00:00Z"}', next_at = '2020-01-01T00:00:00Z' where job_id = $1`,
      [job.id],
    )
    expect(await resumeJob(ctx, job.id)).toMatchObject({ state: 'active', nextAt: null })
  })

  test('a job without a schedule can be paused and resumed', async () => {
    const job = await createJob(ctx, sampleJob())
    expect((await pauseJob(ctx, job.id, null)).state).toBe('paused')
    expect(await resumeJob(ctx, job.id)).toMatchObject({ state: 'active', nextAt: null })
  })

  test('who may only read can do neither', async () => {
    const job = await createJob(ctx, sampleJob())
    const reader = testCtx(db, tenant, { scopes: ['jobs:read'] })
    await expect(pauseJob(reader, job.id, null)).rejects.toMatchObject({ code: 'forbidden' })
    await expect(resumeJob(reader, job.id)).rejects.toMatchObject({ code: 'forbidden' })
  })
})

describe('delete', () => {
  test('no verb finds the job any more, and nothing of its schedule is left', async () => {
    const job = await createJob(ctx, hourly({ externalId: 'gone', name: 'Going' }))
    await writeAhead()
    await deleteJob(ctx, job.id)
    expect(await pendingOf(job.id)).toBe(0)
    expect((await db.owner.query('select from schedules where job_id = $1', [job.id])).rowCount).toBe(0)
    const missing = { code: 'not-found' }
    await expect(getJob(ctx, job.id)).rejects.toMatchObject(missing)
    await expect(getJobByExternalId(ctx, 'gone')).rejects.toMatchObject(missing)
    await expect(updateJob(ctx, job.id, { name: 'x' })).rejects.toMatchObject(missing)
    await expect(pauseJob(ctx, job.id, null)).rejects.toMatchObject(missing)
    await expect(deleteJob(ctx, job.id)).rejects.toMatchObject(missing)
    expect((await listJobs(ctx, { search: 'Going' }, { limit: 10 })).items).toEqual([])
    expect(await trailOf(db, job.id)).toEqual({
      events: ['job.created', 'job.deleted'],
      actions: ['job.create', 'job.delete'],
    })
  })

  test('its external id is free for another job', async () => {
    const job = await createJob(ctx, sampleJob({ externalId: 'reused' }))
    await deleteJob(ctx, job.id)
    const { job: next, outcome } = await upsertJob(ctx, 'reused', sampleJob())
    expect(outcome).toBe('created')
    expect(next.id).not.toBe(job.id)
  })

  test('its versions stay, since its runs refer to them', async () => {
    const job = await createJob(ctx, sampleJob())
    await deleteJob(ctx, job.id)
    expect((await db.owner.query('select from job_versions where job_id = $1', [job.id])).rowCount).toBe(1)
  })

  test('a paused job can be deleted; a stale editor or a reader can delete nothing', async () => {
    const job = await createJob(ctx, sampleJob())
    await pauseJob(ctx, job.id, 'x')
    await expect(deleteJob(ctx, job.id, { expectedVersion: 2 })).rejects.toMatchObject({ code: 'precondition-failed' })
    await expect(deleteJob(testCtx(db, tenant, { scopes: ['jobs:read'] }), job.id)).rejects.toMatchObject({
      code: 'forbidden',
    })
    await deleteJob(ctx, job.id, { expectedVersion: 1 })
    await expect(deleteJob(ctx, unknownId())).rejects.toMatchObject({ code: 'not-found' })
  })
})
