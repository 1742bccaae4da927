import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { type Ctx, withTx } from '../db/context.ts'
import { acceptRuns } from '../run/accept.ts'
import { prepareRun } from '../run/prepare.ts'
import { httpTargetValue } from '../run/target.ts'
import { createTenant, type TestTenant, testCtx } from '../testing/factories.ts'
import { trailOf, unknownId } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { queueDepths } from './depths.ts'
import {
  createQueue,
  findQueue,
  getQueue,
  listQueues,
  pauseQueue,
  resolveQueue,
  resumeQueue,
  updateQueue,
} from './queues.ts'

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

const limitsOf = async (id: string): Promise<unknown> =>
  (await db.owner.query('select concurrency, weight, paused from limits where queue_id = $1', [id])).rows[0]

describe('resolving a name', () => {
  test('makes the queue with its limits the first time, and finds it afterwards', async () => {
    const made = await resolveQueue(ctx, 'slow')
    expect(made.pool).toBe(1)
    expect(await limitsOf(made.id)).toEqual({ concurrency: 1_000, weight: 1, paused: false })
    expect(await resolveQueue(ctx, 'slow')).toEqual(made)
    expect(await trailOf(db, made.id)).toEqual({ events: ['queue.created'], actions: ['queue.create'] })
  })

  test('twenty at once make one queue', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => resolveQueue(ctx, 'crowd')))
    expect(new Set(all.map(({ id }) => id)).size).toBe(1)
  })

  test('the same name in another tenant is another queue', async () => {
    const other = testCtx(db, await createTenant(db))
    expect((await resolveQueue(other, 'same')).id).not.toBe((await resolveQueue(ctx, 'same')).id)
  })

  test('a queue that was rolled back is not remembered', async () => {
    await expect(
      withTx(ctx, async (tx) => {
        await resolveQueue(tx, 'undone')
        await findQueue(tx, 'undone')
        throw new Error('no')
      }),
    ).rejects.toThrow('no')
    const { id } = await resolveQueue(ctx, 'undone')
    expect((await getQueue(ctx, id)).name).toBe('undone')
  })

  test.each(['', ' ', 'a b', '-x', 'a/b', 'x'.repeat(65), 'a\u0000'])('%j is no name', async (name) => {
    await expect(resolveQueue(ctx, name)).rejects.toMatchObject({ extra: { errors: [{ pointer: '/queue' }] } })
  })

  test('finding makes nothing', async () => {
    await expect(findQueue(ctx, 'absent')).rejects.toMatchObject({ code: 'not-found' })
    await expect(findQueue(ctx, 'not a name\u0000')).rejects.toMatchObject({ code: 'not-found' })
    expect((await listQueues(ctx, { limit: 10 })).items.map(({ name }) => name)).toEqual(['default'])
    expect(await findQueue(ctx, 'default')).toEqual(await resolveQueue(ctx, 'default'))
  })

  test('a project has at most a thousand', async () => {
    await db.owner.query(
      "insert into queues (tenant_id, id, project_id, name) select $1, gen_random_uuid(), $2, 'q' || i from generate_series(1, 999) i",
      [tenant.tenantId, tenant.projectId],
    )
    await expect(resolveQueue(ctx, 'one-more')).rejects.toMatchObject({ code: 'quota-exceeded' })
    await expect(resolveQueue(ctx, 'q7')).resolves.toBeDefined()
  })
})

describe('queues', () => {
  test('one is made with its limits, once', async () => {
    const queue = await createQueue(ctx, { name: 'mail', concurrency: 5, weight: 2.5 })
    expect(queue).toMatchObject({ name: 'mail', concurrency: 5, weight: 2.5, pausedAt: null, version: 1 })
    expect(await getQueue(ctx, queue.id)).toEqual(queue)
    await expect(createQueue(ctx, { name: 'mail' })).rejects.toMatchObject({
      code: 'conflict',
      extra: { current: { id: queue.id } },
    })
  })

  test('pages show each queue once, oldest first', async () => {
    for (const name of ['a', 'b', 'c']) await createQueue(ctx, { name })
    const first = await listQueues(ctx, { limit: 3 })
    const second = await listQueues(ctx, { cursor: first.nextCursor ?? '', limit: 3 })
    expect([...first.items, ...second.items].map(({ name }) => name)).toEqual(['default', 'a', 'b', 'c'])
  })

  test('an update reaches the row that admission reads; one that changes nothing is none', async () => {
    const queue = await createQueue(ctx, { name: 'mail' })
    const after = await updateQueue(ctx, queue.id, { concurrency: 3, expectedVersion: 1 })
    expect(after).toEqual({ ...queue, concurrency: 3, version: 2, updatedAt: after.updatedAt })
    expect(await limitsOf(queue.id)).toEqual({ concurrency: 3, weight: 1, paused: false })
    expect(await updateQueue(ctx, queue.id, { concurrency: 3 })).toEqual(after)
    await expect(updateQueue(ctx, queue.id, { weight: 2, expectedVersion: 1 })).rejects.toMatchObject({
      code: 'precondition-failed',
      extra: { current: { version: 2 } },
    })
    expect((await trailOf(db, queue.id)).actions).toEqual(['queue.create', 'queue.update'])
  })

  test('a pause reaches admission and says who and why; twice is once', async () => {
    const { id } = await createQueue(ctx, { name: 'mail' })
    const paused = await pauseQueue(ctx, id, 'the relay is down')
    expect(paused).toMatchObject({ pausedBy: `key:${tenant.apiKeyId}`, pauseReason: 'the relay is down', version: 2 })
    expect(await limitsOf(id)).toMatchObject({ paused: true })
    expect(await pauseQueue(ctx, id, 'another reason')).toEqual(paused)
    const resumed = await resumeQueue(ctx, id)
    expect(resumed).toMatchObject({ pausedAt: null, pausedBy: null, pauseReason: null, version: 3 })
    expect(await limitsOf(id)).toMatchObject({ paused: false })
    expect(await resumeQueue(ctx, id)).toEqual(resumed)
    expect(await trailOf(db, id)).toEqual({
      events: ['queue.created', 'queue.paused', 'queue.resumed'],
      actions: ['queue.create', 'queue.pause', 'queue.resume'],
    })
  })

  test('each verb needs its scope, and an unknown queue is not found', async () => {
    const { id } = await createQueue(ctx, { name: 'mail' })
    const reader = testCtx(db, tenant, { scopes: ['queues:read'] })
    const nobody = testCtx(db, tenant, { scopes: [] })
    for (const attempt of [
      () => createQueue(reader, { name: 'x' }),
      () => updateQueue(reader, id, { weight: 2 }),
      () => pauseQueue(reader, id, null),
      () => resumeQueue(reader, id),
      () => getQueue(nobody, id),
      () => listQueues(nobody, { limit: 1 }),
      () => queueDepths(nobody, [id]),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: 'forbidden' })
    }
    for (const attempt of [getQueue, updateQueue, pauseQueue, resumeQueue]) {
      await expect((attempt as typeof resumeQueue)(ctx, unknownId())).rejects.toMatchObject({ code: 'not-found' })
    }
  })
})

describe('depths', () => {
  const target = httpTargetValue.parse({ type: 'http', url: 'https://example.com/' })
  const accept = async (queue: string, dueAt?: Date): Promise<void> => {
    const [result] = await acceptRuns(
      { pool: db.app, keyRing: db.keyRing },
      [await prepareRun(ctx, { target, queue, dueAt })],
      false,
    )
    expect(result?.outcome).toBe('accepted')
  }

  test('count the runs of each queue by state, and only the caller’s queues', async () => {
    const [a, b] = [await createQueue(ctx, { name: 'a' }), await createQueue(ctx, { name: 'b' })]
    const soon = new Date(Date.now() + 3_600_000)
    await accept('a')
    await accept('a')
    await accept('a', soon)
    await accept('b', soon)
    await db.owner.query(
      `with r as (delete from ready where id = (select id from ready where queue_id = $1 limit 1) returning *)
       insert into held (pool, tenant_id, queue_id, id, project_id, state, priority, attempt, attempts_max, fence, due_at, keep_week, since, lease_until)
       select pool, tenant_id, queue_id, id, project_id, 3, priority, 1, attempts_max, 1, due_at, keep_week, now(), now() from r`,
      [a.id],
    )
    const foreign = await createQueue(testCtx(db, await createTenant(db)), { name: 'a' })
    const depths = await queueDepths(ctx, [a.id, b.id, foreign.id])
    expect(depths).toEqual(
      new Map([
        [a.id, { scheduled: 1, ready: 1, queued: 0, running: 1, isLowerBound: false }],
        [b.id, { scheduled: 1, ready: 0, queued: 0, running: 0, isLowerBound: false }],
      ]),
    )
  })

  test('stop counting where nobody reads the digits, and say so', async () => {
    const queue = await createQueue(ctx, { name: 'deep' })
    await db.owner.query(
      `insert into ready (pool, tenant_id, queue_id, priority, due_at, id, project_id, attempts_max, keep_week)
       select 1, $1, $2, 3, now(), gen_random_uuid(), $3, 1, '9999-12-31' from generate_series(1, 10500)`,
      [tenant.tenantId, queue.id, tenant.projectId],
    )
    expect((await queueDepths(ctx, [queue.id])).get(queue.id)).toMatchObject({ ready: 10_000, isLowerBound: true })
  })
})
