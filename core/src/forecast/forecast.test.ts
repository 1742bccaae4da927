import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { createProject } from '../access/projects.ts'
import { createBlackout } from '../calendar/blackouts.ts'
import { createCalendar } from '../calendar/create.ts'
import { updateCalendar } from '../calendar/update.ts'
import { type Ctx, withTx } from '../db/context.ts'
import { createQueue } from '../flow/queues.ts'
import { createJob } from '../job/create.ts'
import type { NewJob } from '../job/job.ts'
import { pauseJob } from '../job/set-state.ts'
import { acceptRuns } from '../run/accept.ts'
import { editOccurrence } from '../run/edit-occurrence.ts'
import { materialise } from '../run/materialise.ts'
import { prepareRun } from '../run/prepare.ts'
import { httpTargetValue } from '../run/target.ts'
import { createTenant, type TestTenant, testCtx } from '../testing/factories.ts'
import { sampleJob } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { affectedBy } from './affected.ts'
import { findProjectCollisions } from './collisions.ts'
import { forecastLoad } from './load.ts'
import { countStarts } from './starts.ts'

let db: TestDb
let tenant: TestTenant
let ctx: Ctx
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
})
afterAll(() => db.close())
beforeEach(async () => {
  tenant = await createTenant(db)
  ctx = testCtx(db, tenant)
})

const hourMs = 3_600_000
const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0)
/** The next full hour but one, so that no test straddles it. */
const soon = (): number => (Math.floor(Date.now() / hourMs) + 2) * hourMs
const hourly = { type: 'cron', cron: '0 * * * *', timezone: 'UTC' } as const
const job = (changes: Partial<NewJob> = {}) => createJob(ctx, sampleJob({ schedule: hourly, ...changes }))
const putOn = (id: string, calendar: string) =>
  db.owner.query(`update schedules set spec = spec || jsonb_build_object('notOn', array[$1::text]) where job_id = $2`, [
    calendar,
    id,
  ])
const countOf = async (from: number, until: number): Promise<number> => {
  const { from: start, bucketMs, counts } = await countStarts(ctx, { untilMs: until, buckets: 400 })
  return sum(counts.filter((_, bucket) => start.getTime() + (bucket + 1) * bucketMs > from))
}

describe('starts', () => {
  test('are those of every schedule that goes on, and of runs with an instant of their own', async () => {
    const untilMs = soon() + 3 * hourMs - 1
    await job()
    await job({ schedule: { type: 'cron', cron: '30 * * * *', timezone: 'UTC' } })
    await pauseJob(ctx, (await job()).id, null)
    await createJob(ctx, sampleJob())
    await createJob(testCtx(db, await createTenant(db)), sampleJob({ schedule: hourly }))
    expect(await countOf(soon() - hourMs / 2, untilMs)).toBe(4 + 3)
    const target = httpTargetValue.parse({ type: 'http', url: 'https://example.com/' })
    const row = await prepareRun(ctx, { target, dueAt: new Date(soon()) })
    await acceptRuns({ pool: db.app, keyRing: db.keyRing }, [row], false)
    expect(await countOf(soon() - hourMs / 2, untilMs)).toBe(8)
  })

  test('follow calendars and blackouts as soon as these change', async () => {
    const untilMs = soon() + 3 * hourMs - 1
    await createCalendar(ctx, { name: 'none' })
    await putOn((await job()).id, 'none')
    expect(await countOf(soon(), untilMs)).toBe(3)
    const blackout = { name: 'move', fromAt: new Date(soon()), untilAt: new Date(soon() + 1) }
    await createBlackout(ctx, blackout)
    expect(await countOf(soon(), untilMs)).toBe(2)
    await updateCalendar(ctx, 'none', { weekly: [{ days: [...days], from: '00:00', until: '24:00' }] })
    expect(await countOf(soon(), untilMs)).toBe(0)
  })

  test('end with the runs that are left to a schedule', async () => {
    const untilMs = soon() + 5 * hourMs - 1
    const { id } = await job({ schedule: { ...hourly, maxRuns: 100 } })
    await db.owner.query('update schedules set runs_left = 3 where job_id = $1', [id])
    expect(await countOf(Date.now(), untilMs)).toBe(3)
    // Whatever of them is written ahead, and when all are and the schedule is over.
    const writeUntil = (atMs: number) =>
      materialise(db.engine, { keyRing: db.engineKeyRing, shard: 1, aheadMs: atMs - Date.now(), limit: 1_000 })
    await writeUntil(soon() + 1_000)
    expect(await countOf(Date.now(), untilMs)).toBe(3)
    await writeUntil(untilMs)
    expect(await countOf(Date.now(), untilMs)).toBe(3)
  })

  test('follow what a person made of single occurrences, at once', async () => {
    const untilMs = soon() + 4 * hourMs - 1
    const { id } = await job()
    expect(await countOf(soon() - 1, untilMs)).toBe(4)
    await editOccurrence(ctx, id, new Date(soon()), { skip: true })
    expect(await countOf(soon() - 1, untilMs)).toBe(3)
    await editOccurrence(ctx, id, new Date(soon() + hourMs), { moveTo: new Date(untilMs + 10 * hourMs) })
    expect(await countOf(soon() - 1, untilMs)).toBe(2)
    await editOccurrence(ctx, id, new Date(soon() + hourMs), { moveTo: new Date(soon() + 90_000) })
    expect(await countOf(soon() - 1, soon() + 120_000)).toBe(1)
    expect(await countOf(soon() - 1, untilMs)).toBe(3)
    await editOccurrence(ctx, id, new Date(soon()), { skip: false })
    expect(await countOf(soon() - 1, untilMs)).toBe(4)
  })

  const days = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN'] as const

  test('that are too many to count are said to be missing', async () => {
    const secondly = Array.from({ length: 3 }, (_, index) =>
      job({ schedule: { type: 'every', every: 'PT1S', anchor: `2026-01-01T00:00:00.${index}00Z` } }),
    )
    await Promise.all(secondly)
    const { uncountedJobs, counts } = await countStarts(ctx, { untilMs: Date.now() + 31 * 24 * hourMs, buckets: 1 })
    expect(uncountedJobs).toBe(2)
    expect(counts[0]).toBeGreaterThan(2_600_000)
  })

  test('need the scope', async () => {
    const other = testCtx(db, tenant, { scopes: ['runs:read'] })
    await expect(countStarts(other, { untilMs: Date.now() + hourMs, buckets: 1 })).rejects.toMatchObject({
      code: 'forbidden',
    })
  })
})

describe('what a blackout would decide about', () => {
  const person = () => testCtx(db, tenant, { actor: { type: 'user', id: tenant.userIds[0] ?? '' } })
  const stretch = (hours: number) => ({
    fromAt: new Date(soon()),
    untilAt: new Date(soon() + hours * hourMs),
    isForAll: false,
  })

  test('is counted, with the jobs that it meets most', async () => {
    const often = await job({ name: 'often', schedule: { ...hourly, cron: '*/30 * * * *' } })
    const rare = await job({ name: 'rare' })
    await job({ name: 'never', schedule: { type: 'at', at: '2099-01-01T00:00:00Z' } })
    expect(await affectedBy(ctx, stretch(2))).toEqual({
      starts: 6,
      jobCount: 2,
      jobs: [
        { id: often.id, name: 'often', starts: 4 },
        { id: rare.id, name: 'rare', starts: 2 },
      ],
      uncountedJobs: 0,
    })
    expect(await affectedBy(ctx, { ...stretch(2), fromAt: new Date(0), untilAt: new Date() })).toMatchObject({
      starts: 0,
      jobs: [],
    })
  })

  test('is counted however far ahead it lies', async () => {
    await job({ schedule: { ...hourly, cron: '* * * * *' } })
    const far = { ...stretch(2), fromAt: new Date('2036-01-01T00:00:00Z'), untilAt: new Date('2036-01-01T02:00:00Z') }
    expect(await affectedBy(ctx, far)).toMatchObject({ starts: 120, jobCount: 1, uncountedJobs: 0 })
  })

  test('leaves out what is moved into it, and what another blackout skips; one that is there counts as if it were not', async () => {
    const { id } = await job()
    await editOccurrence(ctx, id, new Date(soon() + hourMs), { moveTo: new Date(soon() + hourMs / 2) })
    expect((await affectedBy(ctx, stretch(3))).starts).toBe(2)
    const blackout = await createBlackout(ctx, { name: 'move', ...stretch(1) })
    expect((await affectedBy(ctx, stretch(3))).starts).toBe(1)
    expect((await affectedBy(ctx, { ...stretch(3), blackoutId: blackout.id })).starts).toBe(2)
  })

  test('in all projects counts those of others, and names only the jobs of its own', async () => {
    const other = await createProject(person(), { name: 'Other', slug: 'other', label: 'development' })
    await createJob(testCtx(db, { ...tenant, projectId: other.id }), sampleJob({ schedule: hourly }))
    const own = await job({ name: 'own' })
    expect((await affectedBy(ctx, stretch(1))).starts).toBe(1)
    await expect(affectedBy(ctx, { ...stretch(1), isForAll: true })).rejects.toMatchObject({ code: 'forbidden' })
    expect(await affectedBy(person(), { ...stretch(1), isForAll: true })).toEqual({
      starts: 2,
      jobCount: 2,
      jobs: [{ id: own.id, name: 'own', starts: 1 }],
      uncountedJobs: 0,
    })
  })
})

test('the load is told by queue, pool and host, by how long runs took, against what can be done', async () => {
  await createQueue(ctx, { name: 'mail', concurrency: 7 })
  const one = await job({ queue: 'mail' })
  await job({ target: { type: 'http', url: 'https://other.example.com:8443/x' } })
  await db.owner.query(
    `insert into runs (tenant_id, project_id, id, queue_id, pool, state, attempt, fence, due_at, ended_at, duration_ms, job_id)
     select $1, $2, gen_random_uuid(), $3, 1, 4, 1, 1, now(), now(), d, $3 from unnest(array[1200000, 2400000]) d`,
    [tenant.tenantId, tenant.projectId, one.id],
  )
  await db.owner.query('insert into executors (id, pool, capacity) values (gen_random_uuid(), 1, 40)')
  const load = await forecastLoad(ctx, { untilMs: soon() + 2 * hourMs, bucketMs: 60_000 })
  expect([load.jobs, load.unmeasuredJobs, load.uncountedJobs]).toEqual([2, 1, 0])
  const first = (soon() - load.from.getTime()) / 60_000
  const series = Object.fromEntries(load.series.map((each) => [`${each.kind} ${each.name}`, each]))
  expect(Object.keys(series).sort()).toEqual([
    'host hooks.example.com',
    'host other.example.com:8443',
    'pool local',
    'queue default',
    'queue mail',
  ])
  expect(load.total.starts[first]).toBe(2)
  expect(series['queue mail']).toMatchObject({ capacity: 7 })
  expect(series['pool local']?.capacity).toBe(40)
  expect(series['host hooks.example.com']?.capacity).toBe(null)
  expect(series['queue mail']?.running.slice(first - 1, first + 32)).toEqual([0, ...new Array(30).fill(1), 0, 0])
  expect(sum(series['queue default']?.running ?? [])).toBe(0)
})

test('jobs that start together are found, with a way to spread them', async () => {
  const jobs = await Promise.all(Array.from({ length: 12 }, (_, index) => job({ name: `Job ${index}` })))
  await job({ schedule: { ...hourly, cron: '7 * * * *' } })
  const untilMs = soon() + 3 * hourMs - 1
  const [collision, ...rest] = await findProjectCollisions(ctx, { untilMs, least: 10 })
  expect(rest).toEqual([])
  expect(collision).toMatchObject({ count: 12, suggestion: { window: 'PT5M', perMinute: 3 } })
  expect(collision?.at).toEqual(new Date(soon() - hourMs))
  expect(collision?.times).toBe(4)
  expect(collision?.jobs.map(({ id }) => id).sort()).toEqual(jobs.map(({ id }) => id).sort())
  expect(await findProjectCollisions(ctx, { untilMs, least: 13 })).toEqual([])
  expect(await withTx(ctx, (tx) => findProjectCollisions(tx, { untilMs: 0, least: 2 }))).toEqual([])
})
