import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import type { Ctx } from '../db/context.ts'
import { materialise } from '../run/materialise.ts'
import { createTenant, testCtx } from '../testing/factories.ts'
import { sampleJob } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { createJob } from './create.ts'
import { deleteJob } from './delete.ts'
import { pauseJob, resumeJob } from './set-state.ts'
import { updateJob } from './update.ts'

let db: TestDb
let ctx: Ctx
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
  ctx = testCtx(db, await createTenant(db))
})
afterAll(() => db.close())

interface Span {
  from_at: Date
  job_version: number
  spec: Record<string, unknown> | null
  paused: boolean
}

const spansOf = async (id: string): Promise<Span[]> =>
  (await db.owner.query<Span>('select * from schedule_spans where job_id = $1 order by from_at', [id])).rows

test('what a schedule was at any time is kept, whoever changes it', async () => {
  const schedule = { type: 'every', every: 'PT1S' } as const
  const { id, nextAt } = await createJob(ctx, sampleJob({ schedule }))
  const [first] = await spansOf(id)
  expect(first?.from_at.getTime()).toBeLessThan(nextAt?.getTime() ?? 0)
  await materialise(db.engine, { keyRing: db.engineKeyRing, shard: 1, aheadMs: 1_500, limit: 10 })
  expect(await spansOf(id)).toHaveLength(1)
  await updateJob(ctx, id, { name: 'Another' })
  await pauseJob(ctx, id, null)
  await resumeJob(ctx, id)
  await updateJob(ctx, id, { schedule: { type: 'every', every: 'PT2S' } })
  await deleteJob(ctx, id)
  const spans = await spansOf(id)
  // Those of one millisecond are one; the last of them holds.
  expect(spans.at(-1)).toMatchObject({ spec: null, paused: false })
  expect(new Set(spans.map(({ job_version: version }) => version))).toEqual(new Set([1, 2, 3]))
})

test('a job without a schedule has none, and one that loses it is told to have none', async () => {
  const plain = await createJob(ctx, sampleJob())
  expect(await spansOf(plain.id)).toEqual([])
  const job = await createJob(ctx, sampleJob({ schedule: { type: 'cron', cron: '0 6 * * *', timezone: 'UTC' } }))
  await updateJob(ctx, job.id, { schedule: null })
  expect((await spansOf(job.id)).map(({ spec }) => spec?.['cron'])).toEqual(['0 6 * * *', undefined])
  await db.owner.query('delete from tenants where id = $1', [ctx.tenantId])
  expect(await spansOf(job.id)).toEqual([])
})
