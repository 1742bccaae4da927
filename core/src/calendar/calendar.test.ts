import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { type Ctx, withRead, withTx } from '../db/context.ts'
import { createJob } from '../job/create.ts'
import { pauseJob } from '../job/set-state.ts'
import { updateJob } from '../job/update.ts'
import type { AppError } from '../kernel/errors.ts'
import { materialise } from '../run/materialise.ts'
import { isOpenAt } from '../schedule/roll.ts'
import { createTenant, type TestTenant, testCtx } from '../testing/factories.ts'
import { sampleJob, trailOf } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { createCalendar } from './create.ts'
import { daysOfCalendar, listHolidayPlaces } from './days.ts'
import { deleteCalendar } from './delete.ts'
import { getCalendar, getCalendarVersion, listCalendars, listCalendarVersions } from './list.ts'
import { readIcs } from './read-ics.ts'
import { type Covers, calendarsOf, coversOf, holdCalendars, resolveCovers } from './resolve.ts'
import { updateCalendar } from './update.ts'

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

const weekend = { weekly: [{ days: ['SAT', 'SUN'], from: '00:00', until: '24:00' }] }
const sunday = Date.UTC(2026, 10, 29, 12)

/** A job whose schedule names a calendar, as the scheduler sees it. */
async function jobOn(calendar: string): Promise<string> {
  const { id } = await createJob(ctx, sampleJob({ schedule: { type: 'every', every: 'PT1S' } }))
  await putOn(id, calendar)
  return id
}

async function putOn(id: string, calendar: string): Promise<void> {
  await db.owner.query(
    `update schedules set spec = spec || jsonb_build_object('notOn', array[$1::text]) where job_id = $2`,
    [calendar, id],
  )
}

describe('a calendar', () => {
  test('is kept version by version, with who made each', async () => {
    const made = await createCalendar(ctx, { name: 'closed', ...weekend })
    expect(made).toMatchObject({ name: 'closed', version: 1, dates: [], holidays: [], description: null, ...weekend })
    const changed = await updateCalendar(ctx, 'closed', { dates: ['2026-12-25'] })
    expect(changed).toMatchObject({ version: 2, dates: ['2026-12-25'], ...weekend })
    expect(await updateCalendar(ctx, 'closed', { dates: ['2026-12-25'] })).toMatchObject({ version: 2 })
    expect(await getCalendarVersion(ctx, 'closed', 1)).toMatchObject({ dates: [], createdBy: `key:${tenant.apiKeyId}` })
    const { items, nextCursor } = await listCalendarVersions(ctx, 'closed', { limit: 1 })
    expect(items.map(({ version }) => version)).toEqual([2])
    const rest = await listCalendarVersions(ctx, 'closed', { limit: 1, cursor: nextCursor ?? '' })
    expect([rest.items.map(({ version }) => version), rest.nextCursor]).toEqual([[1], null])
    expect((await listCalendars(ctx, { limit: 10 })).items).toEqual([{ ...changed, jobCount: 0 }])
    expect(await trailOf(db, made.id)).toEqual({
      events: ['calendar.created', 'calendar.updated'],
      actions: ['calendar.create', 'calendar.update'],
    })
  })

  test('is refused with pointers: an impossible date, a place without holidays, a name twice', async () => {
    await expect(createCalendar(ctx, { name: 'a b', dates: ['2026-02-30'] })).rejects.toMatchObject({
      code: 'validation-failed',
      extra: { errors: [{ pointer: '/dates/0' }, { pointer: '/name' }] },
    })
    await expect(
      createCalendar(ctx, { name: 'x', holidays: [{ country: 'DE' }, { country: 'QQ' }] }),
    ).rejects.toMatchObject({ extra: { errors: [{ pointer: '/holidays/1' }] } })
    await createCalendar(ctx, { name: 'x' })
    await expect(createCalendar(ctx, { name: 'x' })).rejects.toMatchObject({ code: 'conflict' })
  })

  test('is not there for another tenant, and an editor who saw an older version is told', async () => {
    await createCalendar(ctx, { name: 'mine' })
    const other = testCtx(db, await createTenant(db))
    await expect(getCalendar(other, 'mine')).rejects.toMatchObject({ code: 'not-found' })
    await expect(updateCalendar(other, 'mine', {})).rejects.toMatchObject({ code: 'not-found' })
    await expect(updateCalendar(ctx, 'mine', { ...weekend, expectedVersion: 2 })).rejects.toMatchObject({
      code: 'precondition-failed',
    })
    const reader = testCtx(db, tenant, { scopes: ['calendars:read'] })
    await expect(deleteCalendar(reader, 'mine')).rejects.toMatchObject({ code: 'forbidden' })
  })

  test('is not deleted while jobs use it, paused ones too, and says which', async () => {
    await createCalendar(ctx, { name: 'used', ...weekend })
    await createCalendar(ctx, { name: 'free' })
    const id = await jobOn('used')
    await pauseJob(ctx, id, null)
    await expect(deleteCalendar(ctx, 'used')).rejects.toMatchObject({
      code: 'conflict',
      extra: { current: { count: 1, jobs: [{ id, name: 'Nightly report' }] } },
    })
    const [project] = (
      await db.owner.query<{ id: string }>(
        `insert into projects (tenant_id, id, slug, name) values ($1, gen_random_uuid(), 'other', 'Other') returning id`,
        [tenant.tenantId],
      )
    ).rows
    const elsewhere = testCtx(db, { ...tenant, projectId: project?.id ?? '' })
    expect((await getCalendar(elsewhere, 'used')).use).toEqual({ count: 1, jobs: [] })
    await deleteCalendar(ctx, 'free')
    await expect(getCalendar(ctx, 'free')).rejects.toMatchObject({ code: 'not-found' })
  })

  test('that a schedule is about to name is not deleted under it', async () => {
    await createCalendar(ctx, { name: 'wanted', ...weekend })
    const { id } = await createJob(ctx, sampleJob({ schedule: { type: 'every', every: 'PT1S' } }))
    let deletion: Promise<unknown> = Promise.resolve()
    await withTx(ctx, async (tx) => {
      await holdCalendars(tx, { type: 'every', every: 'PT1S', onlyOn: ['wanted'] })
      deletion = deleteCalendar(ctx, 'wanted').catch((error: unknown) => error)
      await tx.client.query(`update schedules set spec = spec || '{"onlyOn": ["wanted"]}' where job_id = $1`, [id])
    })
    expect(await deletion).toMatchObject({ code: 'conflict' })
  })

  test('changes while jobs that use it are edited, and nobody has to try twice', async () => {
    await createCalendar(ctx, { name: 'busy', ...weekend })
    const schedule = (every: string) => ({ type: 'every' as const, every, notOn: ['busy'] })
    const jobs = await Promise.all(
      Array.from({ length: 4 }, () => createJob(ctx, sampleJob({ schedule: schedule('PT1H') }))),
    )
    const deadlocks = async (): Promise<number> =>
      (
        await db.owner.query<{ n: number }>(
          'select pg_stat_clear_snapshot(), deadlocks::int as n from pg_stat_database where datname = current_database()',
        )
      ).rows[0]?.n ?? -1
    const before = await deadlocks()
    for (let round = 2; round < 12; round++)
      await Promise.all([
        updateCalendar(ctx, 'busy', { dates: [`2031-01-${10 + round}`] }),
        ...jobs.map(({ id }) => updateJob(ctx, id, { schedule: schedule(`PT${round}H`) })),
      ])
    expect(await deadlocks()).toBe(before)
  })

  test('that changes has what was written ahead decided again', async () => {
    await createCalendar(ctx, { name: 'quiet', ...weekend })
    const { id } = await createJob(ctx, sampleJob({ schedule: { type: 'every', every: 'PT1S' } }))
    const other = (await createJob(ctx, sampleJob({ schedule: { type: 'every', every: 'PT1S' } }))).id
    await db.owner.query("update schedules set next_at = now() + interval '1 hour' where job_id = any($1)", [
      [id, other],
    ])
    await materialise(db.engine, { keyRing: db.engineKeyRing, shard: 1, aheadMs: 3_602_000, limit: 100 })
    await putOn(id, 'quiet')
    const pendingOf = async (jobId: string): Promise<Date[]> =>
      (
        await db.owner.query<{ nominal_at: Date }>(
          `select nominal_at from occurrences where job_id = $1 and outcome = 'pending' order by 1`,
          [jobId],
        )
      ).rows.map((row) => row.nominal_at)
    const [first] = await pendingOf(id)
    await db.owner.query(
      `insert into occurrences (tenant_id, project_id, job_id, nominal_at, job_version, outcome, reason, tz_version)
       values ($1, $2, $3, $4, 1, 'skipped', 'calendar', 'x'), ($1, $2, $3, $5, 1, 'skipped', 'overlap', 'x')`,
      [
        tenant.tenantId,
        tenant.projectId,
        id,
        new Date((first?.getTime() ?? 0) - 5_000),
        new Date((first?.getTime() ?? 0) - 6_000),
      ],
    )
    const untouched = await pendingOf(other)
    await updateCalendar(ctx, 'quiet', { dates: ['2026-12-25'] })
    expect(await pendingOf(id)).toEqual([])
    expect(await pendingOf(other)).toEqual(untouched)
    const { rows } = await db.owner.query<{ next_at: Date }>('select next_at from schedules where job_id = $1', [id])
    expect(rows[0]?.next_at.getTime()).toBe((first?.getTime() ?? 0) - 5_000)
    const left = await db.owner.query('select reason from occurrences where job_id = $1', [id])
    expect(left.rows).toEqual([{ reason: 'overlap' }])
  })
})

const coverOf = (covers: Covers | undefined, name: string) => covers?.calendars[name]
function holds(covers: Covers | undefined, name: string, wall: number): boolean | undefined {
  const cover = coverOf(covers, name)
  return cover && isOpenAt(cover, wall)
}

describe('covers', () => {
  test('are those that a schedule names, and another key tells of every change', async () => {
    await createCalendar(ctx, { name: 'closed', ...weekend })
    await createCalendar(ctx, { name: 'feasts', holidays: [{ country: 'GB', state: 'ENG' }] })
    const { tenantId, projectId } = tenant
    const ask = { tenantId, projectId, schedule: { notOn: ['closed', 'feasts'] }, sinceMs: sunday }
    expect(calendarsOf({ onlyOn: ['a', 'b'], notOn: ['b'] })).toEqual(['a', 'b'])
    const [covers, none] = await resolveCovers(db.engine, [ask, { ...ask, schedule: {} }])
    expect([holds(covers, 'closed', sunday), holds(covers, 'closed', sunday + 86_400_000)]).toEqual([true, false])
    expect(holds(covers, 'feasts', Date.UTC(2026, 11, 28))).toBe(true)
    expect(none).toEqual({ calendars: {}, blackouts: [], key: '' })
    const [again] = await resolveCovers(db.engine, [ask])
    expect(again?.key).toBe(covers?.key)
    expect(coverOf(again, 'closed')).toBe(coverOf(covers, 'closed'))
    await updateCalendar(ctx, 'closed', { weekly: [] })
    const [changed] = await resolveCovers(db.engine, [ask])
    expect(changed?.key).not.toBe(covers?.key)
    expect(holds(changed, 'closed', sunday)).toBe(false)
  })

  test("of one tenant are never another's, whatever the name", async () => {
    const other = await createTenant(db)
    await createCalendar(ctx, { name: 'same', ...weekend })
    await createCalendar(testCtx(db, other), { name: 'same', dates: ['2026-11-30'] })
    const of = ({ tenantId, projectId }: TestTenant) => ({
      tenantId,
      projectId,
      schedule: { onlyOn: ['same'] },
      sinceMs: sunday,
    })
    const [mine, theirs] = await resolveCovers(db.engine, [of(tenant), of(other)])
    expect([mine, theirs].map((covers) => holds(covers, 'same', sunday))).toEqual([true, false])
    const seen = await withTx(ctx, (tx) => resolveCovers(tx.client, [of(other)]))
    expect(seen).toEqual([{ calendars: {}, blackouts: [], key: '' }])
  })

  test('of a schedule that names what is not there are refused by pointer', async () => {
    await createCalendar(ctx, { name: 'there' })
    const schedule = { type: 'every', every: 'PT1H', onlyOn: ['there', 'gone'], notOn: ['lost'] } as const
    await expect(
      withRead(ctx, (tx) =>
        coversOf(tx, { ...schedule, onlyOn: [...schedule.onlyOn], notOn: ['lost'] }, { sinceMs: 0 }),
      ),
    ).rejects.toMatchObject({
      extra: { errors: [{ pointer: '/schedule/onlyOn/1' }, { pointer: '/schedule/notOn/0' }] },
    })
  })
})

test('an iCalendar file becomes days and ranges, and what is left out is told', async () => {
  const ics = [
    'BEGIN:VCALENDAR',
    ...['BEGIN:VEVENT', 'SUMMARY:Feast', 'DTSTART;VALUE=DATE:20261224', 'END:VEVENT'],
    ...['BEGIN:VEVENT', 'SUMMARY:Late', 'DTSTART:20261223T170000Z', 'DTEND:20261223T190000Z', 'END:VEVENT'],
    ...['BEGIN:VEVENT', 'SUMMARY:Odd', 'END:VEVENT'],
    'END:VCALENDAR',
  ].join('\r\n')
  expect(readIcs(ctx, { ics, timezone: 'Europe/Berlin', from: new Date(sunday) })).toEqual({
    dates: ['2026-12-24'],
    ranges: [{ from: '2026-12-23T18:00', until: '2026-12-23T20:00' }],
    problems: ['Odd: it has no DTSTART'],
  })
  expect(() => readIcs(ctx, { ics, timezone: 'Europe/Nowhere' })).toThrow('not valid')
})

describe('the days of a calendar', () => {
  const nothing = { dates: [], ranges: [], weekly: [], holidays: [] }

  test('are told with their hours and what a holiday is called, before it is saved', async () => {
    const definition = {
      ...nothing,
      weekly: [{ days: ['WED' as const], from: '09:00', until: '17:00' }],
      ranges: [{ from: '2026-12-22T18:00', until: '2026-12-23T10:00' }],
      holidays: [{ country: 'GB', state: 'ENG' }],
    }
    const range = { from: '2026-12-22', until: '2026-12-25' }
    expect(await daysOfCalendar(ctx, { definition, ...range })).toEqual([
      { date: '2026-12-22', hours: [{ from: '18:00', until: '24:00' }], holiday: null },
      {
        date: '2026-12-23',
        hours: [{ from: '00:00', until: '17:00' }],
        holiday: null,
      },
      { date: '2026-12-25', hours: [{ from: '00:00', until: '24:00' }], holiday: 'Christmas Day' },
    ])
  })

  test('are those of a year and a bit, of places that are known', async () => {
    const ask = (from: string, until: string, holidays: { country: string }[] = []) =>
      daysOfCalendar(ctx, { definition: { ...nothing, holidays }, from, until })
    expect(await ask('2026-01-01', '2028-03-10')).toEqual([])
    const pointers = (asked: Promise<unknown>) =>
      asked.catch((error: AppError) => error.extra.errors?.map(({ pointer }) => pointer))
    expect(await pointers(ask('2026-01-01', '2028-03-11'))).toEqual(['/until'])
    expect(await pointers(ask('2026-01-02', '2026-01-01'))).toEqual(['/until'])
    expect(await pointers(ask('2026-02-30', '2026-03-01'))).toEqual(['/from'])
    expect(await pointers(ask('2026-02-20', '2026-03-01', [{ country: 'XX' }]))).toEqual(['/calendar/holidays/0'])
  })

  test('can be those of any country, state and region that is listed', async () => {
    expect(await listHolidayPlaces(ctx, {})).toContainEqual({ code: 'DE', name: 'Germany' })
    expect(await listHolidayPlaces(ctx, { country: 'DE' })).toContainEqual({ code: 'BY', name: 'Bayern' })
    expect((await listHolidayPlaces(ctx, { country: 'DE', state: 'BY' })).map(({ code }) => code)).toContain('A')
    expect(await listHolidayPlaces(ctx, { country: 'XX' })).toEqual([])
  })
})
