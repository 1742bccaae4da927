import { createCalendar } from '@meridian/core/calendar/create'
import { updateCalendar } from '@meridian/core/calendar/update'
import { advanceTestClock, createTestClock, deleteTestClock, getTestClock } from '@meridian/core/clock/test-clocks'
import type { Ctx } from '@meridian/core/db/context'
import { createJob } from '@meridian/core/job/create'
import { getJob } from '@meridian/core/job/get'
import { pauseJob, resumeJob } from '@meridian/core/job/set-state'
import { acceptRuns } from '@meridian/core/run/accept'
import { cancelRun } from '@meridian/core/run/cancel'
import { getRun, listAttempts } from '@meridian/core/run/get'
import { listRuns } from '@meridian/core/run/list'
import { listOccurrences } from '@meridian/core/run/occurrences'
import { prepareRun } from '@meridian/core/run/prepare'
import { retryPolicyValue, toRetryPolicy } from '@meridian/core/run/retry-policy'
import type { Run } from '@meridian/core/run/run'
import { createTenant, testCtx } from '@meridian/core/testing/factories'
import { sampleJob } from '@meridian/core/testing/job-samples'
import { expect, it } from 'vitest'
import { openScene, type Scene, until } from './scene.ts'
import { targetOf } from './workers.ts'

const march = new Date('2031-03-01T00:00:00Z')
const daily = { type: 'cron', cron: '0 6 * * *', timezone: 'UTC' } as const
const roles = ['scheduler', 'dispatcher', 'executor', 'relay', 'reaper'] as const

/** A project that is made for tests, beside the scene's own, with its clock. */
async function openProject(scene: Scene, now = march) {
  const { db } = scene.bench
  const projects = [{ slug: 'sandbox', name: 'Sandbox', label: 'development' as const, hasTestClock: true }]
  const tenant = await createTenant(db, { projects })
  const ctx = testCtx(db, tenant, { keyRing: scene.bench.ctx.keyRing })
  const clock = await createTestClock(ctx, { name: 'a month', now })
  return { ctx, clock }
}

async function advance(ctx: Ctx, id: string, way: { by: string } | { to: Date }): Promise<Date> {
  await advanceTestClock(ctx, id, way)
  await until(async () => (await getTestClock(ctx, id)).target === null)
  return (await getTestClock(ctx, id)).now
}

const runsOf = async (ctx: Ctx): Promise<Run[]> => (await listRuns(ctx, {}, { limit: 100 })).items.toReversed()
const jobAt = (scene: Scene, path: string, more = {}) =>
  sampleJob({ target: { type: 'http', url: `${scene.target.url}${path}` }, schedule: daily, ...more })
const accept = async (scene: Scene, ctx: Ctx, path: string, dueAt?: Date): Promise<Run> => {
  const row = await prepareRun(ctx, { target: targetOf(`${scene.target.url}${path}`), ...(dueAt ? { dueAt } : {}) })
  const [result] = await acceptRuns(ctx, [row], false)
  if (result === undefined || result.outcome === 'refused') throw result?.error ?? new Error('not answered')
  return result.run
}

it('a month of a daily job runs while the clock is advanced by it, instant by instant', async () => {
  const scene = await openScene()
  await scene.bench.startWorkers(...roles)
  const { ctx, clock } = await openProject(scene)
  const job = await createJob(ctx, jobAt(scene, '/daily'))
  expect(job.nextAt).toEqual(new Date('2031-03-01T06:00:00Z'))
  expect(await advance(ctx, clock.id, { by: 'P1M' })).toEqual(new Date('2031-04-01T00:00:00Z'))

  const nominal = Array.from({ length: 31 }, (_, day) => new Date(Date.UTC(2031, 2, 1 + day, 6)).toISOString())
  const runs = await runsOf(ctx)
  expect(runs.map((run) => run.nominalAt?.toISOString())).toEqual(nominal)
  expect(runs.map((run) => run.dueAt.toISOString())).toEqual(nominal)
  expect(new Set(runs.map((run) => run.status))).toEqual(new Set(['succeeded']))
  expect(scene.requestsTo('/daily').map(({ headers }) => headers['meridian-nominal-at'])).toEqual(nominal)
  const ledger = await listOccurrences(ctx, job.id, { from: march, to: new Date('2032-01-01') }, { limit: 100 })
  expect(ledger.items.map(({ outcome, nominalAt }) => [outcome, nominalAt.toISOString()])).toEqual(
    nominal.map((at) => ['run', at]),
  )
  expect((await getJob(ctx, job.id)).nextAt).toEqual(new Date('2031-04-01T06:00:00Z'))
  // Nobody else has seen any of it.
  expect(await scene.count('(select from due where pool = 1) x')).toBe(0)
  expect(runs.every((run) => (run.latenessMs ?? 0) < 10_000)).toBe(true)
})

it('what is due at different instants runs in their order, each after the one before has ended', async () => {
  const scene = await openScene()
  await scene.bench.startWorkers(...roles)
  const { ctx, clock } = await openProject(scene)
  scene.gates.set('/first', [])
  await accept(scene, ctx, '/third', new Date('2031-03-03T00:00:00Z'))
  await accept(scene, ctx, '/second', new Date('2031-03-02T00:00:00.001Z'))
  const first = await accept(scene, ctx, '/first', new Date('2031-03-02T00:00:00Z'))
  expect(first).toMatchObject({ status: 'scheduled' })
  await advanceTestClock(ctx, clock.id, { to: new Date('2031-03-10T00:00:00Z') })
  await scene.target.waitFor(1)
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(scene.target.received.map(({ path }) => path)).toEqual(['/first'])
  expect(await getTestClock(ctx, clock.id)).toMatchObject({ now: new Date('2031-03-02T00:00:00Z'), openRuns: 1 })
  await expect(advanceTestClock(ctx, clock.id, { by: 'P1D' })).rejects.toMatchObject({ code: 'conflict' })
  for (const open of scene.gates.get('/first') ?? []) open()
  await until(async () => (await getTestClock(ctx, clock.id)).target === null)
  expect(scene.target.received.map(({ path }) => path)).toEqual(['/first', '/second', '/third'])
})

it('retries are due by the clock; what is due now runs while it stands still', async () => {
  const scene = await openScene()
  await scene.bench.startWorkers(...roles)
  const { ctx, clock } = await openProject(scene)
  const job = await createJob(ctx, {
    ...jobAt(scene, '/gone'),
    target: { type: 'http', url: 'http://127.0.0.1:9/nobody' },
    retry: { limit: 2, delay: 'PT1H', factor: 2, maxDelay: 'PT24H', jitter: 0 },
  })
  await advance(ctx, clock.id, { to: new Date('2031-03-01T06:30:00Z') })
  const [run] = await runsOf(ctx)
  expect(run).toMatchObject({ status: 'scheduled', attempt: 1, dueAt: new Date('2031-03-01T07:00:00Z') })
  await advance(ctx, clock.id, { to: new Date('2031-03-01T12:00:00Z') })
  expect(await getRun(ctx, run?.id ?? '')).toMatchObject({ status: 'failed', attempt: 3 })
  const attempts = await listAttempts(ctx, run?.id ?? '')
  expect(attempts.map(({ retryAt }) => retryAt?.toISOString() ?? null)).toEqual([
    '2031-03-01T07:00:00.000Z',
    '2031-03-01T09:00:00.000Z',
    null,
  ])
  await pauseJob(ctx, job.id, null)

  const now = await accept(scene, ctx, '/now')
  await until(async () => (await getRun(ctx, now.id)).finishedAt !== null)
  expect(await getRun(ctx, now.id)).toMatchObject({ status: 'succeeded', dueAt: new Date('2031-03-01T12:00:00Z') })
})

it('a clock in the past is no different, and pausing, resuming and cancelling go by it', async () => {
  const scene = await openScene()
  await scene.bench.startWorkers(...roles)
  const { ctx, clock } = await openProject(scene, new Date('2001-01-01T00:00:00Z'))
  const job = await createJob(ctx, jobAt(scene, '/old'))
  await advance(ctx, clock.id, { by: 'P2D' })
  await pauseJob(ctx, job.id, null)
  await advance(ctx, clock.id, { by: 'P3D' })
  expect((await resumeJob(ctx, job.id)).nextAt).toEqual(new Date('2001-01-06T06:00:00Z'))
  const later = await accept(scene, ctx, '/never', new Date('2001-01-07T00:00:00Z'))
  await cancelRun(ctx, later.id)
  await advance(ctx, clock.id, { by: 'P2D' })
  expect(scene.target.received.map(({ path }) => path)).toEqual(['/old', '/old', '/old', '/old'])
  await deleteTestClock(ctx, clock.id)
  await expect(accept(scene, ctx, '/none')).rejects.toMatchObject({ code: 'conflict' })
})

it('workers are killed while a clock is on its way: it arrives, and nothing runs twice or not at all', async () => {
  const scene = await openScene()
  await scene.bench.startWorkers('dispatcher', 'executor', 'relay', 'reaper')
  const { ctx, clock } = await openProject(scene)
  await createJob(ctx, jobAt(scene, '/daily'))
  await advanceTestClock(ctx, clock.id, { by: 'P20D' })
  for (let kills = 0; kills < 3; kills++) {
    const doomed = await scene.spawn(['scheduler'])
    await scene.target.waitFor(scene.target.received.length + 2)
    doomed.signal('SIGKILL')
    await doomed.exited
  }
  await scene.bench.startWorkers('scheduler')
  await until(async () => (await getTestClock(ctx, clock.id)).target === null)
  const nominal = Array.from({ length: 20 }, (_, day) => new Date(Date.UTC(2031, 2, 1 + day, 6)).toISOString())
  expect((await runsOf(ctx)).map((run) => run.nominalAt?.toISOString())).toEqual(nominal)
  expect(scene.requestsTo('/daily').map(({ headers }) => headers['meridian-nominal-at'])).toEqual(nominal)
})

it('only a project that was made for it has a clock, and one at that', async () => {
  const scene = await openScene()
  await expect(createTestClock(scene.bench.ctx, { name: 'no', now: march })).rejects.toMatchObject({ code: 'conflict' })
  const { ctx, clock } = await openProject(scene)
  await expect(createTestClock(ctx, { name: 'second', now: march })).rejects.toMatchObject({
    code: 'conflict',
    extra: { current: { id: clock.id } },
  })
  await expect(advanceTestClock(ctx, clock.id, { to: new Date('2030-01-01') })).rejects.toMatchObject({
    extra: { errors: [{ pointer: '/to' }] },
  })
  await expect(advanceTestClock(ctx, clock.id, { by: 'P100Y' })).rejects.toMatchObject({
    extra: { errors: [{ pointer: '/by' }] },
  })
  await expect(getTestClock(scene.bench.ctx, clock.id)).rejects.toMatchObject({ code: 'not-found' })
})

it('a pause with an end is over when the clock says so: what came before is skipped, what comes after runs', async () => {
  const scene = await openScene()
  await scene.bench.startWorkers(...roles)
  const { ctx, clock } = await openProject(scene)
  const job = await createJob(ctx, jobAt(scene, '/paused'))
  await expect(pauseJob(ctx, job.id, null, new Date('2031-02-28T00:00:00Z'))).rejects.toMatchObject({
    code: 'validation-failed',
  })
  await pauseJob(ctx, job.id, 'until the fourth', new Date('2031-03-04T00:00:00Z'))
  await advance(ctx, clock.id, { to: new Date('2031-03-03T12:00:00Z') })
  expect(await getJob(ctx, job.id)).toMatchObject({ state: 'paused' })
  await advance(ctx, clock.id, { to: new Date('2031-03-06T00:00:00Z') })
  expect(await getJob(ctx, job.id)).toMatchObject({ state: 'active', nextAt: new Date('2031-03-06T06:00:00Z') })
  const ledger = await listOccurrences(ctx, job.id, { from: march, to: new Date('2032-01-01') }, { limit: 100 })
  expect(
    ledger.items.map(({ outcome, reason, nominalAt, count }) => [nominalAt.getUTCDate(), outcome, reason, count]),
  ).toEqual([
    [1, 'skipped', 'paused', 3],
    [4, 'run', null, 1],
    [5, 'run', null, 1],
  ])
})

it('a calendar that changes is asked from where the clock stands on, and never about what has passed there', async () => {
  const scene = await openScene()
  await scene.bench.startWorkers(...roles)
  const { ctx, clock } = await openProject(scene)
  const { name } = await createCalendar(ctx, { name: 'closed', dates: ['2031-03-02', '2031-03-05'] })
  const schedule = { ...daily, notOn: [name] }
  const job = await createJob(ctx, jobAt(scene, '/calendar', { schedule }))
  await advance(ctx, clock.id, { to: new Date('2031-03-03T12:00:00Z') })
  await updateCalendar(ctx, name, { dates: ['2031-03-04'] })
  await advance(ctx, clock.id, { to: new Date('2031-03-06T00:00:00Z') })
  const ledger = await listOccurrences(ctx, job.id, { from: march, to: new Date('2032-01-01') }, { limit: 100 })
  expect(ledger.items.map(({ outcome, reason, nominalAt }) => [nominalAt.getUTCDate(), outcome, reason])).toEqual([
    [1, 'run', null],
    [2, 'skipped', 'calendar'],
    [3, 'run', null],
    [4, 'skipped', 'calendar'],
    [5, 'run', null],
  ])
})

it('what a change of a schedule leaves behind is decided while the clock stands still', async () => {
  const scene = await openScene()
  await scene.bench.startWorkers(...roles)
  const { ctx, clock } = await openProject(scene)
  const job = await createJob(ctx, jobAt(scene, '/left'))
  await pauseJob(ctx, job.id, null)
  await advance(ctx, clock.id, { to: new Date('2031-03-04T00:00:00Z') })
  await resumeJob(ctx, job.id)
  await until(async () => (await scene.count('schedule_rests')) === 0)
  const ledger = await listOccurrences(ctx, job.id, { from: march, to: new Date('2032-01-01') }, { limit: 100 })
  expect(ledger.items).toMatchObject([{ outcome: 'skipped', reason: 'paused', count: 3 }])
})

it('deadlines count from the instant by the clock, a running attempt is real, and a next try counts with its delay', async () => {
  const scene = await openScene()
  await scene.bench.startWorkers(...roles)
  const { ctx, clock } = await openProject(scene)
  await createJob(ctx, jobAt(scene, '/within', { startWithin: 'PT1M', endWithin: 'PT1M' }))
  await advance(ctx, clock.id, { by: 'P2D' })
  expect((await runsOf(ctx)).map(({ status }) => status)).toEqual(['succeeded', 'succeeded'])

  const failing = async (delay: string): Promise<Run> => {
    const retry = toRetryPolicy(retryPolicyValue.parse({ limit: 1, strategy: 'fixed', delay, jitter: 0 }))
    const row = await prepareRun(ctx, { target: targetOf('http://127.0.0.1:1/'), retry, endWithinMs: 3_600_000 })
    await acceptRuns(ctx, [row], false)
    await until(
      async () => (await getRun(ctx, row.id)).attempt === 1 && (await getRun(ctx, row.id)).status !== 'running',
    )
    return getRun(ctx, row.id)
  }
  expect(await failing('PT2H')).toMatchObject({ status: 'failed', error: 'connect-failed' })
  expect(await failing('PT30M')).toMatchObject({ status: 'scheduled', dueAt: new Date('2031-03-03T00:30:00Z') })
})
