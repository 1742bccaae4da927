import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { createJob } from '../../src/job/create.ts'
import { deleteJob } from '../../src/job/delete.ts'
import type { NewJob } from '../../src/job/job.ts'
import { pauseJob, resumeJob } from '../../src/job/set-state.ts'
import { updateJob } from '../../src/job/update.ts'
import { editOccurrence, type OccurrenceEdit } from '../../src/run/edit-occurrence.ts'
import { type Materialised, materialise } from '../../src/run/materialise.ts'
import { listOccurrences, type Occurrence } from '../../src/run/occurrences.ts'
import { upcoming } from '../../src/run/upcoming.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { sampleJob, trailOf } from '../../src/testing/job-samples.ts'
import { createStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())
afterEach(async () => {
  for (const table of ['schedules', 'schedule_rests', 'occurrences', 'due', 'ready', 'held'])
    await stage.db.owner.query(`delete from ${table}`)
})

const minute = 60_000
const write = (aheadMs = 2_000): Promise<Materialised> =>
  materialise(stage.db.engine, { keyRing: stage.db.engineKeyRing, shard: 1, aheadMs, limit: 500 })
const ledger = async (jobId: string): Promise<Occurrence[]> =>
  (await listOccurrences(stage.ctx, jobId, { from: new Date(0), to: new Date('2100-01-01') }, { limit: 200 })).items
const dueOf = (jobId: string): Promise<string[] | null> =>
  stage.value(
    'select array_agg(round(extract(epoch from due_at) * 1000)::text order by due_at) as value from due where job_id = $1',
    jobId,
  )

/** A job that runs every minute from the next one on, and its coming instants. */
async function minutely(changes: Partial<NewJob> = {}): Promise<{ id: string; at: (index: number) => Date }> {
  const first = (Math.floor(Date.now() / minute) + 2) * minute
  const schedule = { type: 'every', every: 'PT1M', anchor: new Date(first).toISOString() } as const
  const { id } = await createJob(stage.ctx, sampleJob({ schedule, overlap: 'allow', ...changes }))
  return { id, at: (index) => new Date(first + index * minute) }
}
const edit = (jobId: string, nominalAt: Date, change: OccurrenceEdit): Promise<Occurrence> =>
  editOccurrence(stage.ctx, jobId, nominalAt, change)
const refusal = (code: string, pointer?: string) =>
  expect.objectContaining({
    code,
    ...(pointer === undefined ? {} : { extra: { errors: [expect.objectContaining({ pointer })] } }),
  })

/** Written before its time comes, or after: an edit means the same. */
describe.each([
  ['not written ahead yet', async () => undefined],
  ['written ahead', async () => void (await write(10 * minute))],
])('an occurrence that is %s', (_name, prepare) => {
  it('is skipped, told, and comes back', async () => {
    const { id, at } = await minutely()
    await prepare()
    expect(await edit(id, at(1), { skip: true, note: 'no bank' })).toMatchObject({
      outcome: 'skipped',
      reason: 'edited',
      note: 'no bank',
      runId: null,
      editedBy: `key:${stage.tenant.apiKeyId}`,
    })
    await write(4.5 * minute)
    const upTo3 = (await ledger(id)).slice(0, 3)
    expect(upTo3.map((each) => each.outcome)).toEqual(['pending', 'skipped', 'pending'])
    expect(await dueOf(id)).not.toContain(String(at(1).getTime()))
    expect(await edit(id, at(1), { skip: false })).toMatchObject({ outcome: 'pending', reason: null, note: 'no bank' })
    await write(4.5 * minute)
    expect(await dueOf(id)).toContain(String(at(1).getTime()))
    const [, back] = await ledger(id)
    expect(back).toMatchObject({ outcome: 'pending', note: 'no bank', runId: expect.any(String) })
    expect((await trailOf(stage.db, id)).actions).toEqual(['job.create', 'occurrence.edit', 'occurrence.edit'])
    expect((await trailOf(stage.db, id)).events).toEqual(['job.created', 'occurrence.edited', 'occurrence.edited'])
  })

  it.each([
    ['earlier', -90_000],
    ['later', 30_000],
  ])('is moved %s, runs then and only then, and can be moved back', async (_way, byMs) => {
    const { id, at } = await minutely()
    await prepare()
    const to = new Date(at(3).getTime() + byMs)
    expect(await edit(id, at(3), { moveTo: to })).toMatchObject({ moved: true, effectiveAt: to, outcome: 'pending' })
    await write()
    const until = new Date(at(9).getTime())
    const seen = (await upcoming(stage.ctx, { until, limit: 100 })).filter(
      (each) => each.jobId === id && each.nominalAt.getTime() === at(3).getTime(),
    )
    expect(seen.map((each) => each.effectiveAt)).toEqual([to])
    await write(10 * minute)
    const row = (await ledger(id)).find((each) => each.nominalAt.getTime() === at(3).getTime())
    expect(row).toMatchObject({ outcome: 'pending', moved: true, effectiveAt: to })
    expect((await dueOf(id))?.filter((each) => each === String(to.getTime()))).toHaveLength(1)
    expect(await dueOf(id)).not.toContain(String(at(3).getTime()))
    expect(await edit(id, at(3), { moveTo: null })).toMatchObject({ moved: false, effectiveAt: at(3) })
    await write(10 * minute)
    expect((await dueOf(id))?.filter((each) => each === String(at(3).getTime()))).toHaveLength(1)
    expect(await dueOf(id)).not.toContain(String(to.getTime()))
    const rows = await ledger(id)
    expect(new Set(rows.map((each) => each.nominalAt.getTime())).size).toBe(rows.length)
    expect(await stage.value('select count(*)::int as value from schedule_rests')).toBe(0)
  })

  it('keeps its note whatever else is edited', async () => {
    const { id, at } = await minutely()
    await prepare()
    await edit(id, at(1), { note: 'mind the gap' })
    await updateJob(stage.ctx, id, { priority: 1 })
    await write(3 * minute)
    const rows = await ledger(id)
    expect(rows[1]).toMatchObject({
      note: 'mind the gap',
      outcome: 'pending',
      runId: expect.any(String),
      jobVersion: 2,
    })
    expect(await edit(id, at(1), { note: null })).toMatchObject({ note: null, runId: rows[1]?.runId })
  })

  it('stays moved through an edit of the job, a pause, and a schedule that has the same instant', async () => {
    const { id, at } = await minutely()
    await prepare()
    const to = new Date(at(5).getTime() + 20_000)
    await edit(id, at(5), { moveTo: to })
    await edit(id, at(6), { skip: true })
    await write()
    await updateJob(stage.ctx, id, { priority: 1 })
    await write()
    expect((await dueOf(id))?.filter((each) => each === String(to.getTime()))).toHaveLength(1)
    await pauseJob(stage.ctx, id, null)
    await write()
    expect(await dueOf(id)).toBeNull()
    await resumeJob(stage.ctx, id)
    await write()
    expect((await dueOf(id))?.filter((each) => each === String(to.getTime()))).toHaveLength(1)
    const anchor = at(1).toISOString()
    await updateJob(stage.ctx, id, { schedule: { type: 'every', every: 'PT2M', anchor } })
    await write(10 * minute)
    const rows = await ledger(id)
    expect(rows.map((each) => each.nominalAt)).toEqual([1, 3, 5, 7].map(at))
    expect(rows[2]).toMatchObject({ moved: true, effectiveAt: to })
    expect((await dueOf(id))?.filter((each) => each === String(to.getTime()))).toHaveLength(1)
    const version =
      'select job_version as value from inputs i join due d on d.id = i.id where d.job_id = $1 and d.due_at = $2'
    expect(await stage.value(version, id, to)).toBe(3)
  })

  it('is gone with its job', async () => {
    const { id, at } = await minutely()
    await prepare()
    await edit(id, at(1), { moveTo: new Date(at(1).getTime() + 1_000) })
    await edit(id, at(2), { skip: true })
    await deleteJob(stage.ctx, id)
    await write(10 * minute)
    expect(await dueOf(id)).toBeNull()
    expect(await stage.value('select count(*)::int as value from occurrences where job_id = $1', id)).toBe(0)
    expect(await stage.value('select count(*)::int as value from schedule_rests')).toBe(0)
  })

  it('is one of the runs that a schedule may have, moved or not', async () => {
    const first = (Math.floor(Date.now() / minute) + 2) * minute
    const anchor = new Date(first).toISOString()
    const { id, at } = await minutely({ schedule: { type: 'every', every: 'PT1M', anchor, maxRuns: 3 } })
    if (_name === 'written ahead') await write(2.5 * minute)
    await edit(id, at(2), { moveTo: new Date(at(2).getTime() + 5_000) })
    await edit(id, at(0), { skip: true })
    await write(10 * minute)
    expect((await ledger(id)).map((each) => each.reason ?? each.outcome)).toEqual([
      'edited',
      'pending',
      'pending',
      'pending',
      'max-runs',
    ])
  })
})

describe('what is refused', () => {
  it('an instant that the schedule does not have, or too far ahead', async () => {
    const { id, at } = await minutely()
    const other = new Date(at(1).getTime() + 1_000)
    await expect(edit(id, other, { skip: true })).rejects.toEqual(refusal('not-found'))
    await expect(edit(id, new Date(at(0).getTime() - minute), { skip: true })).rejects.toEqual(refusal('not-found'))
    await expect(edit(id, at(60 * 24 * 57), { skip: true })).rejects.toEqual(refusal('validation-failed', '/nominalAt'))
  })

  it('a move into the past, or of what is skipped in the same breath, or while the job is paused', async () => {
    const { id, at } = await minutely()
    await expect(edit(id, at(1), { moveTo: new Date(0) })).rejects.toEqual(refusal('validation-failed', '/moveTo'))
    await expect(edit(id, at(1), { moveTo: at(2), skip: true })).rejects.toEqual(
      refusal('validation-failed', '/moveTo'),
    )
    await pauseJob(stage.ctx, id, null)
    await expect(edit(id, at(1), { moveTo: at(2) })).rejects.toEqual(refusal('invalid-transition'))
    expect(await edit(id, at(1), { skip: true })).toMatchObject({ outcome: 'skipped' })
  })

  it('what is due, on its way, or decided', async () => {
    const { id, at } = await minutely()
    await write(3 * minute)
    await stage.admit({ aheadMs: 3 * minute })
    await expect(edit(id, at(0), { skip: true })).rejects.toEqual(refusal('invalid-transition'))
    await write(6 * minute)
    await stage.db.owner.query(
      `update occurrences set outcome = 'missed', reason = 'catch-up' where job_id = $1 and outcome = 'pending'`,
      [id],
    )
    await expect(edit(id, at(3), { note: 'late' })).rejects.toEqual(refusal('invalid-transition'))
  })

  it("a stranger's, and without the scope", async () => {
    const { id, at } = await minutely()
    const stranger = testCtx(stage.db, await createTenant(stage.db))
    await expect(editOccurrence(stranger, id, at(1), { skip: true })).rejects.toEqual(refusal('not-found'))
    const reader = testCtx(stage.db, stage.tenant, { scopes: ['jobs:read'] })
    await expect(editOccurrence(reader, id, at(1), { skip: true })).rejects.toEqual(refusal('forbidden'))
  })
})
