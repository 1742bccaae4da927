import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { holdRuns } from '../../src/breaker/hold.ts'
import { tripBreaker } from '../../src/breaker/trip.ts'
import { createBlackout } from '../../src/calendar/blackouts.ts'
import { createCalendar } from '../../src/calendar/create.ts'
import { createTestClock } from '../../src/clock/test-clocks.ts'
import type { Ctx } from '../../src/db/context.ts'
import { usualShares } from '../../src/flow/classes.ts'
import type { NewLimit } from '../../src/flow/limit.ts'
import { createLimit, pauseLimit } from '../../src/flow/limits.ts'
import { createQueue, pauseQueue, updateQueue } from '../../src/flow/queues.ts'
import { archiveJob } from '../../src/job/archive.ts'
import { createJob } from '../../src/job/create.ts'
import type { NewJob } from '../../src/job/job.ts'
import { pauseJob } from '../../src/job/set-state.ts'
import { setJobMode } from '../../src/job/shadow.ts'
import type { Uuid } from '../../src/kernel/ids.ts'
import { acceptMinding, acceptRuns } from '../../src/run/accept.ts'
import { announceExecutor } from '../../src/run/admit.ts'
import { admitByClass } from '../../src/run/admit-by-class.ts'
import { cancelRun } from '../../src/run/cancel.ts'
import { batchValue } from '../../src/run/create-key.ts'
import { expireRuns } from '../../src/run/expire.ts'
import { getRun } from '../../src/run/get.ts'
import { prepareJobRun } from '../../src/run/trigger.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { sampleJob, unknownId } from '../../src/testing/job-samples.ts'
import { explainJob } from '../../src/why/job.ts'
import { explainRun } from '../../src/why/run.ts'
import { type Why, type WhyCode, whyCodes } from '../../src/why/why.ts'
import { createStage, executorId, type Stage } from './stage.ts'

let stage: Stage
/** Every code that a test has seen. */
const seen = new Set<WhyCode>()
const note = (why: Why): Why => {
  for (const { code } of why.reasons) seen.add(code)
  return why
}
const whyRun = async (id: Uuid = '', ctx = stage.ctx): Promise<Why> => note(await explainRun(ctx, id))
const whyJob = async (id: Uuid): Promise<Why> => note(await explainJob(stage.ctx, id))
const codesOf = ({ reasons }: Why): WhyCode[] => reasons.map(({ code }) => code)

const announce = (running = 0) =>
  announceExecutor(stage.db.engine, { id: executorId, pool: 1, capacity: 4, spare: 1, running, finishedPerSecond: 0 })

beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())
beforeEach(async () => {
  await stage.db.owner.query('delete from due; delete from ready; delete from held; delete from executors')
  await announce()
})
const one = async (change = {}): Promise<Uuid> => (await stage.accept(change))[0]?.id ?? ''
const later = new Date(Date.now() + 3_600_000)

describe('a run', () => {
  it('that is due later says when', async () => {
    const why = await whyRun(await one({ dueAt: later, startWithinMs: 60_000 }))
    expect(why).toMatchObject({
      reasons: [{ code: 'not-due', evidence: { at: later } }],
      isWaiting: true,
      expectedAt: later,
    })
    expect(why.expiresAt).toEqual(new Date(later.getTime() + 60_000))
  })

  it('that is performed together with others names the run that does it', async () => {
    const id = await one({ batch: batchValue.parse({ key: 'k', maxWait: 'PT1H' }) })
    const { batchRunId, dueAt } = await getRun(stage.ctx, id)
    const why = await whyRun(id)
    expect(why).toMatchObject({
      reasons: [{ code: 'waits-for-batch', evidence: { runIds: [batchRunId] } }],
      expectedAt: dueAt,
    })
  })

  it('that waits for its next try says of what the last one failed', async () => {
    const [run] = await stage.running(1)
    await stage.retry(run === undefined ? [] : [run], 60_000)
    const why = await whyRun(run?.id)
    expect(why.reasons).toMatchObject([
      { code: 'waits-for-retry', evidence: { attempt: 1, attemptsMax: 6, error: 'http-status' } },
    ])
    expect(why.expectedAt?.getTime()).toBeGreaterThan(Date.now() + 30_000)
  })

  it('of a paused queue says who paused it, and why', async () => {
    const queue = await createQueue(stage.ctx, { name: 'held-up' })
    const id = await one({ queue: 'held-up' })
    await pauseQueue(stage.ctx, queue.id, 'moving house')
    expect((await whyRun(id)).reasons).toMatchObject([
      {
        code: 'queue-paused',
        evidence: { queue: 'held-up', reason: 'moving house', by: `key:${stage.tenant.apiKeyId}` },
      },
    ])
  })

  it('of a full queue names who holds the slots, and when one comes free', async () => {
    await createQueue(stage.ctx, { name: 'narrow', concurrency: 1 })
    const [holder] = await stage.running(1, { queue: 'narrow' })
    const id = await one({ queue: 'narrow' })
    const why = await whyRun(id)
    expect(why.reasons).toMatchObject([
      { code: 'queue-full', evidence: { queue: 'narrow', limit: 1, used: 1, ahead: 0, runIds: [holder?.id] } },
    ])
    expect(why.expectedAt).toBeNull()
    await stage.end(holder === undefined ? [] : [holder])
    await stage.running(0)
    await stage.end(await stage.claim(await stage.admit()))
    await stage.running(1, { queue: 'narrow' })
    expect((await whyRun(await one({ queue: 'narrow' }))).expectedAt).toBeInstanceOf(Date)
  })

  it('of an organisation that is paused or has all its slots in use says so', async () => {
    const tenant = await createTenant(stage.db, { concurrency: 1 })
    const ctx = testCtx(stage.db, tenant)
    const [holder] = await stage.acceptAs(ctx, {})
    await stage.admit()
    const [run] = await stage.acceptAs(ctx, {})
    expect((await whyRun(run?.id, ctx)).reasons).toMatchObject([
      { code: 'tenant-full', evidence: { limit: 1, used: 1, runIds: [holder?.id] } },
    ])
    await stage.db.owner.query(
      "update limits set paused = true where tenant_id = $1 and queue_id = '00000000-0000-0000-0000-000000000000'",
      [tenant.tenantId],
    )
    expect(codesOf(await whyRun(run?.id, ctx))).toEqual(['tenant-paused', 'tenant-full'])
  })

  const limit = (ctx: Ctx, changes: Partial<NewLimit>) => {
    const none = { key: null, cost: null, concurrency: null, rate: null, backlog: null }
    return createLimit(ctx, { name: 'fair', scope: { type: 'project' }, ...none, ...changes })
  }
  const someone = async (): Promise<Ctx> => testCtx(stage.db, await createTenant(stage.db))
  const next = async (ctx: Ctx): Promise<Why> => whyRun((await stage.acceptAs(ctx, {}))[0]?.id, ctx)

  it('that a paused limit stops says who paused it, and why', async () => {
    const ctx = await someone()
    const { id: limitId } = await limit(ctx, { concurrency: 5 })
    await pauseLimit(ctx, limitId, 'moving')
    expect((await next(ctx)).reasons).toMatchObject([
      {
        code: 'limit-paused',
        evidence: { limitId, name: 'fair', reason: 'moving', by: expect.stringMatching(/^key:/) },
      },
    ])
  })

  it('of a full limit names who holds it, of which value', async () => {
    const ctx = await someone()
    const { id: limitId } = await limit(ctx, { key: 'body.a', concurrency: 1 })
    const [holder] = await stage.acceptAs(ctx, {})
    await stage.admit()
    const evidence = { limitId, key: '1', limit: 1, used: 1, ahead: 0, runIds: [holder?.id] }
    expect(await next(ctx)).toMatchObject({ reasons: [{ code: 'limit-full', evidence }], isWaiting: true })
    expect((await next(ctx)).reasons).toMatchObject([{ code: 'limit-full', evidence: { ...evidence, ahead: 1 } }])
  })

  it('beyond a rate says until when, and when its own turn comes', async () => {
    const ctx = await someone()
    await limit(ctx, { key: 'body.a', rate: { count: 6, perMs: 3_600_000, burst: 1 } })
    await stage.acceptAs(ctx, {}, {})
    await stage.admit()
    const why = await next(ctx)
    expect(why.reasons).toMatchObject([{ code: 'limit-rate', evidence: { limit: 6, ahead: 1 } }])
    const until = why.reasons[0]?.evidence.until?.getTime() ?? 0
    expect(until).toBeGreaterThan(Date.now() + 500_000)
    expect(why.expectedAt?.getTime()).toBe(until + 600_000)
  })

  it('that a full backlog dropped says so', async () => {
    const ctx = await someone()
    await limit(ctx, { backlog: { max: 1, whenFull: 'drop-oldest' } })
    const [dropped] = await stage.acceptAs(ctx, {})
    await stage.acceptAs(ctx, {})
    expect((await whyRun(dropped?.id, ctx)).reasons).toMatchObject([
      { code: 'backlog-full', evidence: { error: 'backlog' } },
    ])
  })

  it('without an executor alive says since when', async () => {
    const id = await one()
    await stage.db.owner.query("update executors set seen_at = clock_timestamp() - interval '1 minute'")
    const [reason] = (await whyRun(id)).reasons
    expect(reason?.code).toBe('no-executor')
    expect(reason?.evidence.since?.getTime()).toBeLessThan(Date.now() - 50_000)
  })

  it('that finds all executors busy says so', async () => {
    const id = await one()
    await announce(4)
    expect((await whyRun(id)).reasons).toMatchObject([{ code: 'pool-full', evidence: { limit: 4, used: 4 } }])
  })

  it('that waits beside slots that are kept for critical runs says so', async () => {
    const { id: alarms } = await createQueue(stage.ctx, { name: 'alarms', class: 'critical' })
    const id = await one()
    await announce(3)
    expect((await whyRun(id)).reasons).toMatchObject([
      { code: 'class-waits', evidence: { class: 'standard', limit: 4, used: 3 } },
    ])
    await updateQueue(stage.ctx, alarms, { class: 'standard' })
    expect((await whyRun(id)).reasons).toMatchObject([{ code: 'next-in-line' }])
  })

  it('that was put back for a critical one says so, beside what it waits for', async () => {
    const { id: alarms } = await createQueue(stage.ctx, { name: 'sirens', class: 'critical' })
    const { id: nightly } = await createQueue(stage.ctx, { name: 'nightly', class: 'bulk', preemptible: true })
    const look = () =>
      admitByClass(stage.db.engine, {
        ...{ pool: 1, batch: 10, capacity: 8, aheadMs: 25, queuedSeconds: 5 },
        ...{ spare: 1, reserved: usualShares.reserved },
      })
    await stage.accept(...Array.from({ length: 7 }, () => ({ queue: 'nightly' })))
    await stage.claim((await look()).others)
    await stage.accept({ queue: 'sirens' }, { queue: 'sirens' })
    const { preempted } = await look()
    await announce()
    expect((await whyRun(preempted[0]?.id)).reasons).toMatchObject([
      { code: 'next-in-line' },
      { code: 'preempted', evidence: { queue: 'nightly', class: 'bulk' } },
    ])
    for (const id of [alarms, nightly]) await updateQueue(stage.ctx, id, { class: 'standard' })
  })

  it('with nothing in its way says how many come before it', async () => {
    const [, second] = await stage.accept({}, {})
    expect((await whyRun(second?.id)).reasons).toMatchObject([
      { code: 'next-in-line', evidence: { ahead: 1, queue: 'default' } },
    ])
  })

  it('with a slot is on its way, then performed', async () => {
    const id = await one()
    const admitted = await stage.admit()
    expect(codesOf(await whyRun(id))).toEqual(['on-its-way'])
    await stage.claim(admitted)
    expect(await whyRun(id)).toMatchObject({
      reasons: [{ code: 'running', evidence: { attempt: 1 } }],
      isWaiting: false,
    })
  })

  it('that waits for an earlier run of its job names it', async () => {
    const { id: jobId } = await createJob(stage.ctx, sampleJob())
    const start = async () => {
      const result = await acceptMinding(stage.intake, await prepareJobRun(stage.ctx, jobId, {}), 'queue-all')
      await stage.admit({ aheadMs: 1_000 })
      return result.outcome === 'refused' ? '' : result.run.id
    }
    const first = await start()
    const second = await start()
    expect((await whyRun(second)).reasons).toMatchObject([
      { code: 'waits-for-earlier-run', evidence: { jobId, runIds: [first] } },
    ])
  })

  it('of a project with a test clock waits for that clock', async () => {
    const tenant = await createTenant(stage.db, {
      projects: [{ slug: 'main', name: 'Main', label: 'development', hasTestClock: true }],
    })
    const ctx = testCtx(stage.db, tenant)
    await createTestClock(ctx, { name: 'clock', now: new Date('2030-01-01') })
    const [run] = await stage.acceptAs(ctx, { dueAt: new Date('2030-02-01') })
    expect((await whyRun(run?.id, ctx)).reasons).toMatchObject([
      { code: 'waits-for-test-clock', evidence: { at: new Date('2030-01-01'), until: new Date('2030-02-01') } },
      { code: 'not-due' },
    ])
  })

  it('that a breaker holds names the host, since when, and when it is tried again', async () => {
    const [run] = await stage.running(1)
    const { tenantId, projectId } = stage.tenant
    const place = { id: unknownId(), tenantId, projectId, host: 'api.example.com' }
    await tripBreaker(stage.db.engine, { ...place, failures: 20, error: 'timeout', httpStatus: null, askedMs: null })
    await holdRuns(stage.db.engine, 1, run === undefined ? [] : [{ lease: run, host: place.host }])
    const why = await whyRun(run?.id)
    expect(why.reasons).toMatchObject([
      { code: 'breaker-open', evidence: { host: place.host, error: 'timeout', ahead: 0 } },
    ])
    const { since, at } = why.reasons[0]?.evidence ?? {}
    expect(at?.getTime()).toBeGreaterThan(since?.getTime() ?? Number.POSITIVE_INFINITY)
  })

  it('that has ended says how', async () => {
    const [good, bad] = await stage.running(2)
    await stage.end(good === undefined ? [] : [good])
    await stage.end(bad === undefined ? [] : [bad], 'failed')
    expect(codesOf(await whyRun(good?.id))).toEqual(['succeeded'])
    expect((await whyRun(bad?.id)).reasons).toMatchObject([{ code: 'failed', evidence: { error: 'http-status' } }])
    const cancelled = await one()
    await cancelRun(stage.ctx, cancelled)
    expect(codesOf(await whyRun(cancelled))).toEqual(['cancelled'])
    const late = await one({ startWithinMs: 60_000 })
    await stage.db.owner.query(
      "update run_deadlines set start_by = now() - interval '1 second', check_at = now() where run_id = $1",
      [late],
    )
    await expireRuns(stage.db.engine, 10)
    expect((await whyRun(late)).reasons).toMatchObject([
      { code: 'deadline-passed', evidence: { error: 'start-deadline' } },
    ])
    const skipped = await one()
    await stage.db.owner.query(
      "with w as (delete from ready where id = $1 returning *) insert into runs (tenant_id, project_id, id, queue_id, pool, state, attempt, fence, due_at, ended_at, error) select tenant_id, project_id, id, queue_id, pool, 8, 0, 0, due_at, now(), 'overlap' from w",
      [skipped],
    )
    expect((await whyRun(skipped)).reasons).toMatchObject([{ code: 'skipped', evidence: { error: 'overlap' } }])
  })

  it('of somebody else is not found', async () => {
    await expect(explainRun(testCtx(stage.db, await createTenant(stage.db)), await one())).rejects.toMatchObject({
      code: 'not-found',
    })
    await expect(explainJob(stage.ctx, unknownId())).rejects.toMatchObject({ code: 'not-found' })
  })
})

describe('a job', () => {
  // Never due while a test looks at it.
  const anchor = new Date(Date.now() + 1_800_000).toISOString()
  const hourly = { type: 'every', every: 'PT1H', anchor } as const
  const make = async (more: Partial<NewJob> = {}): Promise<Uuid> =>
    (await createJob(stage.ctx, sampleJob({ schedule: hourly, ...more }))).id

  it('that is due later says when', async () => {
    const why = await whyJob(await make())
    expect(codesOf(why)).toEqual(['not-due'])
    expect(why.expectedAt?.getTime()).toBeGreaterThan(Date.now())
  })

  it('that is paused says by whom, why and until when', async () => {
    const id = await make()
    await pauseJob(stage.ctx, id, 'no budget', later)
    expect(await whyJob(id)).toMatchObject({
      reasons: [{ code: 'job-paused', evidence: { reason: 'no budget', by: `key:${stage.tenant.apiKeyId}` } }],
      expectedAt: later,
    })
  })

  it('that is archived, in shadow or without a schedule says so', async () => {
    const archived = await make()
    await archiveJob(stage.ctx, archived, {})
    expect(codesOf(await whyJob(archived))[0]).toBe('job-archived')
    const shadow = await make()
    await setJobMode(stage.ctx, shadow, 'shadow')
    expect(codesOf(await whyJob(shadow))).toEqual(['in-shadow', 'not-due'])
    expect(codesOf(await whyJob(await make({ schedule: null })))).toEqual(['no-schedule'])
  })

  it('whose next instant falls into a blackout names it, and when it goes on', async () => {
    const id = await make()
    const fromAt = new Date(Date.now() + 1_000)
    const untilAt = new Date(Date.now() + 3 * 3_600_000)
    await createBlackout(stage.ctx, { name: 'freeze', fromAt, untilAt })
    const why = await whyJob(id)
    expect(why.reasons).toMatchObject([{ code: 'blackout', evidence: { name: 'freeze', until: untilAt } }])
    expect(why.expectedAt?.getTime()).toBeGreaterThanOrEqual(untilAt.getTime())
    await stage.db.owner.query('delete from blackouts')
  })

  it('whose next instant a calendar leaves out says so', async () => {
    await createCalendar(stage.ctx, { name: 'year-one', dates: ['2001-01-01'] })
    const id = await make({
      schedule: { type: 'every', every: 'P1D', anchor: '2026-01-01T00:30:00Z', onlyOn: ['year-one'] },
    })
    expect(await whyJob(id)).toMatchObject({ reasons: [{ code: 'calendar' }], expectedAt: null })
  })

  it('whose schedule is over says so', async () => {
    const id = await make()
    await stage.db.owner.query('update schedules set next_at = null where job_id = $1', [id])
    expect(codesOf(await whyJob(id))).toEqual(['schedule-over'])
  })

  it('whose instant was not written down in time says that the scheduler is behind', async () => {
    const id = await make()
    await stage.db.owner.query("update schedules set next_at = now() - interval '1 minute' where job_id = $1", [id])
    expect(codesOf(await whyJob(id))).toEqual(['scheduler-behind'])
  })

  it.each([
    ['skipped', 'overlap', 'last-skipped'],
    ['missed', 'late', 'last-missed'],
  ])('whose last instant was %s (%s) says so', async (outcome, reason, code) => {
    const id = await make()
    await stage.db.owner.query(
      `insert into occurrences (tenant_id, job_id, nominal_at, project_id, job_version, outcome, reason, tz_version, decided_at)
       values ($1, $2, now() - interval '1 minute', $3, 1, $4, $5, 'x', now())`,
      [stage.tenant.tenantId, id, stage.tenant.projectId, outcome, reason],
    )
    expect((await whyJob(id)).reasons).toMatchObject([{ code: 'not-due' }, { code, evidence: { reason } }])
  })

  it('whose run a limit stops says which', async () => {
    const ctx = testCtx(stage.db, await createTenant(stage.db))
    const { id } = await createJob(ctx, sampleJob({ schedule: null }))
    const none = { key: null, cost: null, rate: null, backlog: null }
    const made = await createLimit(ctx, { name: 'one', scope: { type: 'job', jobId: id }, ...none, concurrency: 1 })
    const start = async () => acceptRuns(stage.intake, [await prepareJobRun(ctx, id, {})], false)
    await start()
    await stage.admit()
    await start()
    const why = note(await explainJob(ctx, id))
    expect(codesOf(why)).toEqual(['no-schedule', 'running', 'limit-full'])
    expect(why).toMatchObject({ isWaiting: true, reasons: [{}, {}, { evidence: { limitId: made.id } }] })
  })

  it.each([
    ['reject', 'the next one is refused'],
    ['drop-oldest', 'the next one ends the oldest of them'],
  ] as const)(
    'whose runs can not wait any more says for which limit, and what comes of it: %s',
    async (whenFull, what) => {
      const ctx = testCtx(stage.db, await createTenant(stage.db))
      const { id } = await createJob(ctx, sampleJob({ schedule: hourly }))
      const none = { cost: null, rate: null, concurrency: null }
      const scope = { type: 'job', jobId: id } as const
      const made = await createLimit(ctx, { name: 'few', scope, key: 'method', ...none, backlog: { max: 2, whenFull } })
      const start = async () => acceptRuns(stage.intake, [await prepareJobRun(ctx, id, {})], false)
      await start()
      expect(codesOf(await explainJob(ctx, id))).toEqual(['running', 'not-due'])
      await start()
      const why = note(await explainJob(ctx, id))
      expect(codesOf(why)).toEqual(['running', 'backlog-full', 'not-due'])
      const evidence = { limitId: made.id, name: 'few', key: 'POST', limit: 2, used: 2 }
      expect(why.reasons[1]).toMatchObject({ detail: expect.stringContaining(what), evidence })
      expect(why.expectedAt).toBeNull()
      await setJobMode(ctx, id, 'shadow')
      expect(codesOf(await explainJob(ctx, id))).not.toContain('backlog-full')
    },
  )

  it('with open runs names them', async () => {
    const id = await make()
    const result = await acceptMinding(stage.intake, await prepareJobRun(stage.ctx, id, {}), 'allow')
    await stage.admit({ aheadMs: 1_000 })
    const runIds = [result.outcome === 'refused' ? '' : result.run.id]
    expect((await whyJob(id)).reasons).toMatchObject([{ code: 'running', evidence: { runIds } }, { code: 'not-due' }])
  })
})

it('each code was seen', () => expect(whyCodes.filter((code) => !seen.has(code))).toEqual([]))
