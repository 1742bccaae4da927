import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import type { Ctx } from '../db/context.ts'
import { createJob } from '../job/create.ts'
import { materialise } from '../run/materialise.ts'
import { createTenant, type TestTenant, testCtx } from '../testing/factories.ts'
import { sampleJob, trailOf } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { createBlackout, deleteBlackout, getBlackout, listBlackouts, updateBlackout } from './blackouts.ts'
import { resolveCovers } from './resolve.ts'

let db: TestDb
let tenant: TestTenant
let ctx: Ctx
let person: Ctx
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
})
afterAll(() => db.close())
beforeEach(async () => {
  tenant = await createTenant(db)
  ctx = testCtx(db, tenant)
  person = testCtx(db, tenant, { actor: { type: 'user', id: tenant.userIds[0] ?? '' } })
})

const from = new Date('2030-01-01T00:00:00Z')
const until = new Date('2030-01-01T06:00:00Z')
const stretch = { fromAt: from, untilAt: until }

const namesFor = async (projectId: string, sinceMs = 0): Promise<string[]> => {
  const [covers] = await resolveCovers(db.engine, [{ tenantId: tenant.tenantId, projectId, schedule: {}, sinceMs }])
  return (covers?.blackouts ?? []).map(({ name }) => name)
}

test('a blackout holds in its project, one of the whole tenant in all', async () => {
  const one = await createBlackout(ctx, { name: 'move', ...stretch })
  const all = await createBlackout(person, { name: 'freeze', ...stretch, roll: 'next', isForAll: true })
  expect([one.projectId, one.roll, all.projectId, all.roll]).toEqual([tenant.projectId, 'skip', null, 'next'])
  expect(await namesFor(tenant.projectId)).toEqual(['move', 'freeze'])
  expect(await namesFor(tenant.tenantId)).toEqual(['freeze'])
  expect(await namesFor(tenant.projectId, until.getTime())).toEqual([])
  expect((await listBlackouts(ctx, {}, { limit: 10 })).items).toEqual([one, all])
  expect(await getBlackout(ctx, all.id)).toEqual(all)
  const other = testCtx(db, await createTenant(db))
  await expect(getBlackout(other, one.id)).rejects.toMatchObject({ code: 'not-found' })
})

test('a key neither sets nor lifts a blackout of all projects', async () => {
  await expect(createBlackout(ctx, { name: 'x', ...stretch, isForAll: true })).rejects.toMatchObject({
    code: 'forbidden',
  })
  const { id } = await createBlackout(person, { name: 'x', ...stretch, isForAll: true })
  await expect(updateBlackout(ctx, id, { name: 'y' })).rejects.toMatchObject({ code: 'forbidden' })
  await expect(deleteBlackout(ctx, id)).rejects.toMatchObject({ code: 'forbidden' })
})

test('it can be changed and lifted, once each by who has seen it last', async () => {
  const { id } = await createBlackout(ctx, { name: 'x', ...stretch })
  const before = await resolveCovers(db.engine, [{ ...tenant, schedule: {}, sinceMs: 0 }])
  expect(await updateBlackout(ctx, id, { roll: 'next', expectedVersion: 1 })).toMatchObject({
    roll: 'next',
    version: 2,
  })
  const after = await resolveCovers(db.engine, [{ ...tenant, schedule: {}, sinceMs: 0 }])
  expect(after[0]?.key).not.toBe(before[0]?.key)
  await expect(updateBlackout(ctx, id, { name: 'z', expectedVersion: 1 })).rejects.toMatchObject({
    code: 'precondition-failed',
  })
  await expect(updateBlackout(ctx, id, { untilAt: from })).rejects.toMatchObject({ code: 'validation-failed' })
  await deleteBlackout(ctx, id, { expectedVersion: 2 })
  await expect(getBlackout(ctx, id)).rejects.toMatchObject({ code: 'not-found' })
  expect(await trailOf(db, id)).toEqual({
    events: ['blackout.created', 'blackout.updated', 'blackout.deleted'],
    actions: ['blackout.create', 'blackout.update', 'blackout.delete'],
  })
})

test('what schedules wrote ahead is decided again, those of other projects stay', async () => {
  const schedule = { type: 'every', every: 'PT1S' } as const
  const { id } = await createJob(ctx, sampleJob({ schedule }))
  await materialise(db.engine, { keyRing: db.engineKeyRing, shard: 1, aheadMs: 5_000, limit: 100 })
  const count = async (): Promise<number> =>
    (await db.owner.query("select from occurrences where job_id = $1 and outcome = 'pending'", [id])).rowCount ?? 0
  expect(await count()).toBeGreaterThan(0)
  await createBlackout(testCtx(db, await createTenant(db)), { name: 'theirs', ...stretch })
  expect(await count()).toBeGreaterThan(0)
  const { rows: earliest } = await db.owner.query<{ at: Date }>(
    "select min(nominal_at) as at from occurrences where job_id = $1 and outcome = 'pending'",
    [id],
  )
  await createBlackout(ctx, { name: 'now', fromAt: new Date(), untilAt: new Date(Date.now() + 3_600_000) })
  expect(await count()).toBe(0)
  const { rows } = await db.owner.query<{ next_at: Date }>('select next_at from schedules where job_id = $1', [id])
  expect(rows[0]?.next_at).toEqual(earliest[0]?.at)
})
