import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { createJob } from '../../src/job/create.ts'
import { pauseJob } from '../../src/job/set-state.ts'
import { jobUpcoming } from '../../src/run/job-upcoming.ts'
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
