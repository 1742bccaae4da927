import { afterAll, beforeAll, beforeEach, expect, inject, it } from 'vitest'
import { createJob } from '../../src/job/create.ts'
import type { NewJob } from '../../src/job/job.ts'
import { materialise } from '../../src/run/materialise.ts'
import { listOccurrences, type Occurrence } from '../../src/run/occurrences.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { sampleJob } from '../../src/testing/job-samples.ts'
import { createStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())
beforeEach(async () => {
  for (const table of ['schedules', 'due', 'ready', 'held']) await stage.db.owner.query(`delete from ${table}`)
})

const waitingMax = 5
const second = 1_000
/** A job whose last `count` instants, a second apart, are due by now and not decided. */
async function jobDue(count: number, changes: Partial<NewJob> = {}): Promise<string> {
  const from = new Date(Math.floor(Date.now() / second) * second - (count - 1) * second)
  const schedule = { type: 'every', every: 'PT1S', anchor: from.toISOString() } as const
  const { id } = await createJob(stage.ctx, sampleJob({ schedule, overlap: 'allow', ...changes }))
  await stage.db.owner.query('update schedules set next_at = $2 where job_id = $1', [id, from])
  return id
}
/** Decides what is due by now, and nothing ahead. */
const write = () => materialise(stage.db.engine, { keyRing: stage.db.engineKeyRing, shard: 1, aheadMs: 0, limit: 100 })
const ledger = async (id: string): Promise<Occurrence[]> =>
  (await listOccurrences(stage.ctx, id, { from: new Date(0), to: new Date('2100-01-01') }, { limit: 200 })).items
const tally = async (id: string, of: (each: Occurrence) => boolean): Promise<number> =>
  (await ledger(id)).filter(of).reduce((sum, { count }) => sum + count, 0)
const isPending = ({ outcome }: Occurrence): boolean => outcome === 'pending'
const isRefused = ({ outcome, reason }: Occurrence): boolean => outcome === 'skipped' && reason === 'quota'

it('where as many runs wait as may, schedules start no more: skipped for that reason, told once a job, never silent', async () => {
  stage.ctx = testCtx(stage.db, await createTenant(stage.db, { waitingMax }))
  const id = await jobDue(12)
  await write()
  expect(await tally(id, isPending)).toBe(waitingMax)
  expect(await tally(id, isRefused)).toBeGreaterThanOrEqual(6)
  const other = await jobDue(3)
  await write()
  expect([await tally(other, isPending), (await tally(other, isRefused)) >= 2]).toEqual([0, true])
  const told = await stage.db.owner.query<{ data: { reason: string; count: number } }>(
    "select data from events where type = 'occurrence.skipped' and job_id = $1",
    [other],
  )
  expect(told.rows).toHaveLength(1)
  expect(told.rows[0]?.data).toMatchObject({ reason: 'quota', count: await tally(other, isRefused) })
})

it('what waits is counted from what is there: as runs begin, schedules start again', async () => {
  stage.ctx = testCtx(stage.db, await createTenant(stage.db, { waitingMax }))
  await jobDue(waitingMax)
  await write()
  await stage.claim(await stage.admit())
  expect(await stage.value('select count(*)::int as value from held')).toBeGreaterThanOrEqual(waitingMax)
  const next = await jobDue(3)
  await write()
  expect(await tally(next, isRefused)).toBe(0)
})

it('a refused instant is no run of those that a schedule may have', async () => {
  stage.ctx = testCtx(stage.db, await createTenant(stage.db, { waitingMax: 2 }))
  const id = await jobDue(8)
  await stage.db.owner.query('update schedules set runs_left = 10 where job_id = $1', [id])
  await write()
  expect(await stage.value('select runs_left as value from schedules where job_id = $1', id)).toBe(8)
})

it('a tenant without that limit, and the neighbours of one that has it, are not held up', async () => {
  stage.ctx = testCtx(stage.db, await createTenant(stage.db, { waitingMax: 1 }))
  await jobDue(10)
  stage.ctx = testCtx(stage.db, stage.tenant)
  const id = await jobDue(20)
  await write()
  expect(await tally(id, isRefused)).toBe(0)
  expect(await tally(id, isPending)).toBeGreaterThanOrEqual(20)
})
