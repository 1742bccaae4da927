import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createJob } from '../../src/job/create.ts'
import { pauseJob } from '../../src/job/set-state.ts'
import { materialise } from '../../src/run/materialise.ts'
import { listOccurrences, type Occurrence } from '../../src/run/occurrences.ts'
import { openCounts } from '../../src/run/stats.ts'
import { upcoming } from '../../src/run/upcoming.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { sampleJob, unknownId } from '../../src/testing/job-samples.ts'
import { createStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())

const hour = 3_600_000
const hourly = (name = 'hourly') =>
  createJob(stage.ctx, sampleJob({ name, schedule: { type: 'every', every: 'PT1H' } }))
const write = (aheadMs: number) =>
  materialise(stage.db.engine, { keyRing: stage.db.engineKeyRing, shard: 1, aheadMs, limit: 500 })

describe('the ledger of a job', () => {
  it('comes page by page, oldest first, its beginning in and its end out', async () => {
    const job = await hourly()
    await write(10 * hour + 60_000)
    const range = { from: new Date(0), to: new Date('2100-01-01') }
    const { items: all } = await listOccurrences(stage.ctx, job.id, range, { limit: 200 })
    expect(all.length).toBeGreaterThanOrEqual(10)
    for (const limit of [1, 3, all.length]) {
      const seen: Occurrence[] = []
      let cursor: string | undefined
      do {
        const page = await listOccurrences(stage.ctx, job.id, range, { limit, cursor })
        seen.push(...page.items)
        cursor = page.nextCursor ?? undefined
      } while (cursor !== undefined)
      expect(seen).toEqual(all)
    }
    const part = await listOccurrences(
      stage.ctx,
      job.id,
      { from: all[2]?.nominalAt ?? range.from, to: all[5]?.nominalAt ?? range.to },
      { limit: 200 },
    )
    expect(part.items).toEqual(all.slice(2, 5))
    expect(all[0]).toMatchObject({
      jobId: job.id,
      outcome: 'pending',
      reason: null,
      caughtUp: false,
      jobVersion: 1,
      decidedAt: null,
    })
    expect(all[0]?.tzVersion).toMatch(/^\d{4}[a-z]/)
  })

  it("of a stranger's job is not found; a cursor of another list is refused", async () => {
    const job = await hourly()
    const range = { from: new Date(0), to: new Date('2100-01-01') }
    const stranger = testCtx(stage.db, await createTenant(stage.db))
    await expect(listOccurrences(stranger, job.id, range, { limit: 5 })).rejects.toMatchObject({ code: 'not-found' })
    await expect(
      listOccurrences({ ...stage.ctx, projectId: stranger.projectId }, job.id, range, { limit: 5 }),
    ).rejects.toMatchObject({ code: 'not-found' })
    await expect(listOccurrences(stage.ctx, unknownId(), range, { limit: 5 })).rejects.toMatchObject({
      code: 'not-found',
    })
    for (const cursor of [
      'x',
      Buffer.from('12; drop').toString('base64url'),
      Buffer.from('9'.repeat(16)).toString('base64url'),
    ]) {
      await expect(listOccurrences(stage.ctx, job.id, range, { limit: 5, cursor })).rejects.toMatchObject({
        code: 'malformed-request',
      })
    }
    expect(() => listOccurrences(testCtx(stage.db, stage.tenant, { scopes: [] }), job.id, range, { limit: 5 })).toThrow(
      expect.objectContaining({ code: 'forbidden' }),
    )
  })
})

describe('what comes next', () => {
  it('is the instants of all schedules in order, with those that are written ahead, without paused ones', async () => {
    const ctx = testCtx(stage.db, await createTenant(stage.db))
    const first = await createJob(ctx, sampleJob({ name: 'first', schedule: { type: 'every', every: 'PT1H' } }))
    const second = await createJob(ctx, sampleJob({ name: 'second', schedule: { type: 'every', every: 'PT25M' } }))
    const paused = await createJob(ctx, sampleJob({ name: 'paused', schedule: { type: 'every', every: 'PT10M' } }))
    await pauseJob(ctx, paused.id, null)
    await createJob(ctx, sampleJob({ name: 'unscheduled' }))
    await write(90 * 60_000)
    const until = new Date(Date.now() + 3 * hour)
    const next = await upcoming(ctx, { until, limit: 50 })
    expect(new Set(next.map((each) => each.jobName))).toEqual(new Set(['first', 'second']))
    expect(next.filter((each) => each.jobId === first.id).length).toBeGreaterThanOrEqual(2)
    expect(next.filter((each) => each.jobId === second.id).length).toBeGreaterThanOrEqual(6)
    const instants = next.map((each) => each.nominalAt.getTime())
    expect(instants).toEqual(instants.toSorted((a, b) => a - b))
    expect(new Set(next.map((each) => `${each.jobId}${each.nominalAt.getTime()}`)).size).toBe(next.length)
    expect(next.every((each) => each.nominalAt <= until && each.nominalAt.getTime() > Date.now() - 60_000)).toBe(true)
    expect(await upcoming(ctx, { until, limit: 2 })).toEqual(next.slice(0, 2))
  })
})

describe('open runs', () => {
  it('are counted by state, for the project', async () => {
    const ctx = testCtx(stage.db, await createTenant(stage.db))
    await stage.db.owner.query('delete from ready')
    await stage.acceptAs(ctx, { dueAt: new Date(Date.now() + hour) }, {}, {}, {}, {}, {})
    const admitted = (await stage.admit({ capacity: 3 })).filter((run) => run[0] === ctx.tenantId)
    await stage.claim(admitted.slice(0, 1))
    expect(await openCounts(ctx)).toEqual({
      scheduled: 1,
      ready: 5 - admitted.length,
      queued: admitted.length - 1,
      running: 1,
    })
    expect(await openCounts(testCtx(stage.db, await createTenant(stage.db)))).toEqual({
      scheduled: 0,
      ready: 0,
      queued: 0,
      running: 0,
    })
  })
})
