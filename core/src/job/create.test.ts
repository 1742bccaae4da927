import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { Ctx } from '../db/context.ts'
import { createTenant, type TestTenant, testCtx } from '../testing/factories.ts'
import { refusalsOf, sampleJob, trailOf } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { createJob } from './create.ts'
import { getJob, getJobByExternalId } from './get.ts'
import type { NewJob } from './job.ts'

let db: TestDb
let tenant: TestTenant
let ctx: Ctx
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
  tenant = await createTenant(db)
  ctx = testCtx(db, tenant)
})
afterAll(() => db.close())

const pointersOf = async (input: unknown): Promise<string[]> => {
  const error: unknown = await createJob(ctx, input as NewJob).then(
    () => null,
    (refusal: unknown) => refusal,
  )
  expect(error).toMatchObject({ code: 'validation-failed' })
  return (error as { extra: { errors: { pointer: string }[] } }).extra.errors.map(({ pointer }) => pointer)
}

describe('create', () => {
  test('what is left out gets its default, and the job reads back as it was made', async () => {
    const job = await createJob(ctx, sampleJob())
    expect(job).toMatchObject({
      name: 'Nightly report',
      description: null,
      externalId: null,
      tags: [],
      schedule: null,
      queue: 'default',
      overlap: 'skip',
      catchUp: 'one',
      priority: 3,
      retry: { limit: 5, delay: 'PT0.1S', factor: 2, maxDelay: 'PT1.6S', jitter: 0.2 },
      target: { type: 'http', method: 'POST', timeout: 'PT30S', headers: { 'X-Token': 't0ken' }, body: { a: 1 } },
      isTargetReduced: false,
      version: 1,
      state: 'active',
      nextAt: null,
      projectId: tenant.projectId,
    })
    expect(await getJob(ctx, job.id)).toEqual(job)
    expect(await trailOf(db, job.id)).toEqual({ events: ['job.created'], actions: ['job.create'] })
  })

  test.each([
    ['text', 'plain text'],
    ['empty text', ''],
    ['an array', [1, 'two', null]],
    ['a number', 0],
    ['nested text', { deep: { ü: '\u0000 \ud83d\ude00' } }],
  ])('a body of %s reads back as it was given', async (_, body) => {
    const { target } = sampleJob()
    const job = await createJob(ctx, sampleJob({ target: { ...target, body } }))
    expect((await getJob(ctx, job.id)).target.body).toEqual(body)
  })

  test('no body stays no body', async () => {
    const job = await createJob(ctx, sampleJob({ target: { type: 'http', url: 'https://example.com/', body: null } }))
    expect((await getJob(ctx, job.id)).target).not.toHaveProperty('body')
  })

  test('the target is not in the database in the clear', async () => {
    const { id } = await createJob(ctx, sampleJob())
    const { rows } = await db.owner.query<{ definition: unknown; target: Buffer }>(
      'select definition, target from job_versions where job_id = $1',
      [id],
    )
    const stored = JSON.stringify(rows[0]?.definition) + rows[0]?.target.toString('latin1')
    expect(stored).toContain('Nightly report')
    for (const secret of ['hooks.example.com', 's3cret', 't0ken']) expect(stored).not.toContain(secret)
  })

  test('who may not see payloads sees where a job goes, not what it carries', async () => {
    const { id } = await createJob(ctx, sampleJob())
    const job = await getJob(testCtx(db, tenant, { scopes: ['jobs:read'] }), id)
    expect(job.isTargetReduced).toBe(true)
    expect(job.target).toEqual({
      type: 'http',
      method: 'POST',
      timeout: 'PT30S',
      url: 'https://hooks.example.com/nightly',
      headers: {},
    })
  })

  test('a schedule starts at its first instant after the clock of the database', async () => {
    const before = (await db.owner.query<{ now: Date }>('select clock_timestamp() as now')).rows[0]?.now ?? new Date(0)
    const job = await createJob(
      ctx,
      sampleJob({ schedule: { type: 'cron', cron: '* * * * *', timezone: 'Europe/London' } }),
    )
    const next = job.nextAt?.getTime() ?? 0
    expect(next % 60_000).toBe(0)
    expect(next).toBeGreaterThan(before.getTime())
    expect(next).toBeLessThanOrEqual(before.getTime() + 61_000)
    expect(await getJob(ctx, job.id)).toEqual(job)
  })

  test('an interval without anchor counts from its creation, and reads back without one', async () => {
    const job = await createJob(ctx, sampleJob({ schedule: { type: 'every', every: 'PT15M' } }))
    expect(job.schedule).toEqual({ type: 'every', every: 'PT15M' })
    const { rows } = await db.owner.query<{ spec: { anchor: string }; next_at: Date }>(
      'select spec, next_at from schedules where job_id = $1',
      [job.id],
    )
    expect(Date.parse(rows[0]?.spec.anchor ?? '') + 900_000).toBe(rows[0]?.next_at.getTime())
  })

  test('rules, retries and priority are written where the engine reads them', async () => {
    const job = await createJob(
      ctx,
      sampleJob({
        schedule: { type: 'every', every: 'PT1H' },
        overlap: 'allow',
        priority: 1,
        retry: { limit: 2 },
        queue: 'slow',
      }),
    )
    const { rows } = await db.owner.query(
      `select s.overlap, s.catch_up, s.priority, s.attempts_max, s.job_version, s.paused, q.name, s.tz_version <> '' as zoned
       from schedules s join queues q on q.id = s.queue_id where s.job_id = $1`,
      [job.id],
    )
    expect(rows).toEqual([
      {
        overlap: 1,
        catch_up: 0,
        priority: 1,
        attempts_max: 3,
        job_version: 1,
        paused: false,
        name: 'slow',
        zoned: true,
      },
    ])
  })

  test('a schedule that would never run is refused where it says so', async () => {
    expect(await pointersOf(sampleJob({ schedule: { type: 'at', at: '2020-01-01T00:00:00Z' } }))).toEqual([
      '/schedule/at',
    ])
    expect(await pointersOf(sampleJob({ schedule: { type: 'cron', cron: '0 0 30 2 *', timezone: 'UTC' } }))).toEqual([
      '/schedule/cron',
    ])
    expect((await db.owner.query("select from schedules where spec->>'type' = 'at'")).rowCount).toBe(0)
  })

  test('everything wrong is named, each with its pointer', async () => {
    const wrong = {
      ...sampleJob({ name: '', priority: 9, queue: 'a b', tags: ['no spaces please'] }),
      target: { type: 'http', url: 'ftp://example.com', headers: { Host: 'x', 'a/b': 'x' } },
      retry: { limit: -1 },
      colour: 'red',
    }
    const pointers = await pointersOf(wrong)
    expect(pointers.toSorted()).toEqual([
      '/colour',
      '/name',
      '/priority',
      '/queue',
      '/retry/limit',
      '/tags/0',
      '/target/headers/Host',
      '/target/headers/a~1b',
      '/target/url',
    ])
  })

  test.each(['a\u0000b', 'line\nbreak', '\ud800'])(
    'a name that Postgres or a list could not hold is refused: %j',
    async (name) => {
      expect(await pointersOf(sampleJob({ name }))).toEqual(['/name'])
    },
  )

  test('an external id is one job’s in its project; the refusal names that job', async () => {
    const first = await createJob(ctx, sampleJob({ externalId: 'invoice/7' }))
    await expect(createJob(ctx, sampleJob({ externalId: 'invoice/7' }))).rejects.toMatchObject({
      code: 'conflict',
      extra: { current: { id: first.id } },
    })
    expect((await getJobByExternalId(ctx, 'invoice/7')).id).toBe(first.id)
    for (const unknown of ['invoice/8', 'a\u0000b', '']) {
      await expect(getJobByExternalId(ctx, unknown)).rejects.toMatchObject({ code: 'not-found' })
    }
    const other = await createTenant(db)
    await expect(createJob(testCtx(db, other), sampleJob({ externalId: 'invoice/7' }))).resolves.toMatchObject({
      version: 1,
    })
  })

  test('twenty at once under one external id make one job and nineteen conflicts', async () => {
    const all = await Promise.allSettled(
      Array.from({ length: 20 }, () => createJob(ctx, sampleJob({ externalId: 'crowd' }))),
    )
    expect(refusalsOf(all)).toEqual(Array.from({ length: 19 }, () => 'conflict'))
  })

  test('equal tags are one', async () => {
    expect((await createJob(ctx, sampleJob({ tags: ['b', 'a', 'b'] }))).tags).toEqual(['b', 'a'])
  })

  test('a caller without jobs:write makes nothing', async () => {
    const readOnly = testCtx(db, tenant, { scopes: ['jobs:read'] })
    await expect(createJob(readOnly, sampleJob())).rejects.toMatchObject({ code: 'forbidden' })
    await expect(getJob(testCtx(db, tenant, { scopes: [] }), tenant.projectId)).rejects.toMatchObject({
      code: 'forbidden',
    })
  })
})
