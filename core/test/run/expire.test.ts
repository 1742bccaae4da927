import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { createJob } from '../../src/job/create.ts'
import type { Uuid } from '../../src/kernel/ids.ts'
import { createOperation } from '../../src/operation/create.ts'
import { stepOperation } from '../../src/operation/step.ts'
import { acceptMinding } from '../../src/run/accept.ts'
import { type Expired, expireRuns } from '../../src/run/expire.ts'
import { getRun } from '../../src/run/get.ts'
import { materialise } from '../../src/run/materialise.ts'
import { listOccurrences } from '../../src/run/occurrences.ts'
import { prepareJobRun, prepareReplay } from '../../src/run/trigger.ts'
import { sampleJob } from '../../src/testing/job-samples.ts'
import { createStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())
afterEach(() => stage.db.owner.query('delete from run_deadlines'))

/** Makes the deadlines of a run look as if they had passed. */
async function pass(id: Uuid, which: 'start_by' | 'end_by'): Promise<Expired> {
  await stage.db.owner.query(
    `update run_deadlines set ${which} = clock_timestamp() - interval '1 second', check_at = clock_timestamp() where run_id = $1`,
    [id],
  )
  return expireRuns(stage.db.engine, 100)
}
const deadlinesOf = (id: Uuid) =>
  stage.value<number>('select count(*)::int as value from run_deadlines where run_id = $1', id)
const minute = { startWithinMs: 60_000 }
const acceptOne = async (change: Parameters<Stage['accept']>[0]): Promise<Uuid> =>
  (await stage.accept(change))[0]?.id ?? ''

describe('a run that has not begun in time', () => {
  it('expires where it waits for a slot, with the reason, told once', async () => {
    const id = await acceptOne(minute)
    expect(await expireRuns(stage.db.engine, 100)).toEqual({ looked: 0, expired: 0 })
    expect(await pass(id, 'start_by')).toEqual({ looked: 1, expired: 1 })
    expect(await getRun(stage.ctx, id)).toMatchObject({
      status: 'expired',
      error: 'start-deadline',
      attempt: 0,
      startedAt: null,
    })
    expect(await stage.eventsOf(id)).toEqual(['run.created', 'run.expired'])
    expect(await deadlinesOf(id)).toBe(0)
  })

  it('expires on its way to an executor, whose claim comes too late', async () => {
    const id = await acceptOne(minute)
    const admitted = await stage.admit()
    expect((await pass(id, 'start_by')).expired).toBe(1)
    expect(await stage.claim(admitted)).toEqual([])
    expect(await stage.whereIs(id)).toEqual(['expired'])
  })

  it('has its deadline counted from when it is due', async () => {
    const dueAt = new Date(Date.now() + 3_600_000)
    const id = await acceptOne({ ...minute, endWithinMs: 120_000, dueAt })
    const [startBy, endBy] = await stage.value<Date[]>(
      'select array[start_by, end_by] as value from run_deadlines where run_id = $1',
      id,
    )
    expect([startBy, endBy]).toEqual([new Date(dueAt.getTime() + 60_000), new Date(dueAt.getTime() + 120_000)])
  })
})

describe('a run that has begun', () => {
  it('is left alone by a deadline for its start, also when it is tried again', async () => {
    const [run] = await stage.running(1, minute)
    expect(await pass(run?.id ?? '', 'start_by')).toEqual({ looked: 1, expired: 0 })
    expect(await deadlinesOf(run?.id ?? '')).toBe(0)
    await stage.end(run === undefined ? [] : [run])
  })

  it('expires between two tries when it had to have ended', async () => {
    const [run] = await stage.running(1, { endWithinMs: 60_000 })
    if (run === undefined) throw new Error('no run')
    await stage.retry([run], 60_000)
    expect((await pass(run.id, 'end_by')).expired).toBe(1)
    expect(await getRun(stage.ctx, run.id)).toMatchObject({ status: 'expired', error: 'end-deadline', attempt: 1 })
  })

  it('is its executor’s to stop; when that is lost, it expires', async () => {
    const [run] = await stage.running(1, { endWithinMs: 60_000 })
    if (run === undefined) throw new Error('no run')
    expect((await pass(run.id, 'end_by')).expired).toBe(0)
    expect(await deadlinesOf(run.id)).toBe(1)
    await stage.db.owner.query('update held set state = 2 where id = $1', [run.id])
    expect((await pass(run.id, 'end_by')).expired).toBe(1)
  })

  it('and has ended needs no deadline any more', async () => {
    const [run] = await stage.running(1, { ...minute, endWithinMs: 60_000 })
    await stage.end(run === undefined ? [] : [run])
    expect(await pass(run?.id ?? '', 'end_by')).toEqual({ looked: 1, expired: 0 })
    expect(await deadlinesOf(run?.id ?? '')).toBe(0)
    expect(await stage.whereIs(run?.id ?? '')).toEqual(['succeeded'])
  })
})

describe('the deadlines of a job', () => {
  const job = (more = {}) => createJob(stage.ctx, sampleJob({ startWithin: 'PT1M', endWithin: 'PT5M', ...more }))

  it('hold for its runs by hand, minding others or not, and for their replays', async () => {
    const { id: jobId } = await job()
    const plain = await prepareJobRun(stage.ctx, jobId, {})
    const minding = await acceptMinding(stage.intake, plain, 'queue-one')
    if (minding.outcome === 'refused') throw minding.error
    expect((await pass(minding.run.id, 'start_by')).expired).toBe(1)
    expect(await prepareReplay(stage.ctx, minding.run.id, {})).toMatchObject({
      startWithinMs: 60_000,
      endWithinMs: 300_000,
    })
  })

  it('hold for the runs of its schedule; the ledger says that it expired', async () => {
    const at = new Date(Date.now() + 1_000)
    const { id: jobId } = await job({ schedule: { type: 'at', at: at.toISOString() } })
    await materialise(stage.db.engine, { keyRing: stage.db.engineKeyRing, shard: 1, aheadMs: 60_000, limit: 10 })
    const runId = await stage.value<Uuid>('select run_id as value from occurrences where job_id = $1', jobId)
    expect((await pass(runId, 'start_by')).expired).toBe(1)
    const { items } = await listOccurrences(
      stage.ctx,
      jobId,
      { from: new Date(at.getTime() - 1_000), to: new Date(at.getTime() + 1_000) },
      { limit: 10 },
    )
    expect(items).toMatchObject([{ outcome: 'skipped', reason: 'expired', runId }])
  })

  it('hold for its backfills', async () => {
    const { id: jobId } = await job({ schedule: { type: 'every', every: 'PT1H', anchor: '2026-01-01T00:00:00Z' } })
    const from = new Date(Date.now() - 7_200_000)
    await createOperation(stage.ctx, { kind: 'jobs.backfill', plan: { jobId, from, to: new Date() }, rate: null })
    await stepOperation({ engine: stage.db.engine, keyRing: stage.db.keyRing, clock: stage.ctx.clock, shard: 1 })
    expect(await stage.value<number>('select count(*)::int as value from run_deadlines')).toBeGreaterThan(0)
  })
})

it('runs without deadlines leave no trace of any', async () => {
  await stage.accept({}, {})
  expect(await stage.value<number>('select count(*)::int as value from run_deadlines')).toBe(0)
})

it('in one flush those have a deadline that asked for one', async () => {
  const runs = await stage.accept({}, minute, {})
  expect(await Promise.all(runs.map((run) => deadlinesOf(run.id)))).toEqual([0, 1, 0])
})
