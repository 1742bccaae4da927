import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { createTestClock } from '../../src/clock/test-clocks.ts'
import { createJob } from '../../src/job/create.ts'
import { getJob } from '../../src/job/get.ts'
import type { NewJob } from '../../src/job/job.ts'
import { upsertJob } from '../../src/job/upsert.ts'
import { materialise } from '../../src/run/materialise.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { sampleJob } from '../../src/testing/job-samples.ts'
import { createStage, type Stage } from './stage.ts'

// Public reports of what schedulers lose or double when they are restarted, away for long, or asked much at once.

let stage: Stage
const own = process.env['TZ']
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(async () => {
  if (own === undefined) delete process.env['TZ']
  else process.env['TZ'] = own
  await stage.db.close()
})
afterEach(async () => {
  for (const table of ['schedules', 'occurrences', 'due']) await stage.db.owner.query(`delete from ${table}`)
})

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const week = 7 * 24 * hour
const monday = Date.parse('2031-03-03T00:00:00Z')

const write = async (aheadMs = 2_000): Promise<void> => {
  while (
    (await materialise(stage.db.engine, { keyRing: stage.db.engineKeyRing, shard: 1, aheadMs, limit: 500 })).isFull
  );
}
/** How many instants of a job came to what. */
const outcomesOf = async (jobId: string): Promise<Record<string, number>> => {
  const { rows } = await stage.db.owner.query<{ outcome: string; count: number }>(
    `select outcome || case when caught_up then ' late' else '' end as outcome, sum(count)::int as count
     from occurrences where job_id = $1 group by 1`,
    [jobId],
  )
  return Object.fromEntries(rows.map(({ outcome, count }) => [outcome, count]))
}
/** The instants of the runs that there are of a job. */
const instantsOf = async (jobId: string): Promise<number[]> => {
  const { rows } = await stage.db.owner.query<{ at: Date }>(
    'select nominal_at as at from inputs where job_id = $1 order by 1',
    [jobId],
  )
  return rows.map(({ at }) => at.getTime())
}
/** As if nobody had looked at a schedule since an instant. */
async function leave(jobId: string, sinceMs: number): Promise<void> {
  await stage.db.owner.query(
    `update schedules set next_at = $2, spec = spec || jsonb_build_object('anchor', $3::text) where job_id = $1`,
    [jobId, new Date(sinceMs), new Date(sinceMs).toISOString()],
  )
}

describe.each(['UTC', 'Australia/Sydney', 'America/New_York'])('with the process in %s', (tz) => {
  beforeAll(() => {
    process.env['TZ'] = tz
  })

  it('O-20: a one-shot in 30 days and a monthly job stay where they are, looked at again and again', async () => {
    const dueAt = new Date(Math.ceil((Date.now() + 30 * 24 * hour) / second) * second)
    const oneShot = await createJob(stage.ctx, sampleJob({ schedule: { type: 'at', at: dueAt.toISOString() } }))
    // The first of a month, at four, is at least two days away from its second at noon.
    const now = new Date()
    const day = now.getUTCDate() > 26 ? 15 : 28
    const monthly = await createJob(
      stage.ctx,
      sampleJob({ schedule: { type: 'cron', cron: `0 4 ${day} * *`, timezone: 'UTC' } }),
    )
    const due = [oneShot.nextAt, monthly.nextAt]
    for (let look = 0; look < 5; look++) await write(minute)
    for (const [index, { id }] of [oneShot, monthly].entries()) {
      expect(await instantsOf(id)).toEqual([])
      expect((await getJob(stage.ctx, id)).nextAt).toEqual(due[index])
    }
    expect(oneShot.nextAt).toEqual(dueAt)
  })

  it('O-21: one run for the Monday after the clocks went back, also when everything restarts within that hour', async () => {
    const { ctx, clockAt } = await openClock(Date.parse('2031-11-02T12:00:00Z'))
    const job = await createJob(
      ctx,
      sampleJob({ schedule: { type: 'cron', cron: '0 6 * * MON', timezone: 'America/New_York' } }),
    )
    for (const at of ['2031-11-03T10:00:00Z', '2031-11-03T10:30:00Z', '2031-11-03T11:00:00Z', '2031-11-10T11:00:00Z'])
      await afterRestart(clockAt(Date.parse(at)))
    expect(await instantsOf(job.id)).toEqual([Date.parse('2031-11-03T11:00:00Z'), Date.parse('2031-11-10T11:00:00Z')])
  })

  it.each([
    [101, 'skip', {}, 0],
    [101, 'one', {}, 1],
    [101, 'all', { catchUpMax: 1_000 }, 101],
    [180, 'skip', {}, 0],
    [180, 'one', {}, 1],
    [180, 'all', { catchUpMax: 1_000 }, 180],
    [180, 'all', { catchUpMax: 100 }, 100],
  ] as const)(
    'O-27: down for %i minutes, an every-minute schedule goes on by itself, and %s makes up for as many as it says',
    async (late, catchUp, more, count) => {
      const changes: Partial<NewJob> = { schedule: { type: 'every', every: 'PT1M' }, catchUp, ...more }
      const { id } = await createJob(stage.ctx, sampleJob(changes))
      // The last late one was a minute and a half ago, which is more than the grace.
      const since = Math.floor(Date.now() / second) * second - 90 * second - (late - 1) * minute
      await leave(id, since)
      await write()
      const { missed = 0, 'pending late': caughtUp = 0, pending = 0 } = await outcomesOf(id)
      expect([caughtUp, missed]).toEqual([count, late - count])
      expect(pending).toBe(1)
      expect((await getJob(stage.ctx, id)).nextAt).toEqual(new Date(since + (late + 1) * minute))
      // The newest makes up for all; of a number that is capped, the newest are the ones worth having.
      const made = (await instantsOf(id)).slice(0, -1)
      expect(made).toEqual(Array.from({ length: count }, (_, index) => since + (late - count + index) * minute))
    },
  )

  it('O-61: two hundred upserts at once of a schedule that is due leave one schedule, and one run an instant', async () => {
    const schedule = { type: 'every', every: 'PT1S', anchor: '2026-01-01T00:00:00Z' } as const
    const upsert = (name: string) =>
      upsertJob(stage.ctx, `same in ${tz}`, sampleJob({ name, schedule, overlap: 'allow' }))
    const { job } = await upsert('the first')
    await leave(job.id, Math.floor(Date.now() / second) * second - 5 * second)
    let isOver = false
    // Ten callers, each twenty times over; every third call changes the job, though never its schedule.
    const upserts = Promise.all(
      Array.from({ length: 10 }, async () => {
        const ids = new Set<string>()
        for (let time = 0; time < 20; time++) ids.add((await upsert(`of ${time % 3}`)).job.id)
        return ids
      }),
    ).finally(() => {
      isOver = true
    })
    while (!isOver) await write()
    for (const ids of await upserts) expect(ids).toEqual(new Set([job.id]))
    await write()
    expect(await stage.value('select count(*)::int as value from schedules')).toBe(1)
    const instants = await instantsOf(job.id)
    expect(instants.length).toBeGreaterThan(5)
    expect(instants).toEqual(instants.map((_at, index) => (instants[0] ?? 0) + index * second))
    expect(await stage.value('select sum(count)::int as value from occurrences where job_id = $1', job.id)).toBe(
      instants.length,
    )
  })
})

it('O-26: a weekly job runs once at its instant, though everything restarts every hour of the week', async () => {
  const { ctx, clockAt } = await openClock(monday)
  const job = await createJob(ctx, sampleJob({ schedule: { type: 'cron', cron: '30 12 * * THU', timezone: 'UTC' } }))
  for (let at = monday; at <= monday + week; at += hour) await afterRestart(clockAt(at))
  expect(await instantsOf(job.id)).toEqual([Date.parse('2031-03-06T12:30:00Z')])
  expect((await getJob(ctx, job.id)).nextAt).toEqual(new Date('2031-03-13T12:30:00Z'))
})

/** A project whose time is told it, so that weeks pass at once. */
async function openClock(nowMs: number) {
  const projects = [{ slug: 'sandbox', name: 'Sandbox', label: 'development' as const, hasTestClock: true }]
  const tenant = await createTenant(stage.db, { projects })
  const ctx = testCtx(stage.db, tenant)
  await createTestClock(ctx, { name: 'weeks', now: new Date(nowMs) })
  const { tenantId, projectId } = tenant
  return { ctx, clockAt: (at: number) => ({ tenantId, projectId, nowMs: at }) }
}

/** One pass of a scheduler that has just been started: nothing that an earlier one kept in memory is there. */
async function afterRestart(clock: { tenantId: string; projectId: string; nowMs: number }): Promise<void> {
  vi.resetModules()
  const fresh = await import('../../src/run/materialise.ts')
  const { virtualShard } = await import('../../src/clock/virtual.ts')
  await fresh.materialise(stage.db.engine, {
    keyRing: stage.db.engineKeyRing,
    shard: virtualShard,
    aheadMs: 0,
    limit: 100,
    clock,
  })
}
