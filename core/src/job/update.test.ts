import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { Ctx } from '../db/context.ts'
import { materialise } from '../run/materialise.ts'
import { createTenant, type TestTenant, testCtx } from '../testing/factories.ts'
import { refusalsOf, sampleJob, trailOf } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { createJob } from './create.ts'
import { getJob } from './get.ts'
import { updateJob } from './update.ts'

let db: TestDb
let tenant: TestTenant
let ctx: Ctx
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
  tenant = await createTenant(db)
  ctx = testCtx(db, tenant)
})
afterAll(() => db.close())

const hour = 3_600_000
const writeAhead = () =>
  materialise(db.engine, { keyRing: db.engineKeyRing, shard: 1, aheadMs: 3 * hour, limit: 1_000 })
const pendingOf = async (jobId: string): Promise<{ at: number; version: number }[]> =>
  (
    await db.owner.query<{ nominal_at: Date; job_version: number }>(
      'select o.nominal_at, o.job_version from occurrences o join due d on d.id = o.run_id where o.job_id = $1 order by 1',
      [jobId],
    )
  ).rows.map((row) => ({ at: row.nominal_at.getTime(), version: row.job_version }))
const specOf = async (jobId: string): Promise<unknown> =>
  (await db.owner.query<{ spec: unknown }>('select spec from schedules where job_id = $1', [jobId])).rows[0]?.spec

describe('update', () => {
  test('changes what is given, keeps the rest, and is a new version', async () => {
    const before = await createJob(ctx, sampleJob({ tags: ['x'], description: 'old', priority: 1 }))
    const after = await updateJob(ctx, before.id, { name: 'Renamed', description: null })
    expect(after).toEqual({ ...before, name: 'Renamed', description: null, version: 2, updatedAt: after.updatedAt })
    expect(after.updatedAt.getTime()).toBeGreaterThan(before.updatedAt.getTime())
    expect(await getJob(ctx, before.id)).toEqual(after)
    expect(await trailOf(db, before.id)).toEqual({
      events: ['job.created', 'job.updated'],
      actions: ['job.create', 'job.update'],
    })
  })

  test('the audit line names the fields that changed, and no payload', async () => {
    const job = await createJob(ctx, sampleJob())
    const target = { type: 'http' as const, url: 'https://other.example.com/', headers: { Authorization: 'hush' } }
    await updateJob(ctx, job.id, { target, priority: 2 })
    const { rows } = await db.owner.query<{ data: Record<string, unknown> }>(
      "select data from audit_entries where subject = $1 and action = 'job.update'",
      [job.id],
    )
    expect(rows[0]?.data).toEqual({ name: job.name, version: 2, changed: ['priority', 'target'] })
  })

  test('an update that changes nothing makes no version, event or line', async () => {
    const job = await createJob(ctx, sampleJob({ tags: ['a'], schedule: { type: 'every', every: 'PT1H' } }))
    const same = await updateJob(ctx, job.id, {
      ...sampleJob({ tags: ['a', 'a'], schedule: { every: 'PT1H', type: 'every', anchor: undefined } }),
      description: undefined,
    })
    expect(same).toEqual(job)
    expect((await trailOf(db, job.id)).events).toEqual(['job.created'])
  })

  test('a stale editor is told so, and changes nothing', async () => {
    const job = await createJob(ctx, sampleJob())
    await updateJob(ctx, job.id, { name: 'first', expectedVersion: 1 })
    await expect(updateJob(ctx, job.id, { name: 'second', expectedVersion: 1 })).rejects.toMatchObject({
      code: 'precondition-failed',
      extra: { current: { version: 2 } },
    })
    expect((await getJob(ctx, job.id)).name).toBe('first')
  })

  test('of two editors with the same version one wins', async () => {
    const job = await createJob(ctx, sampleJob())
    const both = await Promise.allSettled(
      ['a', 'b'].map((name) => updateJob(ctx, job.id, { name, expectedVersion: 1 })),
    )
    expect(both.map((each) => each.status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect((await getJob(ctx, job.id)).version).toBe(2)
  })

  test('what is invalid is named and nothing changes', async () => {
    const job = await createJob(ctx, sampleJob())
    await expect(updateJob(ctx, job.id, { priority: 0 })).rejects.toMatchObject({
      extra: { errors: [{ pointer: '/priority' }] },
    })
    await expect(
      updateJob(ctx, job.id, { schedule: { type: 'at', at: '2020-01-01T00:00:00Z' } }),
    ).rejects.toMatchObject({ extra: { errors: [{ pointer: '/schedule/at' }] } })
    expect((await getJob(ctx, job.id)).version).toBe(1)
  })

  test('an external id can be given, changed and dropped, but not taken from another job', async () => {
    const holder = await createJob(ctx, sampleJob({ externalId: 'held' }))
    const job = await createJob(ctx, sampleJob())
    await expect(updateJob(ctx, job.id, { externalId: 'held' })).rejects.toMatchObject({
      code: 'conflict',
      extra: { current: { id: holder.id } },
    })
    await updateJob(ctx, holder.id, { externalId: null })
    expect((await updateJob(ctx, job.id, { externalId: 'held' })).externalId).toBe('held')
    expect((await updateJob(ctx, job.id, { externalId: 'held', name: 'again' })).version).toBe(3)
  })

  test('ten editors that give ten jobs one external id leave it with one of them', async () => {
    const jobs = await Promise.all(Array.from({ length: 10 }, () => createJob(ctx, sampleJob())))
    const all = await Promise.allSettled(jobs.map((job) => updateJob(ctx, job.id, { externalId: 'wanted' })))
    expect(refusalsOf(all)).toEqual(Array.from({ length: 9 }, () => 'conflict'))
  })
})

describe('an update of a scheduled job', () => {
  test('that leaves the schedule alone neither loses nor repeats an instant, and its runs are of the new version', async () => {
    const job = await createJob(ctx, sampleJob({ schedule: { type: 'every', every: 'PT1H' } }))
    await writeAhead()
    const before = await pendingOf(job.id)
    expect(before).toHaveLength(3)
    const anchored = await specOf(job.id)
    const after = await updateJob(ctx, job.id, { name: 'Renamed' })
    expect(await pendingOf(job.id)).toEqual([])
    expect(after.nextAt?.getTime()).toBe(before[0]?.at)
    expect(await specOf(job.id)).toEqual(anchored)
    await writeAhead()
    expect(await pendingOf(job.id)).toEqual(before.map(({ at }) => ({ at, version: 2 })))
  })

  test('an instant the scheduler is late with survives an edit', async () => {
    const job = await createJob(ctx, sampleJob({ schedule: { type: 'every', every: 'PT1H' } }))
    await db.owner.query("update schedules set next_at = now() - interval '20 minutes' where job_id = $1", [job.id])
    const late = (await getJob(ctx, job.id)).nextAt
    expect((await updateJob(ctx, job.id, { name: 'Renamed' })).nextAt).toEqual(late)
  })

  test('that changes the schedule starts the new one now, and takes the old one’s instants back', async () => {
    const job = await createJob(ctx, sampleJob({ schedule: { type: 'every', every: 'PT1H' } }))
    await writeAhead()
    const after = await updateJob(ctx, job.id, { schedule: { type: 'every', every: 'PT2H' } })
    expect(await pendingOf(job.id)).toEqual([])
    const inMs = (after.nextAt?.getTime() ?? 0) - Date.now()
    expect(inMs).toBeGreaterThan(2 * hour - 60_000)
    expect(inMs).toBeLessThanOrEqual(2 * hour + 1_000)
  })

  test('that drops the schedule leaves no row of it, and one that gives it back makes one', async () => {
    const job = await createJob(ctx, sampleJob({ schedule: { type: 'every', every: 'PT1H' } }))
    await writeAhead()
    expect((await updateJob(ctx, job.id, { schedule: null })).nextAt).toBeNull()
    expect(await specOf(job.id)).toBeUndefined()
    expect(await pendingOf(job.id)).toEqual([])
    expect((await updateJob(ctx, job.id, { schedule: { type: 'every', every: 'PT1H' } })).nextAt).not.toBeNull()
  })

  test('an edit waits for a scheduler that is writing ahead, and takes that back too', async () => {
    const job = await createJob(ctx, sampleJob({ schedule: { type: 'every', every: 'PT1H' } }))
    for (let round = 1; round <= 10; round++) {
      await Promise.all([writeAhead(), updateJob(ctx, job.id, { name: `round ${round}` })])
      await writeAhead()
      const pending = await pendingOf(job.id)
      expect(pending.map(({ version }) => version)).toEqual([round + 1, round + 1, round + 1])
    }
  })

  test('a job whose one instant has passed can still be renamed', async () => {
    const job = await createJob(
      ctx,
      sampleJob({ schedule: { type: 'at', at: new Date(Date.now() + 60_000).toISOString() } }),
    )
    await db.owner.query('update schedules set next_at = null where job_id = $1', [job.id])
    expect(await updateJob(ctx, job.id, { name: 'Done' })).toMatchObject({ name: 'Done', nextAt: null })
  })
})
