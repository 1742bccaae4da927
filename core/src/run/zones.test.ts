import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest'
import { createTestClock } from '../clock/test-clocks.ts'
import type { Ctx } from '../db/context.ts'
import { createJob } from '../job/create.ts'
import { nativeZones, type ZoneDatabase } from '../schedule/zone.ts'
import { createTenant, testCtx } from '../testing/factories.ts'
import { sampleJob } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { materialise } from './materialise.ts'
import { reportProjectZones } from './project-zone-report.ts'
import { refreshZones } from './refresh-zones.ts'
import { reportZones } from './zone-report.ts'
import { readZoneHistory } from './zone-versions.ts'

let db: TestDb
let ctx: Ctx
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
  ctx = testCtx(db, await createTenant(db))
})
afterAll(() => db.close())
afterEach(() => db.owner.query('delete from schedules'))

const daily = (timezone: string) => ({ type: 'cron', cron: '0 9 * * *', timezone }) as const
const job = async (name: string, timezone: string): Promise<string> =>
  (await createJob(ctx, sampleJob({ name, schedule: daily(timezone) }))).id
const refresh = () => refreshZones(db.engine, { shard: 1, limit: 100 })
const scheduleOf = async (id: string) =>
  (await db.owner.query<{ next_at: Date; tz_version: string }>('select * from schedules where job_id = $1', [id]))
    .rows[0]

test('a schedule that other data computed is computed again, told when it moves, and its past stays what it was', async () => {
  const [moving, staying] = [await job('moving', 'Europe/Berlin'), await job('staying', 'Asia/Kolkata')]
  const before = await scheduleOf(moving)
  await db.owner.query("update schedules set tz_version = '2020a'")
  await db.owner.query("update schedules set next_at = next_at + interval '1 hour' where job_id = $1", [moving])
  expect(await refresh()).toEqual({ schedules: 2, moved: 1 })
  expect(await refresh()).toEqual({ schedules: 0, moved: 0 })
  expect(await scheduleOf(moving)).toMatchObject({ next_at: before?.next_at, tz_version: nativeZones.version })
  const events = await db.owner.query("select subject, data from events where type = 'job.moved'")
  expect(events.rows).toMatchObject([{ subject: moving, data: { from: '2020a', tzVersion: nativeZones.version } }])
  const spans = await db.owner.query<{ tz_version: string }>(
    'select tz_version from schedule_spans where job_id = $1 order by from_at',
    [staying],
  )
  expect(spans.rows.at(-1)?.tz_version).toBe(nativeZones.version)

  const { versions, lastMoves } = await readZoneHistory(ctx)
  expect(versions).toMatchObject([
    { version: nativeZones.version, schedules: 2, jobs: 2, until: null, moved: 1 },
    { version: '2020a', schedules: 0, jobs: 2, until: expect.any(Date), moved: 0 },
  ])
  const hourLater = new Date((before?.next_at.getTime() ?? 0) + 3_600_000)
  expect(lastMoves).toMatchObject([
    { jobId: moving, timezone: 'Europe/Berlin', fromVersion: '2020a', before: hourLater, after: before?.next_at },
  ])
  const stranger = testCtx(db, await createTenant(db))
  expect(await readZoneHistory(stranger)).toEqual({ versions: [], lastMoves: [] })
  // The same version applied again, say after a step back, tells what it moved then.
  await db.owner.query(
    "update schedules set tz_version = '2020b', next_at = next_at - interval '1 hour' where job_id = $1",
    [moving],
  )
  expect(await refresh()).toEqual({ schedules: 1, moved: 1 })
  expect((await readZoneHistory(ctx)).lastMoves).toMatchObject([{ jobId: moving, fromVersion: '2020b' }])
})

test('what it had written ahead is taken back, what is due is left alone', async () => {
  const { id } = await createJob(ctx, sampleJob({ schedule: { type: 'every', every: 'PT1S' } }))
  await materialise(db.engine, { keyRing: db.engineKeyRing, shard: 1, aheadMs: 5_000, limit: 10 })
  await db.owner.query("update schedules set tz_version = '2020a'")
  expect(await refresh()).toEqual({ schedules: 1, moved: 0 })
  const ahead = "select from occurrences where job_id = $1 and outcome = 'pending' and nominal_at > now()"
  expect((await db.owner.query(ahead, [id])).rowCount).toBe(0)
  const due = new Date(Date.now() - 3_600_000)
  await db.owner.query("update schedules set tz_version = '2020a', next_at = $1", [due])
  expect(await refresh()).toEqual({ schedules: 1, moved: 0 })
  expect((await scheduleOf(id))?.next_at).toEqual(due)
})

test('in a project with a test clock it is computed again from where that clock stands', async () => {
  const projects = [{ slug: 'sandbox', name: 'Sandbox', label: 'development' as const, hasTestClock: true }]
  const own = testCtx(db, await createTenant(db, { projects }))
  await createTestClock(own, { name: 'later', now: new Date('2031-03-01T00:00:00Z') })
  const { id } = await createJob(own, sampleJob({ schedule: daily('Europe/Berlin') }))
  await db.owner.query(
    "update schedules set tz_version = '2020a', next_at = next_at + interval '1 hour' where job_id = $1",
    [id],
  )
  expect(await refresh()).toEqual({ schedules: 1, moved: 1 })
  expect(await scheduleOf(id)).toMatchObject({
    next_at: new Date('2031-03-01T08:00:00Z'),
    tz_version: nativeZones.version,
  })
})

test('a report names exactly the schedules that new data would move, and those it can not compute', async () => {
  const ids = [await job('a', 'Europe/Berlin'), await job('b', 'Asia/Kolkata'), await job('c', 'Africa/Lagos')]
  await job('d', 'Europe/Berlin')
  // As the native data, but Berlin is an hour off, and there is no Lagos.
  const next: ZoneDatabase = {
    version: '2030a',
    find(id) {
      const zone = nativeZones.find(id)
      if (id === 'Africa/Lagos' || zone === undefined) return undefined
      if (id !== 'Europe/Berlin') return zone
      return {
        id,
        spanAt(at) {
          const span = zone.spanAt(at)
          return { ...span, offset: span.offset + 3_600_000 }
        },
      }
    },
  }
  const lines = await Array.fromAsync(reportZones(db.engine, { shard: 1, next, fromMs: Date.now(), days: 10 }))
  expect(lines.map(({ jobName, problem }) => `${jobName} ${problem === null}`).toSorted()).toEqual([
    'a true',
    'c false',
    'd true',
  ])
  const first = lines.find(({ jobId }) => jobId === ids[0])
  expect(first).toMatchObject({ timezone: 'Europe/Berlin', moved: { removed: 10, added: expect.any(Number) } })

  const own = await reportProjectZones(ctx, { next, days: 10 })
  expect(own).toMatchObject({ schedules: 4, moved: 3, uncompared: 0 })
  expect(own.lines.map(({ jobName }) => jobName).toSorted()).toEqual(['a', 'c', 'd'])
  const { beforeMs = [], afterMs = [] } = own.lines.find(({ jobName }) => jobName === 'a')?.moved ?? {}
  // What is gone comes back an hour earlier, but for the first, whose time would be over.
  expect(afterMs.slice(-2).every((at) => beforeMs.includes(at + 3_600_000))).toBe(true)
  expect(await reportProjectZones(ctx, { next: nativeZones, days: 10 })).toMatchObject({
    schedules: 4,
    moved: 0,
    lines: [],
  })
  const stranger = testCtx(db, await createTenant(db))
  expect(await reportProjectZones(stranger, { next, days: 10 })).toMatchObject({ schedules: 0, moved: 0 })
})
