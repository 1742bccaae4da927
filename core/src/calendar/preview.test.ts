import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import type { Ctx } from '../db/context.ts'
import { createJob } from '../job/create.ts'
import type { FullSchedule } from '../schedule/full-schedule.ts'
import { createTenant, testCtx } from '../testing/factories.ts'
import { sampleJob, unknownId } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { createBlackout } from './blackouts.ts'
import { createCalendar } from './create.ts'
import { previewDraft } from './preview.ts'

let db: TestDb
let ctx: Ctx
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
  ctx = testCtx(db, await createTenant(db))
})
afterAll(() => db.close())

const afterMs = Date.UTC(2026, 11, 23, 12)
const daily: FullSchedule = { type: 'cron', cron: '0 9 * * *', timezone: 'Europe/London' }

test('a draft is shown with its calendars, the blackouts there are, and why each instant does not run', async () => {
  await createCalendar(ctx, { name: 'feasts', holidays: [{ country: 'GB', state: 'ENG' }] })
  await createBlackout(ctx, {
    name: 'Freeze',
    fromAt: new Date('2026-12-24T00:00Z'),
    untilAt: new Date('2026-12-25T00:00Z'),
  })
  const preview = await previewDraft(ctx, { schedule: { ...daily, notOn: ['feasts'] }, afterMs, count: 4 })
  expect(preview.occurrences.map(({ nominalAt, skipped }) => [nominalAt.slice(8, 10), skipped])).toEqual([
    ['24', 'blackout'],
    ['25', 'calendar'],
    ['26', 'calendar'],
    ['27', undefined],
  ])
  expect(preview.occurrences[0]?.notes).toEqual(['blackout: Freeze, skipped'])
  expect(preview.warnings).toContain('Its calendars leave out 4 of its next 50 occurrences.')
  await expect(
    previewDraft(ctx, { schedule: { ...daily, onlyOn: ['none'] }, afterMs, count: 1 }),
  ).rejects.toMatchObject({
    extra: { errors: [{ pointer: '/schedule/onlyOn/0', detail: 'There is no calendar named none' }] },
  })
})

test('each job has a jitter of its own, the same every time', async () => {
  const [one, other] = [unknownId(), unknownId()]
  const first = async (jobId?: string) =>
    (
      await previewDraft(ctx, {
        schedule: { ...daily, jitter: 'PT5H' },
        afterMs: afterMs + 7 * 86_400_000,
        count: 1,
        jobId,
      })
    ).occurrences[0]?.effectiveAt
  expect(await first(one)).toBe(await first(one))
  expect(new Set([await first(one), await first(other), await first()]).size).toBe(3)
})

test('what a job has already counts from where the job does, and anything else from the moment it is looked at', async () => {
  const schedule: FullSchedule = { type: 'every', every: 'PT7H' }
  const job = await createJob(ctx, sampleJob({ schedule }))
  const lookedAtMs = job.createdAt.getTime() + 3_600_000
  const first = async (draft: FullSchedule) =>
    Date.parse(
      (await previewDraft(ctx, { schedule: draft, afterMs: lookedAtMs, count: 1, jobId: job.id })).occurrences[0]
        ?.nominalAt ?? '',
    )
  expect(await first(schedule)).toBe(job.nextAt?.getTime())
  expect(await first({ ...schedule, every: 'PT8H' })).toBe(lookedAtMs + 8 * 3_600_000)
})
