import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it, test } from 'vitest'
import { createBlackout } from '../../src/calendar/blackouts.ts'
import { createJob } from '../../src/job/create.ts'
import { pauseJob } from '../../src/job/set-state.ts'
import { instantsMax, jobUpcoming } from '../../src/run/job-upcoming.ts'
import { countUpcoming } from '../../src/run/upcoming-counts.ts'
import { sampleJob } from '../../src/testing/job-samples.ts'
import { createStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())

const minute = 60_000

test('the instants to come keep their anchor, end with the last run, and are told while the job is paused', async () => {
  const first = (Math.floor(Date.now() / minute) + 2) * minute
  const at = (index: number): Date => new Date(first + index * 10 * minute)
  const schedule = { type: 'every', every: 'PT10M', anchor: at(0).toISOString(), maxRuns: 4 } as const
  const { id } = await createJob(stage.ctx, sampleJob({ schedule }))
  const coming = async (from?: Date, limit = 100) =>
    (await jobUpcoming(stage.ctx, id, { from, until: at(100), limit })).map(({ nominalAt }) => nominalAt)
  expect(await coming()).toEqual([at(0), at(1), at(2), at(3)])
  expect(await coming(new Date(at(1).getTime() + 1))).toEqual([at(2), at(3)])
  expect(await coming(undefined, 2)).toEqual([at(0), at(1)])
  await pauseJob(stage.ctx, id, null)
  expect(await coming()).toHaveLength(4)
  const plain = await createJob(stage.ctx, sampleJob())
  expect(await jobUpcoming(stage.ctx, plain.id, { until: at(100), limit: 9 })).toEqual([])
  await expect(jobUpcoming(stage.ctx, randomUUID(), { until: at(1), limit: 9 })).rejects.toMatchObject({
    code: 'not-found',
  })
})

describe('the instants to come, counted', () => {
  const day = 86_400_000
  const begin = new Date(Math.ceil((Date.now() + day) / day) * day)
  const after = (ms: number): Date => new Date(begin.getTime() + ms)

  it('are all of a week of an every-minute job, slice by slice, and none that the ledger has', async () => {
    const schedule = { type: 'cron', cron: '* * * * *', timezone: 'Europe/Berlin' } as const
    const { id } = await createJob(stage.ctx, sampleJob({ schedule }))
    await createBlackout(stage.ctx, { name: 'freeze', fromAt: after(day), untilAt: after(day + 30 * minute) })
    await stage.db.owner.query(
      `insert into occurrences (tenant_id, job_id, nominal_at, project_id, job_version, outcome, reason, tz_version)
       values ($1, $2, $3, $4, 1, 'skipped', 'edited', 'x')`,
      [stage.ctx.tenantId, id, after(5 * minute), stage.ctx.projectId],
    )
    const asked = { from: begin, to: after(7 * day), by: 'hour', timezone: 'Europe/Berlin' } as const
    const { counts, countedUntil } = await countUpcoming(stage.ctx, id, asked)
    expect(countedUntil).toBeNull()
    expect(counts).toHaveLength(7 * 24)
    expect(counts[0]).toEqual({ from: begin, coming: 59, skipped: 0 })
    expect(counts[1]).toEqual({ from: after(60 * minute), coming: 60, skipped: 0 })
    expect(counts[24]).toEqual({ from: after(day), coming: 30, skipped: 30 })
    const daily = await countUpcoming(stage.ctx, id, { ...asked, by: 'day', timezone: 'UTC' })
    expect(daily.counts.map(({ coming, skipped }) => coming + skipped)).toEqual([1_439, ...Array(6).fill(1_440)])
    await stage.db.owner.query('delete from blackouts')
  })

  it('say how far they were counted where there are too many', async () => {
    const schedule = { type: 'cron', cron: '* * * * * *', timezone: 'UTC' } as const
    const { id } = await createJob(stage.ctx, sampleJob({ schedule }))
    const asked = { from: begin, to: after(7 * day), by: 'hour', timezone: 'UTC' } as const
    const { counts, countedUntil } = await countUpcoming(stage.ctx, id, asked)
    expect(countedUntil).toEqual(after((instantsMax - 1) * 1_000))
    expect(counts.reduce((sum, { coming }) => sum + coming, 0)).toBe(instantsMax)
  })

  it('are none without a schedule, and refused where they would be counted too finely', async () => {
    const { id } = await createJob(stage.ctx, sampleJob())
    const asked = { from: begin, to: after(2 * day), by: 'minute', timezone: 'UTC' } as const
    await expect(countUpcoming(stage.ctx, id, asked)).rejects.toMatchObject({ code: 'validation-failed' })
    expect(await countUpcoming(stage.ctx, id, { ...asked, by: 'day' })).toEqual({ counts: [], countedUntil: null })
    await expect(countUpcoming(stage.ctx, randomUUID(), { ...asked, by: 'day' })).rejects.toMatchObject({
      code: 'not-found',
    })
  })
})
