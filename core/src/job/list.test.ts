import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import type { Ctx } from '../db/context.ts'
import { createTenant, testCtx } from '../testing/factories.ts'
import { sampleJob } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { createJob } from './create.ts'
import type { JobFilter } from './filter.ts'
import type { NewJob } from './job.ts'
import { listJobs } from './list.ts'
import { pauseJob } from './set-state.ts'

let db: TestDb
let ctx: Ctx
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
})
afterAll(() => db.close())
beforeEach(async () => {
  ctx = testCtx(db, await createTenant(db))
})

const make = (name: string, changes: Partial<NewJob> = {}) => createJob(ctx, sampleJob({ name, ...changes }))
const namesOf = async (filter: JobFilter): Promise<string[]> =>
  (await listJobs(ctx, filter, { limit: 200 })).items.map((job) => job.name)

describe('list', () => {
  test('pages show each job once, newest first, while jobs are being made', async () => {
    for (let index = 0; index < 7; index++) await make(`job ${index}`)
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await listJobs(ctx, {}, { cursor, limit: 3 })
      seen.push(...page.items.map((job) => job.name))
      cursor = page.nextCursor ?? undefined
      await make('made meanwhile')
    } while (cursor !== undefined)
    expect(seen).toEqual(['job 6', 'job 5', 'job 4', 'job 3', 'job 2', 'job 1', 'job 0'])
    await expect(listJobs(ctx, {}, { cursor: 'nonsense', limit: 3 })).rejects.toMatchObject({
      code: 'malformed-request',
    })
  })

  test('an item shows schedule and next instant, and nothing of the target', async () => {
    const job = await make('scheduled', { schedule: { type: 'every', every: 'PT1H' } })
    const { target: _, isTargetReduced: __, ...summary } = job
    expect((await listJobs(ctx, {}, { limit: 1 })).items).toEqual([summary])
  })

  test('search finds part of a name in any case, and the start of an external id', async () => {
    await make('Billing close', { externalId: 'erp-17' })
    await make('Nightly BILL run')
    await make('Other', { externalId: 'x-erp-18' })
    expect(await namesOf({ search: 'bill' })).toEqual(['Nightly BILL run', 'Billing close'])
    expect(await namesOf({ search: 'erp-' })).toEqual(['Billing close'])
  })

  test('a name and the start of an external id narrow each by itself', async () => {
    await make('Billing close', { externalId: 'erp-17' })
    await make('erp-like', { externalId: 'crm-1' })
    expect(await namesOf({ externalIdPrefix: 'erp-' })).toEqual(['Billing close'])
    expect(await namesOf({ name: 'ERP' })).toEqual(['erp-like'])
    expect(await namesOf({ name: 'bill', externalIdPrefix: 'crm' })).toEqual([])
  })

  test('a wildcard in a search is a letter like any other', async () => {
    await make('100% done')
    await make('a_b')
    await make('plain')
    await make('back\\slash')
    expect(await namesOf({ search: '%' })).toEqual(['100% done'])
    expect(await namesOf({ search: '_' })).toEqual(['a_b'])
    expect(await namesOf({ search: '\\' })).toEqual(['back\\slash'])
    expect(await namesOf({ search: 'pl\0ain' })).toEqual(['plain'])
    expect(await namesOf({ search: 'pl\u0000ain' })).toEqual(['plain'])
  })

  test('filters by state, tag and queue narrow together', async () => {
    await make('a', { tags: ['red', 'big'], queue: 'slow' })
    const paused = await make('b', { tags: ['red'], queue: 'slow' })
    await make('c', { tags: ['red'] })
    await pauseJob(ctx, paused.id, null)
    expect(await namesOf({ tags: ['red'] })).toEqual(['c', 'b', 'a'])
    expect(await namesOf({ tags: ['big', 'red'] })).toEqual(['a'])
    expect(await namesOf({ queue: 'slow' })).toEqual(['b', 'a'])
    expect(await namesOf({ queue: 'slow', state: 'paused' })).toEqual(['b'])
    expect(await namesOf({ queue: 'nowhere' })).toEqual([])
    expect(await namesOf({ queue: '\0', tags: ['\0'] })).toEqual([])
    expect(await namesOf({ ids: [paused.id] })).toEqual(['b'])
    expect(await namesOf({ state: 'active', tags: ['red'], search: 'c' })).toEqual(['c'])
  })

  test('needs jobs:read', async () => {
    await expect(listJobs({ ...ctx, scopes: new Set() }, {}, { limit: 1 })).rejects.toMatchObject({ code: 'forbidden' })
  })
})
