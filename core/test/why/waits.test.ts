import { describe, expect, it } from 'vitest'
import { holdRuns } from '../../src/breaker/hold.ts'
import { tripBreaker } from '../../src/breaker/trip.ts'
import { createTestClock } from '../../src/clock/test-clocks.ts'
import { createJob } from '../../src/job/create.ts'
import { acceptMinding } from '../../src/run/accept.ts'
import { batchValue } from '../../src/run/create-key.ts'
import { getRun } from '../../src/run/get.ts'
import { prepareJobRun } from '../../src/run/trigger.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { sampleJob, unknownId } from '../../src/testing/job-samples.ts'
import { setWhyStage } from './stage.ts'

const look = setWhyStage('waits')
const later = new Date(Date.now() + 3_600_000)

describe('a run', () => {
  it('that is due later says when', async () => {
    const why = await look.whyRun(await look.one({ dueAt: later, startWithinMs: 60_000 }))
    expect(why).toMatchObject({
      reasons: [{ code: 'not-due', evidence: { at: later } }],
      isWaiting: true,
      expectedAt: later,
    })
    expect(why.expiresAt).toEqual(new Date(later.getTime() + 60_000))
  })

  it('that is performed together with others names the run that does it', async () => {
    const id = await look.one({ batch: batchValue.parse({ key: 'k', maxWait: 'PT1H' }) })
    const { batchRunId, dueAt } = await getRun(look.stage.ctx, id)
    const why = await look.whyRun(id)
    expect(why).toMatchObject({
      reasons: [{ code: 'waits-for-batch', evidence: { runIds: [batchRunId] } }],
      expectedAt: dueAt,
    })
  })

  it('that waits for its next try says of what the last one failed', async () => {
    const [run] = await look.stage.running(1)
    await look.stage.retry(run === undefined ? [] : [run], 60_000)
    const why = await look.whyRun(run?.id)
    expect(why.reasons).toMatchObject([
      { code: 'waits-for-retry', evidence: { attempt: 1, attemptsMax: 6, error: 'http-status' } },
    ])
    expect(why.expectedAt?.getTime()).toBeGreaterThan(Date.now() + 30_000)
  })

  it('that waits for an earlier run of its job names it', async () => {
    const { id: jobId } = await createJob(look.stage.ctx, sampleJob())
    const start = async () => {
      const result = await acceptMinding(look.stage.intake, await prepareJobRun(look.stage.ctx, jobId, {}), 'queue-all')
      await look.stage.admit({ aheadMs: 1_000 })
      return result.outcome === 'refused' ? '' : result.run.id
    }
    const first = await start()
    const second = await start()
    expect((await look.whyRun(second)).reasons).toMatchObject([
      { code: 'waits-for-earlier-run', evidence: { jobId, runIds: [first] } },
    ])
  })

  it('of a project with a test clock waits for that clock', async () => {
    const tenant = await createTenant(look.stage.db, {
      projects: [{ slug: 'main', name: 'Main', label: 'development', hasTestClock: true }],
    })
    const ctx = testCtx(look.stage.db, tenant)
    await createTestClock(ctx, { name: 'clock', now: new Date('2030-01-01') })
    const [run] = await look.stage.acceptAs(ctx, { dueAt: new Date('2030-02-01') })
    expect((await look.whyRun(run?.id, ctx)).reasons).toMatchObject([
      { code: 'waits-for-test-clock', evidence: { at: new Date('2030-01-01'), until: new Date('2030-02-01') } },
      { code: 'not-due' },
    ])
  })

  it('that a breaker holds names the host, since when, and when it is tried again', async () => {
    const [run] = await look.stage.running(1)
    const { tenantId, projectId } = look.stage.tenant
    const place = { id: unknownId(), tenantId, projectId, host: 'api.example.com' }
    await tripBreaker(look.stage.db.engine, {
      ...place,
      failures: 20,
      error: 'timeout',
      httpStatus: null,
      askedMs: null,
    })
    await holdRuns(look.stage.db.engine, 1, run === undefined ? [] : [{ lease: run, host: place.host }])
    const why = await look.whyRun(run?.id)
    expect(why.reasons).toMatchObject([
      { code: 'breaker-open', evidence: { host: place.host, error: 'timeout', ahead: 0 } },
    ])
    const { since, at } = why.reasons[0]?.evidence ?? {}
    expect(at?.getTime()).toBeGreaterThan(since?.getTime() ?? Number.POSITIVE_INFINITY)
  })
})
