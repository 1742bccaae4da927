import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { createJob } from '../../src/job/create.ts'
import type { NewJob } from '../../src/job/job.ts'
import { updateJob } from '../../src/job/update.ts'
import { type Materialised, materialise, nextScheduleMs } from '../../src/run/materialise.ts'
import { listOccurrences } from '../../src/run/occurrences.ts'
import { sampleJob } from '../../src/testing/job-samples.ts'
import { createStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())
afterEach(async () => {
  for (const table of ['schedules', 'occurrences', 'due', 'ready', 'held'])
    await stage.db.owner.query(`delete from ${table}`)
})

const second = 1_000
const minute = 60 * second
const write = (aheadMs = 2_000, limit = 500): Promise<Materialised> =>
  materialise(stage.db.engine, { keyRing: stage.db.engineKeyRing, shard: 1, aheadMs, limit })
const drain = async (): Promise<void> => {
  while ((await write()).isFull);
}
/** A job whose schedule stands at an instant that is `lateMs` ago. */
async function jobAt(
  lateMs: number,
  every: string,
  changes: Partial<NewJob> = {},
): Promise<{ id: string; from: number }> {
  const from = Math.floor((Date.now() - lateMs) / second) * second
  const anchor = new Date(from).toISOString()
  const job = await createJob(stage.ctx, sampleJob({ schedule: { type: 'every', every, anchor }, ...changes }))
  await stage.db.owner.query('update schedules set next_at = $2 where job_id = $1', [job.id, anchor])
  return { id: job.id, from }
}
const ledger = (jobId: string) =>
  listOccurrences(stage.ctx, jobId, { from: new Date(0), to: new Date('2100-01-01') }, { limit: 200 }).then(
    (page) => page.items,
  )
const outcomes = async (jobId: string): Promise<Record<string, number>> =>
  Object.fromEntries(
    (
      await stage.db.owner.query<{ outcome: string; count: number }>(
        "select outcome || case when caught_up then ' late' else '' end as outcome, sum(count)::int as count from occurrences where job_id = $1 group by 1",
        [jobId],
      )
    ).rows.map((row) => [row.outcome, row.count]),
  )

describe('the catch-up rule one', () => {
  it('three hours down: one run makes up for all, every instant is in the ledger, and the missed ones are told', async () => {
    const { id } = await jobAt(180 * minute + 20 * second, 'PT1M')
    const result = await write()
    expect(result).toMatchObject({ schedules: 1, missed: 179, broken: [], isFull: false })
    const found = await outcomes(id)
    expect(found).toMatchObject({ missed: 179, 'pending late': 1, pending: 1 })
    const told = await stage.value<{ count: number; from: string }>(
      "select data as value from events where job_id = $1 and type = 'occurrence.missed'",
      id,
    )
    expect(told.count).toBe(179)
    const [shared] = await ledger(id)
    expect(shared).toMatchObject({ outcome: 'missed', reason: 'catch-up', runId: null, count: 179 })
    expect(shared?.decidedAt).not.toBeNull()
  })

  it('an outage of days is a few rows of the ledger, which lose and double nothing', async () => {
    const { id, from } = await jobAt(90_000 * second, 'PT1S')
    await drain()
    const { missed = 0, 'pending late': caughtUp, pending = 0 } = await outcomes(id)
    expect(caughtUp).toBe(1)
    expect(missed).toBeGreaterThan(89_900)
    const rows = await ledger(id)
    expect(rows.length).toBeLessThan(200)
    let next = from
    for (const { nominalAt, untilAt, count } of rows) {
      expect(nominalAt.getTime()).toBe(next)
      expect(untilAt.getTime()).toBe(next + (count - 1) * second)
      next = untilAt.getTime() + second
    }
    expect(missed + pending + 1).toBe((next - from) / second)
  })

  it('one that is far behind does not keep the others waiting', async () => {
    await jobAt(10_000_000 * second, 'PT1S')
    const { id } = await jobAt(0, 'PT1H')
    const first = await write()
    expect(first.isFull).toBe(true)
    expect(await outcomes(id)).toEqual({ pending: 1 })
  })
})

describe('writing ahead', () => {
  it('writes the occurrence, its run and its next instant in one go', async () => {
    const { id, from } = await jobAt(0, 'PT1H')
    const result = await write()
    expect(result).toMatchObject({ schedules: 1, runs: 1, missed: 0 })
    expect(result.wakes.get(1)).toBe(from)
    const [occurrence] = await ledger(id)
    expect(occurrence).toMatchObject({
      nominalAt: new Date(from),
      outcome: 'pending',
      jobVersion: 1,
      caughtUp: false,
      decidedAt: null,
    })
    expect(await stage.whereIs(occurrence?.runId ?? '')).toEqual(['due'])
    expect(await nextScheduleMs(stage.db.engine, 1)).toBe(from + 3_600_000)
    expect(await write()).toMatchObject({ schedules: 0, runs: 0 })
  })

  it('an anchor between two seconds keeps its milliseconds, also beyond 2038', async () => {
    const { id } = await jobAt(0, 'PT1H')
    const at = '2039-06-01T00:00:00.123Z'
    await stage.db.owner.query(`update schedules set next_at = $2, spec = spec || $3 where job_id = $1`, [
      id,
      at,
      { anchor: at },
    ])
    expect(await nextScheduleMs(stage.db.engine, 1)).toBe(Date.parse(at))
    const ahead = Date.parse(at) - Date.now() + 1_000
    await write(ahead)
    expect((await ledger(id)).map((each) => each.nominalAt.toISOString())).toEqual([at])
    expect(await nextScheduleMs(stage.db.engine, 1)).toBe(Date.parse(at) + 3_600_000)
  })

  it('four schedulers at once write each instant once', async () => {
    const ids = []
    for (let index = 0; index < 20; index++) ids.push((await jobAt(10 * second, 'PT1S', { overlap: 'allow' })).id)
    const results = await Promise.all(
      Array.from({ length: 4 }, async () => [await write(2_000, 5), await write(2_000, 5), await write(2_000, 5)]),
    )
    await drain()
    const written = results.flat().reduce((sum, result) => sum + result.runs, 0)
    expect(written).toBeGreaterThan(0)
    for (const id of ids) {
      const instants = (await ledger(id)).map((each) => each.nominalAt.getTime())
      expect(instants.length).toBeGreaterThanOrEqual(10)
      expect(new Set(instants).size).toBe(instants.length)
      expect(instants.at(-1)).toBe((instants[0] ?? 0) + (instants.length - 1) * second)
      expect(await stage.value('select count(*)::int as value from due where job_id = $1', id)).toBe(instants.length)
    }
  })

  it('a schedule that another scheduler works on is passed over, not waited for', async () => {
    const { id } = await jobAt(0, 'PT1H')
    const client = await stage.db.engine.connect()
    await client.query('begin')
    await client.query('select from schedules where job_id = $1 for update', [id])
    expect(await write()).toMatchObject({ schedules: 0 })
    await client.query('rollback')
    client.release()
    expect(await write()).toMatchObject({ schedules: 1, runs: 1 })
  })

  it('written again after its next instant was set back, an instant keeps the outcome it has', async () => {
    const { id, from } = await jobAt(0, 'PT1H')
    await write()
    const [before] = await ledger(id)
    await stage.admit()
    await stage.db.owner.query('update schedules set next_at = $2 where job_id = $1', [id, new Date(from)])
    expect(await write()).toMatchObject({ schedules: 1, runs: 0 })
    expect(await ledger(id)).toMatchObject([{ runId: before?.runId, outcome: 'run' }])
    expect(await nextScheduleMs(stage.db.engine, 1)).toBe(from + 3_600_000)
  })

  it('a schedule that is over has no next instant', async () => {
    const at = new Date(Date.now() + 1_500)
    const job = await createJob(stage.ctx, sampleJob({ schedule: { type: 'at', at: at.toISOString() } }))
    expect(await write()).toMatchObject({ runs: 1 })
    expect(await stage.value('select next_at as value from schedules where job_id = $1', job.id)).toBeNull()
    expect(await nextScheduleMs(stage.db.engine, 1)).toBeNull()
    expect(await write()).toMatchObject({ schedules: 0 })
  })

  it("a schedule that can't be computed blocks nobody, is told once, and is back at once when it is edited", async () => {
    const broken = await jobAt(minute, 'PT1H')
    await stage.db.owner.query(
      `update schedules set spec = '{"type":"cron","cron":"0 0 * * *","timezone":"Mars/Olympus"}' where job_id = $1`,
      [broken.id],
    )
    const good = await jobAt(0, 'PT1H')
    const first = await write(2_000, 1)
    expect(first.broken).toMatchObject([{ jobId: broken.id }])
    expect(await write(2_000, 1)).toMatchObject({ schedules: 1, runs: 1, broken: [] })
    expect(await outcomes(good.id)).toEqual({ pending: 1 })
    expect(await write()).toMatchObject({ schedules: 0, broken: [] })
    expect(await outcomes(broken.id)).toEqual({})
    await updateJob(stage.ctx, broken.id, { schedule: { type: 'every', every: 'PT1S' } })
    await write(5_000)
    expect((await outcomes(broken.id)).pending).toBeGreaterThan(0)
  })

  it('a failure in the middle writes nothing, and the connection is sound', async () => {
    const { id } = await jobAt(0, 'PT1H')
    await stage.db.owner.query('revoke insert on due from meridian_engine')
    try {
      await expect(write()).rejects.toMatchObject({ code: '42501' })
    } finally {
      await stage.db.owner.query('grant insert on due to meridian_engine')
    }
    expect(await ledger(id)).toEqual([])
    expect(await write()).toMatchObject({ runs: 1 })
  })
})
