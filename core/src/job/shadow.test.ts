import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import type { Ctx } from '../db/context.ts'
import { materialise } from '../run/materialise.ts'
import { listOccurrences } from '../run/occurrences.ts'
import { upcoming } from '../run/upcoming.ts'
import { createTenant, testCtx } from '../testing/factories.ts'
import { sampleJob, trailOf, unknownId } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { createJob } from './create.ts'
import { getJob } from './get.ts'
import type { Job } from './job.ts'
import { pauseJob, resumeJob } from './set-state.ts'
import { setJobMode } from './shadow.ts'
import { updateJob } from './update.ts'

let db: TestDb
let ctx: Ctx
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
})
beforeEach(async () => {
  ctx = testCtx(db, await createTenant(db))
})
afterAll(() => db.close())

const schedule = { type: 'every', every: 'PT1S' } as const
const make = async (): Promise<Job> => setJobMode(ctx, (await createJob(ctx, sampleJob({ schedule }))).id, 'shadow')
const look = (aheadMs = 10_000) =>
  materialise(db.engine, { keyRing: db.engineKeyRing, shard: 1, aheadMs, limit: 1_000 })

async function ledgerOf(
  id: string,
): Promise<{ nominalAt: Date; outcome: string; reason: string | null; runId: string | null }[]> {
  const range = { from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 60_000) }
  return (await listOccurrences(ctx, id, range, { limit: 200 })).items
}
const dueOf = async (id: string): Promise<number> =>
  Number((await db.owner.query<{ n: string }>('select count(*) as n from due where job_id = $1', [id])).rows[0]?.n)

describe('a job in shadow', () => {
  test('keeps its ledger and starts nothing', async () => {
    const job = await make()
    expect(job.mode).toBe('shadow')
    await look()
    const ledger = await ledgerOf(job.id)
    expect(ledger.length).toBeGreaterThan(5)
    expect(new Set(ledger.map(({ outcome, reason, runId }) => `${outcome} ${reason} ${runId}`))).toEqual(
      new Set(['skipped shadow null']),
    )
    expect(await dueOf(job.id)).toBe(0)
    expect((await getJob(ctx, job.id)).nextAt?.getTime()).toBeGreaterThan(ledger.at(-1)?.nominalAt.getTime() ?? 0)
  })

  test('is not among what will run', async () => {
    const job = await make()
    const coming = () => upcoming(ctx, { until: new Date(Date.now() + 60_000), limit: 50 })
    expect(await coming()).toEqual([])
    await setJobMode(ctx, job.id, 'live')
    expect((await coming()).length).toBeGreaterThan(0)
  })

  test('switched to live, runs at each instant from now on: none is lost, none comes twice', async () => {
    const job = await make()
    await look()
    const noted = (await ledgerOf(job.id)).map(({ nominalAt }) => nominalAt.getTime())
    await setJobMode(ctx, job.id, 'live')
    await look()
    const ledger = await ledgerOf(job.id)
    const instants = ledger.map(({ nominalAt }) => nominalAt.getTime())
    expect(instants).toEqual(expect.arrayContaining(noted))
    expect(new Set(instants).size).toBe(instants.length)
    const pending = ledger.filter(({ outcome }) => outcome === 'pending')
    expect(await dueOf(job.id)).toBe(pending.length)
    expect(pending.length).toBeGreaterThan(5)
  })

  test('switched back, takes back what was written ahead', async () => {
    const job = await make()
    await setJobMode(ctx, job.id, 'live')
    await look()
    expect(await dueOf(job.id)).toBeGreaterThan(5)
    await setJobMode(ctx, job.id, 'shadow')
    expect(await dueOf(job.id)).toBe(0)
    await look()
    expect(await dueOf(job.id)).toBe(0)
    expect((await ledgerOf(job.id)).some(({ reason }) => reason === 'shadow')).toBe(true)
  })

  test('stays in shadow through an edit, a pause, and the loss of its schedule', async () => {
    const job = await make()
    await updateJob(ctx, job.id, { schedule: { type: 'every', every: 'PT2S' } })
    await pauseJob(ctx, job.id, null)
    await resumeJob(ctx, job.id)
    await updateJob(ctx, job.id, { schedule: null })
    await updateJob(ctx, job.id, { schedule })
    expect((await getJob(ctx, job.id)).mode).toBe('shadow')
    await look()
    expect(await dueOf(job.id)).toBe(0)
  })

  test('paused, stays paused when it is switched', async () => {
    const job = await make()
    await pauseJob(ctx, job.id, null)
    await setJobMode(ctx, job.id, 'live')
    await look()
    expect(await ledgerOf(job.id)).toEqual([])
  })

  test('tells of each change once, and of none where there is none', async () => {
    const job = await make()
    await setJobMode(ctx, job.id, 'shadow')
    await setJobMode(ctx, job.id, 'live')
    const { events, actions } = await trailOf(db, job.id)
    expect(events).toEqual(['job.created', 'job.shadowed', 'job.switched'])
    expect(actions).toEqual(['job.create', 'job.set-mode', 'job.set-mode'])
  })
})

test('a job that is not there has no mode', async () => {
  await expect(setJobMode(ctx, unknownId(), 'shadow')).rejects.toMatchObject({ code: 'not-found' })
  const reader = { ...ctx, scopes: new Set(['jobs:read'] as const) }
  await expect(setJobMode(reader, unknownId(), 'shadow')).rejects.toMatchObject({ code: 'forbidden' })
})
