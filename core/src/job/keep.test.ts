import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import type { Ctx } from '../db/context.ts'
import { createTenant, type TestTenant, testCtx } from '../testing/factories.ts'
import { sampleJob, trailOf } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { unarchiveJob } from './archive.ts'
import { createJob } from './create.ts'
import { getJob } from './get.ts'
import type { NewJob } from './job.ts'
import { pauseFailing, putAwayOver, resumePaused } from './keep.ts'
import { pauseJob, resumeJob } from './set-state.ts'
import { updateJob } from './update.ts'

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
  await db.owner.query('delete from schedules')
})

const hourly = (changes: Partial<NewJob> = {}) => sampleJob({ schedule: { type: 'every', every: 'PT1H' }, ...changes })
const inFuture = (): Date => new Date(Date.now() + 60_000)
const resume = () => resumePaused(db.engine, db.engineKeyRing)
const actorsOf = async (id: string): Promise<string[]> =>
  (
    await db.owner.query<{ actor: string }>('select actor from audit_entries where subject = $1 order by id', [id])
  ).rows.map(({ actor }) => actor.split(':')[0] ?? '')

describe('a pause with an end', () => {
  test('is over by itself, and told as the work of the system', async () => {
    const job = await createJob(ctx, hourly())
    const until = inFuture()
    expect(await pauseJob(ctx, job.id, 'moving', until)).toMatchObject({ state: 'paused', pauseUntil: until })
    expect(await resume()).toBe(0)
    await db.owner.query("update jobs set pause_until = now() - interval '1 second' where id = $1", [job.id])
    expect((await Promise.all([resume(), resume(), resume()])).reduce((sum, count) => sum + count, 0)).toBe(1)
    expect(await getJob(ctx, job.id)).toMatchObject({ state: 'active', pauseUntil: null, nextAt: expect.any(Date) })
    expect((await trailOf(db, job.id)).actions).toEqual(['job.create', 'job.pause', 'job.resume'])
    expect(await actorsOf(job.id)).toEqual(['key', 'key', 'system'])
  })

  test('that has passed is refused, and one that was resumed by hand is over', async () => {
    const job = await createJob(ctx, hourly())
    await expect(pauseJob(ctx, job.id, null, new Date(Date.now() - 60_000))).rejects.toMatchObject({
      code: 'validation-failed',
      extra: { errors: [{ pointer: '/until' }] },
    })
    await pauseJob(ctx, job.id, null, inFuture())
    expect(await resumeJob(ctx, job.id)).toMatchObject({ pauseUntil: null })
    await pauseJob(ctx, job.id, null)
    await db.owner.query('update jobs set pause_until = null where id = $1', [job.id])
    expect(await resume()).toBe(0)
  })
})

describe('failures in a row', () => {
  const end = (jobId: string, ...states: (4 | 5)[]) =>
    db.owner.query(
      `insert into runs (tenant_id, project_id, id, queue_id, pool, state, attempt, fence, due_at, ended_at, job_id)
       select tenant_id, project_id, uuidv7(), queue_id, 1, s, 1, 1, now(), clock_timestamp(), id
       from jobs, unnest($2::smallint[]) with ordinality u(s, n) where id = $1 order by n`,
      [jobId, states],
    )
  const look = (jobId: string) => pauseFailing(db.engine, db.engineKeyRing, [{ tenantId: ctx.tenantId, jobId }])

  test('pause the job, with the reason; fewer do not, and a success in between begins anew', async () => {
    const job = await createJob(ctx, hourly({ pauseAfterFailures: 3 }))
    await end(job.id, 5, 5, 4, 5, 5)
    expect(await look(job.id)).toBe(0)
    await end(job.id, 5)
    expect((await Promise.all([look(job.id), look(job.id)])).every((count) => count <= 1)).toBe(true)
    expect(await getJob(ctx, job.id)).toMatchObject({ state: 'paused', pauseReason: 'Its last 3 runs have failed.' })
    expect((await trailOf(db, job.id)).actions).toEqual(['job.create', 'job.pause'])
  })

  test('are counted from when it was resumed or edited', async () => {
    const job = await createJob(ctx, hourly({ pauseAfterFailures: 2 }))
    await end(job.id, 5, 5)
    expect(await look(job.id)).toBe(1)
    await resumeJob(ctx, job.id)
    await end(job.id, 5)
    expect(await look(job.id)).toBe(0)
    await updateJob(ctx, job.id, { priority: 1 })
    await end(job.id, 5)
    expect(await look(job.id)).toBe(0)
    await end(job.id, 5)
    expect(await look(job.id)).toBe(1)
  })

  test('of a job that does not ask for it change nothing', async () => {
    const job = await createJob(ctx, hourly())
    await end(job.id, 5, 5, 5, 5, 5)
    expect(await look(job.id)).toBe(0)
  })
})

describe('a job that is over', () => {
  const over = (changes: Partial<NewJob>) =>
    createJob(ctx, sampleJob({ schedule: { type: 'at', at: '2090-01-01T00:00:00Z' }, ...changes }))
  const putAway = () => putAwayOver(db.engine, db.engineKeyRing, 1)

  test('is deleted when it asks for it, once nothing of it is open, and told as the work of the system', async () => {
    const job = await over({ afterLastRun: 'delete' })
    const kept = await over({})
    const ahead = await over({ afterLastRun: 'delete' })
    await db.owner.query('update schedules set next_at = null where job_id = any($1)', [[job.id, kept.id]])
    await db.owner.query(
      `insert into due (pool, due_at, id, tenant_id, project_id, queue_id, priority, attempts_max, keep_week, job_id)
       select 1, now(), uuidv7(), tenant_id, project_id, queue_id, 3, 1, current_date, id from jobs where id = $1`,
      [job.id],
    )
    expect(await putAway()).toBe(0)
    await db.owner.query('delete from due')
    expect((await Promise.all([putAway(), putAway()])).reduce((sum, count) => sum + count, 0)).toBe(1)
    await expect(getJob(ctx, job.id)).rejects.toMatchObject({ code: 'not-found' })
    for (const { id } of [kept, ahead]) expect(await getJob(ctx, id)).toMatchObject({ state: 'active' })
    expect(await actorsOf(job.id)).toEqual(['key', 'system'])
  })

  test('is archived when it asks for that, once; brought back, it stays', async () => {
    const job = await over({ afterLastRun: 'archive' })
    await db.owner.query(
      `update schedules set next_at = null, spec = spec || '{"at": "2020-01-01T00:00:00Z"}' where job_id = $1`,
      [job.id],
    )
    expect((await Promise.all([putAway(), putAway()])).reduce((sum, count) => sum + count, 0)).toBe(1)
    expect(await getJob(ctx, job.id)).toMatchObject({ state: 'archived', archivedAt: expect.any(Date) })
    expect(await unarchiveJob(ctx, job.id)).toMatchObject({ state: 'active', archivedAt: null, nextAt: null })
    expect(await putAway()).toBe(0)
    expect(await actorsOf(job.id)).toEqual(['key', 'system', 'key'])
  })
})
