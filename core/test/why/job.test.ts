import { describe, expect, it } from 'vitest'
import { createBlackout } from '../../src/calendar/blackouts.ts'
import { createCalendar } from '../../src/calendar/create.ts'
import { createLimit } from '../../src/flow/limits.ts'
import { archiveJob } from '../../src/job/archive.ts'
import { createJob } from '../../src/job/create.ts'
import type { NewJob } from '../../src/job/job.ts'
import { pauseJob } from '../../src/job/set-state.ts'
import { setJobMode } from '../../src/job/shadow.ts'
import type { Uuid } from '../../src/kernel/ids.ts'
import { acceptMinding, acceptRuns } from '../../src/run/accept.ts'
import { prepareJobRun } from '../../src/run/trigger.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { sampleJob } from '../../src/testing/job-samples.ts'
import { explainJob } from '../../src/why/job.ts'
import { codesOf, setWhyStage } from './stage.ts'

const look = setWhyStage('job')
const later = new Date(Date.now() + 3_600_000)

describe('a job', () => {
  // Never due while a test looks at it.
  const anchor = new Date(Date.now() + 1_800_000).toISOString()
  const hourly = { type: 'every', every: 'PT1H', anchor } as const
  const make = async (more: Partial<NewJob> = {}): Promise<Uuid> =>
    (await createJob(look.stage.ctx, sampleJob({ schedule: hourly, ...more }))).id

  it('that is due later says when', async () => {
    const why = await look.whyJob(await make())
    expect(codesOf(why)).toEqual(['not-due'])
    expect(why.expectedAt?.getTime()).toBeGreaterThan(Date.now())
  })

  it('that is paused says by whom, why and until when', async () => {
    const id = await make()
    await pauseJob(look.stage.ctx, id, 'no budget', later)
    expect(await look.whyJob(id)).toMatchObject({
      reasons: [{ code: 'job-paused', evidence: { reason: 'no budget', by: `key:${look.stage.tenant.apiKeyId}` } }],
      expectedAt: later,
    })
  })

  it('that is archived, in shadow or without a schedule says so', async () => {
    const archived = await make()
    await archiveJob(look.stage.ctx, archived, {})
    expect(codesOf(await look.whyJob(archived))[0]).toBe('job-archived')
    const shadow = await make()
    await setJobMode(look.stage.ctx, shadow, 'shadow')
    expect(codesOf(await look.whyJob(shadow))).toEqual(['in-shadow', 'not-due'])
    expect(codesOf(await look.whyJob(await make({ schedule: null })))).toEqual(['no-schedule'])
  })

  it('whose next instant falls into a blackout names it, and when it goes on', async () => {
    const id = await make()
    const fromAt = new Date(Date.now() + 1_000)
    const untilAt = new Date(Date.now() + 3 * 3_600_000)
    await createBlackout(look.stage.ctx, { name: 'freeze', fromAt, untilAt })
    const why = await look.whyJob(id)
    expect(why.reasons).toMatchObject([{ code: 'blackout', evidence: { name: 'freeze', until: untilAt } }])
    expect(why.expectedAt?.getTime()).toBeGreaterThanOrEqual(untilAt.getTime())
    await look.stage.db.owner.query('delete from blackouts')
  })

  it('whose next instant a calendar leaves out says so', async () => {
    await createCalendar(look.stage.ctx, { name: 'year-one', dates: ['2001-01-01'] })
    const id = await make({
      schedule: { type: 'every', every: 'P1D', anchor: '2026-01-01T00:30:00Z', onlyOn: ['year-one'] },
    })
    expect(await look.whyJob(id)).toMatchObject({ reasons: [{ code: 'calendar' }], expectedAt: null })
  })

  it('whose schedule is over says so', async () => {
    const id = await make()
    await look.stage.db.owner.query('update schedules set next_at = null where job_id = $1', [id])
    expect(codesOf(await look.whyJob(id))).toEqual(['schedule-over'])
  })

  it('whose instant was not written down in time says that the scheduler is behind', async () => {
    const id = await make()
    await look.stage.db.owner.query("update schedules set next_at = now() - interval '1 minute' where job_id = $1", [
      id,
    ])
    expect(codesOf(await look.whyJob(id))).toEqual(['scheduler-behind'])
  })

  it.each([
    ['skipped', 'overlap', 'last-skipped'],
    ['missed', 'late', 'last-missed'],
  ])('whose last instant was %s (%s) says so', async (outcome, reason, code) => {
    const id = await make()
    await look.stage.db.owner.query(
      `insert into occurrences (tenant_id, job_id, nominal_at, project_id, job_version, outcome, reason, tz_version, decided_at)
       values ($1, $2, now() - interval '1 minute', $3, 1, $4, $5, 'x', now())`,
      [look.stage.tenant.tenantId, id, look.stage.tenant.projectId, outcome, reason],
    )
    expect((await look.whyJob(id)).reasons).toMatchObject([{ code: 'not-due' }, { code, evidence: { reason } }])
  })

  it('whose run a limit stops says which', async () => {
    const ctx = testCtx(look.stage.db, await createTenant(look.stage.db))
    const { id } = await createJob(ctx, sampleJob({ schedule: null }))
    const none = { key: null, cost: null, rate: null, backlog: null }
    const made = await createLimit(ctx, { name: 'one', scope: { type: 'job', jobId: id }, ...none, concurrency: 1 })
    const start = async () => acceptRuns(look.stage.intake, [await prepareJobRun(ctx, id, {})], false)
    await start()
    await look.stage.admit()
    await start()
    const why = await look.whyJob(id, ctx)
    expect(codesOf(why)).toEqual(['no-schedule', 'running', 'limit-full'])
    expect(why).toMatchObject({ isWaiting: true, reasons: [{}, {}, { evidence: { limitId: made.id } }] })
  })

  it.each([
    ['reject', 'the next one is refused'],
    ['drop-oldest', 'the next one ends the oldest of them'],
  ] as const)(
    'whose runs can not wait any more says for which limit, and what comes of it: %s',
    async (whenFull, what) => {
      const ctx = testCtx(look.stage.db, await createTenant(look.stage.db))
      const { id } = await createJob(ctx, sampleJob({ schedule: hourly }))
      const none = { cost: null, rate: null, concurrency: null }
      const scope = { type: 'job', jobId: id } as const
      const made = await createLimit(ctx, { name: 'few', scope, key: 'method', ...none, backlog: { max: 2, whenFull } })
      const start = async () => acceptRuns(look.stage.intake, [await prepareJobRun(ctx, id, {})], false)
      await start()
      expect(codesOf(await explainJob(ctx, id))).toEqual(['running', 'not-due'])
      await start()
      const why = await look.whyJob(id, ctx)
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
    const result = await acceptMinding(look.stage.intake, await prepareJobRun(look.stage.ctx, id, {}), 'allow')
    await look.stage.admit({ aheadMs: 1_000 })
    const runIds = [result.outcome === 'refused' ? '' : result.run.id]
    expect((await look.whyJob(id)).reasons).toMatchObject([
      { code: 'running', evidence: { runIds } },
      { code: 'not-due' },
    ])
  })
})
