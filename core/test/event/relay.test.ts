import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { eventTypes, type StoredEvent } from '../../src/event/event.ts'
import { readEvents, startPosition } from '../../src/event/read.ts'
import { advanceRelay, readRelayPosition } from '../../src/event/relay.ts'
import { createJob } from '../../src/job/create.ts'
import { acceptRuns } from '../../src/run/accept.ts'
import { cancelRun } from '../../src/run/cancel.ts'
import { recentRuns, runHistogram, successRates } from '../../src/run/stats.ts'
import { prepareJobRun } from '../../src/run/trigger.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { sampleJob, unknownId } from '../../src/testing/job-samples.ts'
import { createStage, type Stage } from '../run/stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())

const engine = () => stage.db.engine
/** One relay's pass, as the role makes it; it dies before it moves on when told so. */
async function pass(name: string, limit = 50, diesBeforeMoving = false): Promise<number> {
  const from = await readRelayPosition(engine(), name)
  const events = await readEvents(engine(), from, limit)
  if (events.length === 0 || diesBeforeMoving) return events.length
  await advanceRelay(engine(), name, from, events)
  return events.length
}
async function drain(name: string): Promise<void> {
  while ((await pass(name)) > 0);
}
const counted = (tenantId = stage.ctx.tenantId): Promise<Record<string, number>> =>
  stage.db.owner
    .query<{ state: number; n: number }>(
      'select state, sum(count)::int n from run_minutes where tenant_id = $1 group by 1',
      [tenantId],
    )
    .then((result) => Object.fromEntries(result.rows.map((row) => [String(row.state), row.n])))
const hour = () => ({ from: new Date(Date.now() - 1_800_000), to: new Date(Date.now() + 1_800_000), buckets: 6 })

async function someRuns(succeed: number, fail: number, cancel: number): Promise<void> {
  const claimed = await stage.running(succeed + fail + cancel)
  await stage.end(claimed.slice(0, succeed))
  await stage.end(claimed.slice(succeed, succeed + fail), 'failed')
  for (const run of claimed.slice(succeed + fail)) await cancelRun(stage.ctx, run.id)
}

describe('the relay', () => {
  it('starts at the beginning and moves on behind what was told', async () => {
    expect(await readRelayPosition(engine(), 'fresh')).toBe('0-0')
    await someRuns(1, 0, 0)
    const events = await readEvents(engine(), '0-0', 2)
    expect(await advanceRelay(engine(), 'fresh', '0-0', events)).toBe(true)
    expect(await readRelayPosition(engine(), 'fresh')).toBe(events.at(-1)?.position)
    expect(await advanceRelay(engine(), 'fresh', '0-0', [])).toBe(true)
  })

  it('counts each event once, though relays die before they move on and others race them', async () => {
    await drain('live')
    await stage.db.owner.query('delete from run_minutes')
    await stage.db.owner.query('delete from job_hours')
    await someRuns(30, 20, 10)
    const relays = Array.from({ length: 5 }, async (_, index) => {
      for (let round = 0; round < 40; round++) await pass('live', 3 + index, (round + index) % 3 === 0)
    })
    await Promise.all(relays)
    await drain('live')
    expect(await counted()).toEqual({ 4: 30, 5: 20, 6: 10 })
  })

  it('of two that tell the same batch one moves on; the other is told that it did not', async () => {
    await someRuns(3, 0, 0)
    const from = await readRelayPosition(engine(), 'live')
    const events = await readEvents(engine(), from, 100)
    const before = await counted()
    const moves = await Promise.all(Array.from({ length: 8 }, () => advanceRelay(engine(), 'live', from, events)))
    expect(moves.filter(Boolean)).toHaveLength(1)
    expect((await counted())['4']).toBe((before['4'] ?? 0) + 3)
  })

  it('puts each end into its minute and each end of a job into its hour', async () => {
    await drain('live')
    const other = await createTenant(stage.db)
    const job = unknownId()
    const event = (
      type: StoredEvent['type'],
      at: string,
      jobId: string | null = null,
      projectId: string | null = other.projectId,
    ): StoredEvent => ({
      position: '1-1',
      tenantId: other.tenantId,
      projectId,
      type,
      subject: unknownId(),
      jobId,
      at: new Date(at),
      data: null,
    })
    const from = await readRelayPosition(engine(), 'clock')
    await advanceRelay(engine(), 'clock', from, [
      event('run.succeeded', '2026-03-29T00:59:59.999Z', job),
      event('run.succeeded', '2026-03-29T01:00:00.000Z', job),
      event('run.failed', '2026-03-29T01:00:59.999Z', job),
      event('run.skipped', '2026-03-29T01:00:00.000Z'),
      event('run.expired', '2026-03-29T01:00:00.000Z'),
      event('run.created', '2026-03-29T01:00:00.000Z', job),
      event('run.retrying', '2026-03-29T01:00:00.000Z', job),
      event('run.rescued', '2026-03-29T01:00:00.000Z', job),
      event('job.created', '2026-03-29T01:00:00.000Z', job),
      event('run.failed', '2026-03-29T01:00:00.000Z', null, null),
    ])
    const minutes = await stage.db.owner.query(
      'select minute, state, count from run_minutes where tenant_id = $1 order by 1, 2',
      [other.tenantId],
    )
    expect(minutes.rows).toEqual([
      { minute: new Date('2026-03-29T00:59:00Z'), state: 4, count: 1 },
      { minute: new Date('2026-03-29T01:00:00Z'), state: 4, count: 1 },
      { minute: new Date('2026-03-29T01:00:00Z'), state: 5, count: 1 },
      { minute: new Date('2026-03-29T01:00:00Z'), state: 7, count: 1 },
      { minute: new Date('2026-03-29T01:00:00Z'), state: 8, count: 1 },
    ])
    const hours = await stage.db.owner.query(
      'select hour, state, count from job_hours where job_id = $1 order by 1, 2',
      [job],
    )
    expect(hours.rows).toEqual([
      { hour: new Date('2026-03-29T00:00:00Z'), state: 4, count: 1 },
      { hour: new Date('2026-03-29T01:00:00Z'), state: 4, count: 1 },
      { hour: new Date('2026-03-29T01:00:00Z'), state: 5, count: 1 },
    ])
    const ctx = testCtx(stage.db, other)
    const histogram = await runHistogram(ctx, {
      from: new Date('2026-03-29T00:00:00Z'),
      to: new Date('2026-03-29T02:00:00Z'),
      buckets: 4,
    })
    expect(histogram.map((bucket) => bucket.counts)).toEqual([
      {},
      { succeeded: 1 },
      { succeeded: 1, failed: 1, expired: 1, skipped: 1 },
      {},
    ])
    expect(histogram.map((bucket) => bucket.to.getTime() - bucket.from.getTime())).toEqual([
      1_800_000, 1_800_000, 1_800_000, 1_800_000,
    ])
    expect(await successRates(ctx, [job, unknownId()], new Date('2026-03-29T01:00:00Z'))).toEqual(
      new Map([[job, { succeeded: 1, failed: 1 }]]),
    )
  })

  it('of all facts there are counts only the ends of runs', async () => {
    const other = await createTenant(stage.db)
    const events = eventTypes.map(
      (type): StoredEvent => ({
        position: '1-1',
        tenantId: other.tenantId,
        projectId: other.projectId,
        type,
        subject: unknownId(),
        jobId: null,
        at: new Date(),
        data: null,
      }),
    )
    await advanceRelay(engine(), 'every', '0-0', events)
    expect(await counted(other.tenantId)).toEqual({ 4: 1, 5: 1, 6: 1, 7: 1, 8: 1 })
  })

  it('is behind nothing that was written while it read', async () => {
    const start = await startPosition(stage.ctx)
    await advanceRelay(engine(), 'edge', '0-0', [
      {
        position: start,
        tenantId: stage.ctx.tenantId,
        projectId: null,
        type: 'job.created',
        subject: null,
        jobId: null,
        at: new Date(),
        data: null,
      },
    ])
    const [run] = await stage.accept({})
    const seen = await readEvents(engine(), await readRelayPosition(engine(), 'edge'), 1_000)
    expect(seen.map((event) => event.subject)).toContain(run?.id)
  })
})

describe('pictures of time', () => {
  it('show a tenant its own project only', async () => {
    await someRuns(2, 1, 0)
    await drain('live')
    const total = (histogram: Awaited<ReturnType<typeof runHistogram>>): number =>
      histogram.reduce((sum, bucket) => sum + Object.values(bucket.counts).reduce((all, n) => all + n, 0), 0)
    expect(total(await runHistogram(stage.ctx, hour()))).toBeGreaterThan(2)
    const stranger = testCtx(stage.db, await createTenant(stage.db))
    expect(total(await runHistogram(stranger, hour()))).toBe(0)
    expect(total(await runHistogram({ ...stage.ctx, projectId: stranger.projectId }, hour()))).toBe(0)
  })

  it('the last runs of jobs come newest first, as many as asked', async () => {
    const job = await createJob(stage.ctx, sampleJob())
    const idle = await createJob(stage.ctx, sampleJob())
    const rows = await Promise.all(Array.from({ length: 4 }, () => prepareJobRun(stage.ctx, job.id, {})))
    const results = await acceptRuns(stage.intake, rows, false)
    expect(results.every((result) => result.outcome === 'accepted')).toBe(true)
    const claimed = await stage.claim(await stage.admit())
    const mine = claimed.filter((run) => run.jobId === job.id)
    await stage.end(mine.slice(0, 3))
    await stage.end(mine.slice(3), 'failed')
    const recent = await recentRuns(stage.ctx, [job.id, idle.id], 3)
    expect(recent.get(idle.id)).toEqual([])
    expect(recent.get(job.id)?.map((run) => run.id)).toEqual(
      rows
        .map((row) => row.id)
        .toSorted()
        .toReversed()
        .slice(0, 3),
    )
    expect(recent.get(job.id)?.every((run) => run.durationMs === 5 && run.finishedAt instanceof Date)).toBe(true)
    await drain('live')
    expect(await successRates(stage.ctx, [job.id], new Date(Date.now() - 3_600_000))).toEqual(
      new Map([[job.id, { succeeded: 3, failed: 1 }]]),
    )
  })

  it('take the scope that goes with them', async () => {
    const blind = testCtx(stage.db, stage.tenant, { scopes: ['queues:read'] })
    for (const read of [
      () => runHistogram(blind, hour()),
      () => recentRuns(blind, [], 1),
      () => successRates(blind, [], new Date()),
    ] as (() => Promise<unknown>)[]) {
      expect(read).toThrow(expect.objectContaining({ code: 'forbidden' }))
    }
  })
})
