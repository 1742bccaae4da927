import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { createCalendar } from '../../src/calendar/create.ts'
import { createJob } from '../../src/job/create.ts'
import { deleteJob } from '../../src/job/delete.ts'
import { getJob } from '../../src/job/get.ts'
import type { NewJob } from '../../src/job/job.ts'
import { pauseJob, resumeJob } from '../../src/job/set-state.ts'
import { updateJob } from '../../src/job/update.ts'
import { type Materialised, materialise } from '../../src/run/materialise.ts'
import { listOccurrences, type Occurrence } from '../../src/run/occurrences.ts'
import { upcoming } from '../../src/run/upcoming.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { sampleJob } from '../../src/testing/job-samples.ts'
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

const second = 1_000
const minute = 60 * second
const write = (aheadMs = 2_000): Promise<Materialised> =>
  materialise(stage.db.engine, { keyRing: stage.db.engineKeyRing, shard: 1, aheadMs, limit: 500 })
const drain = async (): Promise<void> => {
  while ((await write()).isFull);
}
const nowMs = (): number => Math.floor(Date.now() / second) * second

/** A job whose schedule stands at an instant that is `lateMs` ago. */
async function jobAt(
  lateMs: number,
  every: string,
  changes: Partial<NewJob> = {},
): Promise<{ id: string; from: number }> {
  const from = nowMs() - lateMs
  const anchor = new Date(from).toISOString()
  const job = await createJob(stage.ctx, sampleJob({ schedule: { type: 'every', every, anchor }, ...changes }))
  await stage.db.owner.query('update schedules set next_at = $2 where job_id = $1', [job.id, anchor])
  return { id: job.id, from }
}
const ledger = async (jobId: string, from = 0): Promise<Occurrence[]> =>
  (await listOccurrences(stage.ctx, jobId, { from: new Date(from), to: new Date('2100-01-01') }, { limit: 200 })).items
/** Rows as `outcome(reason) x count`. */
const words = (rows: Occurrence[]): string[] =>
  rows.map(({ outcome, reason, count }) => `${outcome}${reason ? `(${reason})` : ''}${count > 1 ? ` x${count}` : ''}`)

/** Every instant of the step from `from` on is in the ledger exactly once, up to where it ends. */
function assertWhole(rows: Occurrence[], from: number, stepMs: number): void {
  let next = from
  for (const { nominalAt, untilAt, count } of rows) {
    expect(nominalAt.getTime()).toBe(next)
    expect(untilAt.getTime()).toBe(next + (count - 1) * stepMs)
    next = untilAt.getTime() + stepMs
  }
}

describe('what a job does not decide itself is told all the same', () => {
  it('a pause: what passed meanwhile is skipped, in one row, and the schedule goes on from now', async () => {
    const { id, from } = await jobAt(30_000 * second, 'PT1S')
    await pauseJob(stage.ctx, id, 'a month off')
    await drain()
    expect(await ledger(id)).toEqual([])
    await resumeJob(stage.ctx, id)
    await drain()
    const rows = await ledger(id)
    expect(words(rows)[0]).toMatch(/^skipped\(paused\) x30\d\d\d$/)
    expect(rows.filter((each) => each.outcome === 'missed')).toEqual([])
    assertWhole(rows, from, second)
  })

  it('a pause takes back what was written ahead, and the ledger has it as skipped', async () => {
    const { id } = await jobAt(0, 'PT1S', { overlap: 'allow' })
    await write(3_000)
    await pauseJob(stage.ctx, id, null)
    expect(await stage.admit({ aheadMs: 60_000 })).toEqual([])
    await resumeJob(stage.ctx, id)
    await drain()
    expect(words(await ledger(id))[0]).toMatch(/^skipped\(paused\)/)
  })

  it('an edit that changes the schedule: what was due before is decided as it was then', async () => {
    const { id, from } = await jobAt(10 * minute, 'PT1M')
    const anchor = new Date(nowMs() + minute).toISOString()
    await updateJob(stage.ctx, id, { schedule: { type: 'every', every: 'PT1S', anchor } })
    await drain()
    const rows = await ledger(id)
    expect(words(rows).slice(0, 2)).toEqual(['missed(catch-up) x9', 'pending'])
    expect(rows[1]).toMatchObject({ caughtUp: true, jobVersion: 1 })
    assertWhole(rows, from, minute)
    expect((await getJob(stage.ctx, id)).nextAt?.toISOString()).toBe(anchor)
  })

  it('while it is paused too', async () => {
    const { id } = await jobAt(10 * minute, 'PT1M')
    await pauseJob(stage.ctx, id, null)
    await updateJob(stage.ctx, id, { schedule: { type: 'every', every: 'PT1H' } })
    await drain()
    expect(words(await ledger(id))).toEqual(['skipped(paused) x11'])
  })

  it('a delete, or the end of the schedule: what was due is skipped, and nothing starts any more', async () => {
    const deleted = await jobAt(10 * minute, 'PT1M')
    const ended = await jobAt(10 * minute, 'PT1M')
    await updateJob(stage.ctx, ended.id, { schedule: null })
    await deleteJob(stage.ctx, deleted.id)
    expect((await write()).runs).toBe(0)
    expect(words(await ledger(ended.id))).toEqual(['skipped(removed) x11'])
    expect(await stage.value('select sum(count)::int as value from occurrences where job_id = $1', deleted.id)).toBe(11)
    expect(await stage.value('select count(*)::int as value from schedule_rests')).toBe(0)
  })

  it('a schedule that was set back goes over what is decided, and doubles nothing', async () => {
    const { id, from } = await jobAt(30 * minute, 'PT1M', { overlap: 'allow' })
    await drain()
    const before = await ledger(id)
    await stage.db.owner.query('update schedules set next_at = $2 where job_id = $1', [id, new Date(from)])
    await drain()
    expect(await ledger(id)).toEqual(before)
    expect(await stage.value('select revisits as value from schedules where job_id = $1', id)).toBe(false)
  })

  it('a row that reaches into a range is in its list', async () => {
    const { id, from } = await jobAt(30 * minute, 'PT1M')
    await drain()
    expect(words(await ledger(id, from + 10 * minute))[0]).toBe('missed(catch-up) x29')
    expect(words(await ledger(id, from + 29 * minute))[0]).toBe('pending')
  })
})

describe('catch-up', () => {
  it('skip: nothing is made up for', async () => {
    const { id } = await jobAt(180 * minute + 20 * second, 'PT1M', { catchUp: 'skip' })
    await drain()
    expect(words(await ledger(id))).toEqual(['missed(catch-up) x180', 'pending'])
  })

  it('all: exactly as many as asked for, oldest first, one after the other, the rest told as missed', async () => {
    const { id } = await jobAt(180 * minute + 20 * second, 'PT1M', { catchUp: 'all', catchUpMax: 100 })
    await drain()
    const rows = await ledger(id)
    expect(words(rows)[0]).toBe('missed(catch-up) x80')
    const caughtUp = rows.filter((each) => each.caughtUp)
    expect(caughtUp).toHaveLength(100)
    const order: number[] = []
    for (let round = 0; round < 110; round++) {
      const claimed = await stage.claim(await stage.admit({ aheadMs: 60_000 }))
      expect(claimed.length).toBeLessThanOrEqual(1)
      order.push(...claimed.map((run) => run.nominalAtMs ?? 0))
      await stage.end(claimed)
    }
    const instants = caughtUp.map((each) => each.nominalAt.getTime())
    expect(order.filter((at) => instants.includes(at))).toEqual(instants)
  })
})

describe('where an instant goes', () => {
  it('a window moves its start; the ledger, the run and the picture of the future have both instants', async () => {
    const from = nowMs()
    const schedule = { type: 'every', every: 'PT1H', anchor: new Date(from).toISOString(), window: 'PT30M' } as const
    const { id } = await createJob(stage.ctx, sampleJob({ schedule }))
    const until = new Date(from + 4 * 60 * minute)
    const seen = await upcoming(stage.ctx, { until, limit: 10 })
    await write(70 * minute)
    const [row] = await ledger(id)
    const delayMs = (row?.effectiveAt.getTime() ?? 0) - (row?.nominalAt.getTime() ?? 0)
    expect(delayMs).toBeGreaterThan(0)
    expect(delayMs).toBeLessThan(30 * minute)
    expect(await stage.value('select due_at as value from due where job_id = $1', id)).toEqual(row?.effectiveAt)
    for (const each of seen) expect(each.effectiveAt.getTime() - each.nominalAt.getTime()).toBe(delayMs)
    expect(await upcoming(stage.ctx, { until, limit: 10 })).toEqual(seen)
  })

  it('a calendar skips, or rolls back ahead of time', async () => {
    const today = new Date(nowMs()).toISOString().slice(0, 10)
    const ctx = testCtx(stage.db, await createTenant(stage.db))
    await createCalendar(ctx, { name: 'today', dates: [today] })
    const schedule = { type: 'every', every: 'PT24H', timezone: 'UTC' } as const
    const anchor = new Date(nowMs() + second).toISOString()
    const skipped = await createJob(ctx, sampleJob({ schedule: { ...schedule, anchor, notOn: ['today'] } }))
    const rolled = await createJob(
      ctx,
      sampleJob({
        schedule: {
          type: 'at',
          at: new Date(nowMs() + 10 * 86_400_000).toISOString(),
          timezone: 'UTC',
          onlyOn: ['today'],
          roll: 'previous',
        },
      }),
    )
    await write()
    const rowsOf = async (id: string) =>
      (await listOccurrences(ctx, id, { from: new Date(0), to: new Date('2100-01-01') }, { limit: 9 })).items
    expect(words(await rowsOf(skipped.id))).toEqual(['skipped(calendar)'])
    const [row] = await rowsOf(rolled.id)
    expect(row).toMatchObject({ outcome: 'pending' })
    expect(row?.effectiveAt.toISOString().slice(0, 10)).toBe(today)
  })

  it('a calendar that does not exist is refused where it is named', async () => {
    const job = sampleJob({ schedule: { type: 'every', every: 'PT1H', notOn: ['nowhere'] } })
    await expect(createJob(stage.ctx, job)).rejects.toMatchObject({
      code: 'validation-failed',
      extra: { errors: [{ pointer: '/schedule/notOn/0' }] },
    })
  })
})

describe('a schedule that ends after so many runs', () => {
  const schedule = (from: number) =>
    ({ type: 'every', every: 'PT1S', maxRuns: 3, anchor: new Date(from).toISOString() }) as const

  it('ends, and says so in the ledger; an edit of something else counts nothing twice', async () => {
    const from = nowMs() + second
    const { id } = await createJob(stage.ctx, sampleJob({ schedule: schedule(from), overlap: 'allow' }))
    await write(1_500)
    await updateJob(stage.ctx, id, { priority: 1 })
    await write(10_000)
    expect(words(await ledger(id))).toEqual(['pending', 'pending', 'pending', 'skipped(max-runs)'])
    expect((await getJob(stage.ctx, id)).nextAt).toBeNull()
    await updateJob(stage.ctx, id, { priority: 2 })
    await write(10_000)
    expect(words(await ledger(id))).toEqual(['pending', 'pending', 'pending', 'skipped(max-runs)'])
    expect((await write(20_000)).schedules).toBe(0)
  })

  it('what passed during a pause is no run', async () => {
    const { id } = await createJob(
      stage.ctx,
      sampleJob({ schedule: schedule(nowMs() - 7_200 * second), overlap: 'allow' }),
    )
    await write(10_000)
    await pauseJob(stage.ctx, id, null)
    await stage.db.owner.query("update schedules set next_at = next_at - interval '1 hour' where job_id = $1", [id])
    await resumeJob(stage.ctx, id)
    await write(10_000)
    const rows = words(await ledger(id))
    expect(rows.slice(-4)).toEqual(['pending', 'pending', 'pending', 'skipped(max-runs)'])
    expect(rows[0]).toMatch(/^skipped\(paused\) x36\d\d$/)
  })
})
