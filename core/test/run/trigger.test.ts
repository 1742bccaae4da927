import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Ctx } from '../../src/db/context.ts'
import { createJob } from '../../src/job/create.ts'
import { deleteJob } from '../../src/job/delete.ts'
import { updateJob } from '../../src/job/update.ts'
import { acceptRuns } from '../../src/run/accept.ts'
import { cancelRun } from '../../src/run/cancel.ts'
import { getRun, getRunRequest } from '../../src/run/get.ts'
import type { Run } from '../../src/run/run.ts'
import { prepareJobRun, prepareReplay, type StartOptions } from '../../src/run/trigger.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { sampleJob } from '../../src/testing/job-samples.ts'
import { createStage, type Stage } from './stage.ts'

let stage: Stage
let stranger: Ctx
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
  stranger = testCtx(stage.db, await createTenant(stage.db))
})
afterAll(() => stage.db.close())

const one = async () => {
  const [run] = await stage.running(1)
  if (run === undefined) throw new Error('nothing is running')
  return run
}

describe('run now and replay', () => {
  const start = async (prepared: Promise<Parameters<typeof acceptRuns>[1][number]>): Promise<Run> => {
    const [result] = await acceptRuns(stage.intake, [await prepared], false)
    if (result === undefined || result.outcome === 'refused') throw new Error('refused')
    return result.run
  }
  const trigger = (jobId: string, options: StartOptions = {}): Promise<Run> =>
    start(prepareJobRun(stage.ctx, jobId, options))

  it('a job run by hand does what its version says, even after an edit', async () => {
    const job = await createJob(stage.ctx, sampleJob({ priority: 2, queue: 'reports', retry: { limit: 2 } as never }))
    const run = await trigger(job.id)
    expect(run).toMatchObject({
      jobId: job.id,
      jobVersion: 1,
      source: 'manual',
      priority: 2,
      queueName: 'reports',
      nominalAt: null,
    })
    await updateJob(stage.ctx, job.id, { target: { type: 'http', url: 'https://other.example.com/' } })
    expect(await getRunRequest(stage.ctx, run.id)).toMatchObject({
      url: 'https://hooks.example.com/nightly?key=s3cret',
      body: '{"a":1}',
    })
    expect(await trigger(job.id)).toMatchObject({ jobVersion: 2 })
  })

  it('with a body of its own, at an instant of its own', async () => {
    const job = await createJob(stage.ctx, sampleJob())
    const dueAt = new Date(Date.now() + 3_600_000)
    const run = await trigger(job.id, { body: { b: 2 }, dueAt })
    expect(run).toMatchObject({ status: 'scheduled', dueAt })
    expect(await getRunRequest(stage.ctx, run.id)).toMatchObject({
      body: '{"b":2}',
      headers: expect.objectContaining({ 'X-Token': 't0ken' }),
    })
  })

  it("a deleted job and a stranger's are not found", async () => {
    const job = await createJob(stage.ctx, sampleJob())
    await expect(prepareJobRun(stranger, job.id, {})).rejects.toMatchObject({ code: 'not-found' })
    const run = await trigger(job.id)
    await deleteJob(stage.ctx, job.id)
    await expect(prepareJobRun(stage.ctx, job.id, {})).rejects.toMatchObject({ code: 'not-found' })
    expect(await getRunRequest(stage.ctx, run.id)).toMatchObject({ method: 'POST' })
  })

  it('a replay is a new run that names the old one, which stays as it ended', async () => {
    const run = await one()
    await expect(prepareReplay(stage.ctx, run.id, {})).rejects.toMatchObject({
      code: 'conflict',
      extra: { current: { status: 'running' } },
    })
    await stage.end([run], 'failed')
    const before = await getRun(stage.ctx, run.id)
    const replay = await start(prepareReplay(stage.ctx, run.id, {}))
    expect(replay).toMatchObject({ source: 'replay', replayOf: run.id, attempt: 0, attemptsMax: 6 })
    expect(replay.id).not.toBe(run.id)
    expect(await getRunRequest(stage.ctx, replay.id)).toEqual(await getRunRequest(stage.ctx, run.id))
    expect(
      await getRunRequest(stage.ctx, (await start(prepareReplay(stage.ctx, run.id, { body: 'other' }))).id),
    ).toMatchObject({ body: 'other' })
    expect(await getRun(stage.ctx, run.id)).toEqual(before)
    await expect(prepareReplay(stranger, run.id, {})).rejects.toMatchObject({ code: 'not-found' })
  })

  it('a replayed job run keeps the request it had', async () => {
    const job = await createJob(stage.ctx, sampleJob())
    const run = await trigger(job.id)
    await cancelRun(stage.ctx, run.id)
    await updateJob(stage.ctx, job.id, { target: { type: 'http', url: 'https://other.example.com/' } })
    const replay = await start(prepareReplay(stage.ctx, run.id, {}))
    expect(replay).toMatchObject({ jobId: job.id, jobVersion: 1, replayOf: run.id })
    expect(await getRunRequest(stage.ctx, replay.id)).toMatchObject({
      url: 'https://hooks.example.com/nightly?key=s3cret',
    })
  })
})
