import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import type { Scope } from '../access/scope.ts'
import type { Ctx } from '../db/context.ts'
import { createJob } from '../job/create.ts'
import { getJob } from '../job/get.ts'
import type { NewJob } from '../job/job.ts'
import { listJobs } from '../job/list.ts'
import { pauseJob, resumeJob } from '../job/set-state.ts'
import { updateJob } from '../job/update.ts'
import { systemClock } from '../kernel/clock.ts'
import { createTenant, type TestTenant, testCtx } from '../testing/factories.ts'
import { sampleJob, trailOf, unknownId } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { createOperation, planOperation, undoOperation } from './create.ts'
import { getOperation, listOperationItems, listOperations } from './get.ts'
import type { Operation } from './operation.ts'
import { abortOperation, pauseOperation, resumeOperation } from './set-state.ts'
import { stepOperation } from './step.ts'

let db: TestDb
let tenant: TestTenant
let ctx: Ctx
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
})
afterAll(() => db.close())
beforeEach(async () => {
  // What an earlier test left under way is none of the next one's.
  await db.owner.query("update operations set state = 'aborted', finished_at = now() where finished_at is null")
  tenant = await createTenant(db)
  ctx = testCtx(db, tenant)
})

const schedule = { type: 'every', every: 'PT1H' } as const
const make = (name: string, changes: Partial<NewJob> = {}) => createJob(ctx, sampleJob({ name, schedule, ...changes }))
const makeMany = async (count: number, changes: Partial<NewJob> = {}) => {
  for (let index = 0; index < count; index++) await make(`job ${index}`, changes)
}
const step = () => stepOperation({ engine: db.engine, keyRing: db.engineKeyRing, clock: systemClock, shard: 1 })
const pauseAll = (filter = {}, rate: number | null = null) =>
  createOperation(ctx, { kind: 'jobs.pause', plan: { filter, reason: 'moving house' }, rate })
async function finish(operation: Operation): Promise<Operation> {
  for (;;) {
    const now = await getOperation(ctx, operation.id)
    if (now.finishedAt !== null) return now
    if ((await step()) === null) await new Promise(setImmediate)
  }
}
const statesOf = async () =>
  Object.fromEntries((await listJobs(ctx, {}, { limit: 200 })).items.map((job) => [job.name, job.state]))

describe('an operation', () => {
  test('is counted first, does what was counted, and says how it went', async () => {
    await make('a', { tags: ['red'] })
    await make('b', { tags: ['red'] })
    await make('c')
    await pauseJob(ctx, (await make('d', { tags: ['red'] })).id, 'before')
    const input = { kind: 'jobs.pause' as const, plan: { filter: { tags: ['red'] }, reason: 'why not' }, rate: null }
    const planned = await planOperation(ctx, input)
    expect(planned).toMatchObject({ state: 'planned', total: 2, sample: [{ name: 'a' }, { name: 'b' }] })
    expect((await listOperations(ctx, {}, { limit: 10 })).items).toEqual([])

    const operation = await createOperation(ctx, input)
    expect(operation).toMatchObject({ state: 'running', total: 2, done: 0, actor: `key:${tenant.apiKeyId}` })
    // Whoever comes into the filter afterwards was not counted, so is not touched.
    await make('late', { tags: ['red'] })
    const ended = await finish(operation)
    expect(ended).toMatchObject({ state: 'finished', done: 2, unchanged: 0, failed: 0, canUndo: true })
    expect(await statesOf()).toEqual({ a: 'paused', b: 'paused', c: 'active', d: 'paused', late: 'active' })
    const a = (await listJobs(ctx, { name: 'a' }, { limit: 9 })).items.find((job) => job.name === 'a')
    expect(a).toMatchObject({ pauseReason: 'why not', pausedBy: `key:${tenant.apiKeyId}`, nextAt: null })
    expect((await trailOf(db, a?.id ?? '')).actions).toEqual(['job.create', 'job.pause'])
    expect(await trailOf(db, operation.id)).toEqual({
      events: ['operation.created', 'operation.finished'],
      actions: ['operation.create'],
    })
    expect((await listOperations(ctx, {}, { limit: 10 })).items).toEqual([ended])
    expect((await listOperations(ctx, { state: ['running'] }, { limit: 10 })).items).toEqual([])
  })

  test('of nothing is over at once', async () => {
    expect(await pauseAll()).toMatchObject({ state: 'finished', total: 0, canUndo: false })
  })

  test('tells of each thing: what was changed meanwhile is unchanged, what is gone has failed', async () => {
    const jobs = [await make('a'), await make('b'), await make('c')]
    const operation = await pauseAll()
    await pauseJob(ctx, jobs[1]?.id ?? '', null)
    await db.owner.query("update jobs set state = 'deleted' where id = $1", [jobs[2]?.id])
    expect(await finish(operation)).toMatchObject({ done: 1, unchanged: 1, failed: 1 })
    const page = await listOperationItems(ctx, operation.id, { limit: 2 })
    expect(page.items).toMatchObject([
      { position: 1, name: 'a', state: 'done', itemId: jobs[0]?.id },
      { position: 2, name: 'b', state: 'unchanged', detail: 'It was paused already.' },
    ])
    const rest = await listOperationItems(ctx, operation.id, { limit: 2, cursor: page.nextCursor ?? '' })
    expect(rest).toMatchObject({
      items: [{ name: 'c', state: 'failed', detail: 'There is no such job.' }],
      nextCursor: null,
    })
    const failed = await listOperationItems(ctx, operation.id, { limit: 2, state: 'failed' })
    expect(failed.items.map((item) => item.name)).toEqual(['c'])
  })

  test('that is paused or aborted does nothing more; a resumed one goes on where it stood', async () => {
    await makeMany(8)
    // Four at a second: one a step.
    const operation = await pauseAll({}, 4)
    await step()
    await pauseOperation(ctx, operation.id)
    await db.owner.query('update operations set next_at = now() where id = $1', [operation.id])
    expect(await step()).toBeNull()
    expect(await pauseOperation(ctx, operation.id)).toMatchObject({ state: 'paused', done: 1 })
    await resumeOperation(ctx, operation.id)
    await step()
    expect(await abortOperation(ctx, operation.id)).toMatchObject({ state: 'aborted', done: 2, canUndo: true })
    await db.owner.query('update operations set next_at = now() where id = $1', [operation.id])
    expect(await step()).toBeNull()
    expect(Object.values(await statesOf()).filter((state) => state === 'paused')).toHaveLength(2)
    await expect(resumeOperation(ctx, operation.id)).rejects.toMatchObject({
      code: 'invalid-transition',
      extra: { current: { state: 'aborted' } },
    })
    expect(await trailOf(db, operation.id)).toEqual({
      events: ['operation.created', 'operation.paused', 'operation.resumed', 'operation.aborted'],
      actions: ['operation.create', 'operation.pause', 'operation.resume', 'operation.abort'],
    })
  })

  test('keeps to its rate, whoever asks for the next step', async () => {
    await makeMany(3)
    const operation = await pauseAll({}, 0.5)
    expect(await step()).toMatchObject({ items: 1 })
    expect(await step()).toBeNull()
    await db.owner.query("update operations set next_at = next_at - interval '2 seconds' where id = $1", [operation.id])
    expect(await step()).toMatchObject({ items: 1 })
    expect(await step()).toBeNull()
  })

  test('is one worker’s at a time; several workers share several, and each thing is done once', async () => {
    await makeMany(30)
    const operations = [await pauseAll({ name: 'job 1' }), await pauseAll({ name: 'job 2' }), await pauseAll()]
    const worker = async () => {
      while ((await getOperation(ctx, operations[2]?.id ?? '')).finishedAt === null) await step()
    }
    await Promise.all([worker(), worker(), worker()])
    await Promise.all(operations.map(finish))
    const paused = await db.owner.query(
      "select subject from audit_entries where tenant_id = $1 and action = 'job.pause'",
      [tenant.tenantId],
    )
    expect(paused.rowCount).toBe(30)
    expect(new Set(Object.values(await statesOf()))).toEqual(new Set(['paused']))
  })

  test('of one tenant waits no longer because another has many', async () => {
    await makeMany(8)
    for (let index = 0; index < 10; index++) await pauseAll({}, 4)
    const neighbour = await createTenant(db)
    const theirs = testCtx(db, neighbour)
    await createJob(theirs, sampleJob())
    await step()
    const operation = await createOperation(theirs, { kind: 'jobs.pause', plan: { filter: {} }, rate: null })
    expect((await step())?.operationId).toBe(operation.id)
    expect(await getOperation(theirs, operation.id)).toMatchObject({ state: 'finished', done: 1 })
    await expect(getOperation(ctx, operation.id)).rejects.toMatchObject({ code: 'not-found' })
    await expect(abortOperation(ctx, operation.id)).rejects.toMatchObject({ code: 'not-found' })
  })

  test('that meets a bug goes on with the next thing, and says so', async () => {
    const job = await make('broken')
    await make('fine')
    const operation = await pauseAll()
    const nonsense = `update schedules set spec = '{"type": "nonsense"}', next_at = '2020-01-01' where job_id = $1`
    await db.owner.query(nonsense, [job.id])
    await finish(operation)
    const undo = await undoOperation(ctx, operation.id)
    const broken = []
    while ((await getOperation(ctx, undo.id)).finishedAt === null) broken.push(...((await step())?.broken ?? []))
    expect(broken).toMatchObject([{ item: job.name }])
    expect(await getOperation(ctx, undo.id)).toMatchObject({ done: 1, failed: 1 })
    expect(await statesOf()).toEqual({ broken: 'paused', fine: 'active' })
  })

  test('needs its scope and that of its kind, and a plan that its kind can read', async () => {
    const plan = { filter: {} }
    const scoped = (...scopes: Scope[]) => testCtx(db, tenant, { scopes })
    const create = (as: Ctx) => createOperation(as, { kind: 'jobs.pause', plan, rate: null })
    await expect(create(scoped('jobs:write'))).rejects.toMatchObject({ code: 'forbidden' })
    await expect(create(scoped('operations:write'))).rejects.toMatchObject({ code: 'forbidden' })
    await expect(
      createOperation(ctx, { kind: 'jobs.pause', plan: { filter: { colour: 'red' } }, rate: null }),
    ).rejects.toMatchObject({ code: 'validation-failed', extra: { errors: [{ pointer: '/filter/colour' }] } })
    await expect(getOperation(ctx, unknownId())).rejects.toMatchObject({ code: 'not-found' })
  })
})

describe('undo', () => {
  test('of a pause resumes what it paused, but not what somebody paused anew', async () => {
    const jobs = [await make('a'), await make('b'), await make('c')]
    const operation = await finish(await pauseAll())
    await resumeJob(ctx, jobs[0]?.id ?? '')
    await resumeJob(ctx, jobs[1]?.id ?? '')
    await pauseJob(ctx, jobs[1]?.id ?? '', 'mine')
    const undo = await finish(await undoOperation(ctx, operation.id))
    expect(undo).toMatchObject({
      kind: 'jobs.pause',
      undoOf: operation.id,
      done: 1,
      unchanged: 1,
      failed: 1,
      canUndo: false,
    })
    expect(await statesOf()).toEqual({ a: 'active', b: 'paused', c: 'active' })
    expect(await getOperation(ctx, operation.id)).toMatchObject({ undoneBy: undo.id, canUndo: false })
    await expect(undoOperation(ctx, operation.id)).rejects.toMatchObject({
      code: 'conflict',
      extra: { current: { id: undo.id } },
    })
    await expect(undoOperation(ctx, undo.id)).rejects.toMatchObject({ code: 'conflict' })
  })

  test('of a resume pauses again, for the reason there was', async () => {
    const job = await make('a')
    await pauseJob(ctx, job.id, 'the reason there was')
    const operation = await finish(
      await createOperation(ctx, { kind: 'jobs.resume', plan: { filter: {} }, rate: null }),
    )
    expect(await getJob(ctx, job.id)).toMatchObject({ state: 'active' })
    await finish(await undoOperation(ctx, operation.id))
    expect(await getJob(ctx, job.id)).toMatchObject({ state: 'paused', pauseReason: 'the reason there was' })
  })

  test('of an edit brings back the version before, unless another came after', async () => {
    const jobs = [await make('a', { tags: ['old', 'kept'] }), await make('b', { tags: ['old'] }), await make('c')]
    const changes = { queue: 'slow', priority: 2, addTags: ['new'], removeTags: ['old'] }
    const operation = await finish(
      await createOperation(ctx, { kind: 'jobs.edit', plan: { filter: {}, changes }, rate: null }),
    )
    expect(await getJob(ctx, jobs[0]?.id ?? '')).toMatchObject({
      version: 2,
      queue: 'slow',
      priority: 2,
      tags: ['kept', 'new'],
      target: { url: 'https://hooks.example.com/nightly?key=s3cret' },
    })
    await updateJob(ctx, jobs[1]?.id ?? '', { name: 'b again' })
    const undo = await finish(await undoOperation(ctx, operation.id))
    expect(undo).toMatchObject({ done: 2, failed: 1 })
    expect(await getJob(ctx, jobs[0]?.id ?? '')).toMatchObject({ version: 3, queue: 'default', tags: ['old', 'kept'] })
    expect(await getJob(ctx, jobs[1]?.id ?? '')).toMatchObject({ version: 3, queue: 'slow', name: 'b again' })
    const again = await finish(
      await createOperation(ctx, { kind: 'jobs.edit', plan: { filter: { name: 'b again' }, changes }, rate: null }),
    )
    expect(again).toMatchObject({ done: 0, unchanged: 1 })
  })

  test('of a spread takes the window away that each schedule got, and leaves the rest of it', async () => {
    const jittered = await make('a', { schedule: { ...schedule, jitter: 'PT5M' } })
    const byHand = await make('b', { schedule: null })
    const operation = await finish(
      await createOperation(ctx, {
        kind: 'jobs.edit',
        plan: { filter: {}, changes: { window: 'PT30M' } },
        rate: null,
      }),
    )
    expect(operation).toMatchObject({ done: 1, unchanged: 1 })
    expect((await getJob(ctx, jittered.id)).schedule).toEqual({ ...schedule, window: 'PT30M' })
    expect((await getJob(ctx, byHand.id)).schedule).toBeNull()
    await finish(await undoOperation(ctx, operation.id))
    expect((await getJob(ctx, jittered.id)).schedule).toEqual({ ...schedule, jitter: 'PT5M' })
    const plan = { filter: {}, changes: { window: 'P2D' } }
    await expect(createOperation(ctx, { kind: 'jobs.edit', plan, rate: null })).rejects.toMatchObject({
      code: 'validation-failed',
    })
  })

  test('of what is under way is refused', async () => {
    await make('a')
    const operation = await pauseAll()
    await expect(undoOperation(ctx, operation.id)).rejects.toMatchObject({ code: 'invalid-transition' })
    await abortOperation(ctx, operation.id)
    await expect(undoOperation(ctx, operation.id)).rejects.toMatchObject({ code: 'conflict' })
  })

  test('an edit that one job can’t take leaves that job as it was', async () => {
    const full = Array.from({ length: 20 }, (_, index) => `tag${index}`)
    const job = await make('full', { tags: full })
    await make('free')
    const operation = await finish(
      await createOperation(ctx, {
        kind: 'jobs.edit',
        plan: { filter: {}, changes: { addTags: ['more'] } },
        rate: null,
      }),
    )
    expect(operation).toMatchObject({ done: 1, failed: 1 })
    const { items } = await listOperationItems(ctx, operation.id, { limit: 1, state: 'failed' })
    expect(items[0]?.detail).toMatch(/^\/tags: /)
    expect(await getJob(ctx, job.id)).toMatchObject({ version: 1, tags: full })
  })
})
