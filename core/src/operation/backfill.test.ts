import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import type { Ctx } from '../db/context.ts'
import { createJob } from '../job/create.ts'
import type { Job } from '../job/job.ts'
import { systemClock } from '../kernel/clock.ts'
import { getRun } from '../run/get.ts'
import { listRuns } from '../run/list.ts'
import { listOccurrences } from '../run/occurrences.ts'
import { createTenant, testCtx } from '../testing/factories.ts'
import { sampleJob, unknownId } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { createOperation, planOperation, undoOperation } from './create.ts'
import { getOperation, listOperationItems } from './get.ts'
import { abortOperation } from './set-state.ts'
import { stepOperation } from './step.ts'

let db: TestDb
let ctx: Ctx
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
})
afterAll(() => db.close())
beforeEach(async () => {
  await db.owner.query("update operations set state = 'aborted', finished_at = now() where finished_at is null")
  ctx = testCtx(db, await createTenant(db))
})

const make = (schedule = { type: 'cron', cron: '0 6 * * *', timezone: 'Europe/London' } as const): Promise<Job> =>
  createJob(ctx, sampleJob({ schedule }))
const range = { from: '2026-03-27T00:00:00Z', to: '2026-03-31T00:00:00Z' }
/** 06:00 in London over a clock change. */
const instants = ['2026-03-27T06:00', '2026-03-28T06:00', '2026-03-29T05:00', '2026-03-30T05:00'].map(
  (text) => `${text}:00.000Z`,
)
const input = (job: Job, more = {}) => ({
  kind: 'jobs.backfill' as const,
  plan: { jobId: job.id, ...range, concurrency: 100, ...more },
  rate: null,
})
const step = () => stepOperation({ engine: db.engine, keyRing: db.engineKeyRing, clock: systemClock, shard: 1 })
async function backfill(job: Job, more = {}) {
  const { id } = await createOperation(ctx, input(job, more))
  while ((await getOperation(ctx, id)).finishedAt === null) await step()
  return getOperation(ctx, id)
}
const runsOf = async (job: Job) => (await listRuns(ctx, { jobId: job.id, source: 'backfill' }, { limit: 100 })).items
/** What the executor does, as far as a backfill sees it. */
const endAll = () =>
  db.owner.query(
    `with w as (delete from ready returning *) insert into runs (tenant_id, project_id, id, queue_id, pool, state, attempt, fence, due_at,
       ended_at, job_id, nominal_at) select tenant_id, project_id, id, queue_id, pool, 4, 1, 1, due_at, clock_timestamp(), job_id, nominal_at from w`,
  )
const ledger = async (job: Job) =>
  (await listOccurrences(ctx, job.id, { from: new Date(0), to: new Date('2100-01-01') }, { limit: 100 })).items
const record = (job: Job, nominalAt: string | undefined, outcome: string) =>
  db.owner.query(
    `insert into occurrences (tenant_id, job_id, nominal_at, project_id, job_version, outcome, tz_version) values ($1, $2, $3, $4, 1, $5, 'x')`,
    [ctx.tenantId, job.id, nominalAt, ctx.projectId, outcome],
  )

describe('backfill', () => {
  test('runs the instants of a past range in the job’s zone, oldest first, marked as what they are', async () => {
    const job = await make()
    const planned = await planOperation(ctx, input(job))
    expect(planned).toMatchObject({ state: 'planned', total: 4, sample: instants.map((name) => ({ id: null, name })) })
    expect(await backfill(job)).toMatchObject({ done: 4, failed: 0 })
    const runs = (await runsOf(job)).toReversed()
    expect(runs.map((run) => run.nominalAt?.toISOString())).toEqual(instants)
    for (const run of runs) {
      expect(run).toMatchObject({ source: 'backfill', status: 'ready', jobVersion: 1, attempt: 0, attemptsMax: 6 })
      expect(run.dueAt.getTime()).toBeGreaterThan(Date.now() - 60_000)
    }
    expect(await ledger(job)).toEqual([])
  })

  test('leaves out what has run, and makes nothing twice', async () => {
    const job = await make()
    await record(job, instants[0], 'run')
    await record(job, instants[1], 'missed')
    expect(await backfill(job)).toMatchObject({ total: 3, done: 3 })
    expect(await planOperation(ctx, input(job))).toMatchObject({ total: 0 })
    // The ledger keeps saying what happened at the time.
    expect((await ledger(job)).map(({ outcome }) => outcome)).toEqual(['run', 'missed'])
  })

  test('is a filter of runs: its own, and in which state they are', async () => {
    const job = await make()
    const { id } = await backfill(job)
    const other = await backfill(job, { again: true, from: '2026-03-30T00:00:00Z' })
    await endAll()
    await backfill(job, { again: true, from: '2026-03-30T00:00:00Z' })
    const found = async (filter: Parameters<typeof listRuns>[1]) =>
      (await listRuns(ctx, { operationId: id, ...filter }, { limit: 3 })).items.map((run) =>
        run.nominalAt?.toISOString(),
      )
    expect(await found({})).toEqual(instants.slice(1).toReversed())
    expect(await found({ status: ['succeeded'], source: 'backfill', jobId: job.id })).toEqual(
      instants.slice(1).toReversed(),
    )
    expect(await found({ status: ['ready', 'queued', 'running', 'scheduled', 'failed'] })).toEqual([])
    const [page] = (await listRuns(ctx, { operationId: other.id }, { limit: 10 })).items
    expect([page?.nominalAt?.toISOString(), page?.status]).toEqual([instants[3], 'succeeded'])
    expect((await listRuns(ctx, { operationId: unknownId() }, { limit: 10 })).items).toEqual([])
    expect((await listRuns(testCtx(db, await createTenant(db)), { operationId: id }, { limit: 10 })).items).toEqual([])
  })

  test('two at once share the instants', async () => {
    const job = await make()
    const both = [await createOperation(ctx, input(job)), await createOperation(ctx, input(job))]
    expect(both.map(({ total }) => total)).toEqual([4, 4])
    while ((await step()) !== null);
    const ended = await Promise.all(both.map(({ id }) => getOperation(ctx, id)))
    expect(ended.map(({ done, unchanged }) => [done, unchanged])).toEqual([
      [4, 0],
      [0, 4],
    ])
    expect(await runsOf(job)).toHaveLength(4)
  })

  test('runs again what has run when it is asked to', async () => {
    const job = await make()
    await record(job, instants[0], 'run')
    await backfill(job)
    expect(await backfill(job, { again: true })).toMatchObject({ total: 4, done: 4 })
    expect(await runsOf(job)).toHaveLength(7)
  })

  test('keeps to as many open runs as it may have', async () => {
    const job = await make()
    const { id } = await createOperation(ctx, input(job, { concurrency: 3 }))
    const next = () => db.owner.query('update operations set next_at = now() where id = $1', [id])
    expect(await step()).toMatchObject({ items: 3 })
    await next()
    expect(await step()).toMatchObject({ items: 0 })
    await endAll()
    await next()
    expect(await step()).toMatchObject({ items: 1 })
    expect(await getOperation(ctx, id)).toMatchObject({ state: 'finished', done: 4 })
  })

  test('aborted and undone, what has not begun is cancelled and can be run another time', async () => {
    const job = await make()
    const { id } = await createOperation(ctx, input(job, { concurrency: 1 }))
    await step()
    await endAll()
    await db.owner.query('update operations set next_at = now() where id = $1', [id])
    await step()
    await abortOperation(ctx, id)
    const undo = await undoOperation(ctx, id)
    while ((await getOperation(ctx, undo.id)).finishedAt === null) await step()
    expect(await getOperation(ctx, undo.id)).toMatchObject({ done: 1, unchanged: 1 })
    const { items } = await listOperationItems(ctx, id, { limit: 2 })
    const states = await Promise.all(items.map(async ({ itemId }) => (await getRun(ctx, itemId ?? '')).status))
    expect(states).toEqual(['succeeded', 'cancelled'])
    expect(await planOperation(ctx, input(job))).toMatchObject({ total: 3 })
  })

  test('ends where the schedule itself goes on', async () => {
    const job = await make()
    const planned = await planOperation(ctx, input(job, { to: '2100-01-01T00:00:00Z' }))
    const last = new Date(job.nextAt ?? 0).getTime()
    expect(last).toBeGreaterThan(Date.now())
    const days = Math.round((last - Date.parse(instants[0] ?? '')) / 86_400_000)
    expect(planned.total).toBe(days)
  })

  test('needs a schedule, a range, and the right to start runs', async () => {
    const bare = await createJob(ctx, sampleJob())
    await expect(planOperation(ctx, input(bare))).rejects.toMatchObject({
      code: 'validation-failed',
      extra: { errors: [{ pointer: '/jobId' }] },
    })
    const job = await make()
    await expect(planOperation(ctx, input(job, { to: range.from }))).rejects.toMatchObject({
      extra: { errors: [{ pointer: '/to' }] },
    })
    const scopes = new Set(['operations:write', 'jobs:write'] as const)
    await expect(planOperation({ ...ctx, scopes }, input(job))).rejects.toMatchObject({ code: 'forbidden' })
    const stranger = testCtx(db, await createTenant(db))
    await expect(planOperation(stranger, input(job))).rejects.toMatchObject({ code: 'not-found' })
  })
})
