import { afterAll, beforeAll, beforeEach, expect, inject, onTestFinished, test } from 'vitest'
import { withTx } from '../../src/db/context.ts'
import { createLimit } from '../../src/flow/limits.ts'
import { createJob } from '../../src/job/create.ts'
import type { Uuid } from '../../src/kernel/ids.ts'
import { createOperation, planOperation } from '../../src/operation/create.ts'
import { getOperation } from '../../src/operation/get.ts'
import { stepOperation } from '../../src/operation/step.ts'
import { announceExecutor } from '../../src/run/admit.ts'
import { materialise } from '../../src/run/materialise.ts'
import { listOccurrences } from '../../src/run/occurrences.ts'
import { rescueShard } from '../../src/run/rescue.ts'
import { sampleJob } from '../../src/testing/job-samples.ts'
import { type AlarmKind, installationAlarmKinds, promptAlarmKinds } from '../../src/watch/alarm.ts'
import { lookForAstray, readRound } from '../../src/watch/astray.ts'
import { listAlarms } from '../../src/watch/list.ts'
import { defaultPatience, lookAtInstallation, lookFor } from '../../src/watch/look.ts'
import { repairSchedule } from '../../src/watch/repair.ts'
import { notePass, settleAlarms, settleInstallationAlarms } from '../../src/watch/settle.ts'
import { createStage, executorId, type Stage } from '../run/stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())
beforeEach(async () => {
  for (const table of [
    'alarms',
    'installation_alarms',
    'watchdog_passes',
    'schedules',
    'due',
    'ready',
    'held',
    'operations',
    'executors',
    'flow_limits',
  ])
    await stage.db.owner.query(`delete from ${table}`)
})

const look = { shard: 1, patience: defaultPatience }
const pageSize = { value: 250 }
const pass = async (): Promise<void> => {
  for (const kind of promptAlarmKinds)
    await settleAlarms(stage.db.engine, kind, await lookFor(stage.db.engine, kind, look))
  const round = await lookForAstray(stage.db.engine, {
    shard: 1,
    since: await readRound(stage.db.engine, 1),
    pageSize: pageSize.value,
  })
  await settleAlarms(stage.db.engine, 'schedule-astray', round.findings, round.looked)
  for (const kind of installationAlarmKinds) {
    const found = await lookAtInstallation(stage.db.engine, kind, look)
    await settleInstallationAlarms(stage.db.engine, kind, found)
  }
  await notePass(stage.db.engine, 1, { keepDays: 30, seen: round.reached })
}
const alarms = async (): Promise<[AlarmKind, Uuid][]> =>
  (await listAlarms(stage.ctx, { all: false })).alarms.map(({ kind, subject }) => [kind, subject])
const jobOf = async (): Promise<Uuid> =>
  (
    await createJob(
      stage.ctx,
      sampleJob({ schedule: { type: 'cron', cron: '* * * * *', timezone: 'UTC' }, catchUp: 'all' }),
    )
  ).id
const setNext = (jobId: Uuid, secondsAgo: number | null): Promise<unknown> =>
  stage.db.owner.query(
    `update schedules set next_at = case when $2::float8 is null then null
       else date_trunc('minute', clock_timestamp()) - $2 * interval '1 second' end where job_id = $1`,
    [jobId, secondsAgo],
  )
const nextAt = (jobId: Uuid): Promise<Date | null> =>
  stage.value<Date | null>('select next_at as value from schedules where job_id = $1', jobId)
const ledger = async (jobId: Uuid) =>
  (await listOccurrences(stage.ctx, jobId, { from: new Date(0), to: new Date('2100-01-01') }, { limit: 200 })).items
const repair = (jobId: Uuid) => withTx(stage.ctx, (tx) => repairSchedule(tx, jobId))

test('a schedule that stands still is found, told to its tenant once, and told when it moves again', async () => {
  const [stuck, well] = [await jobOf(), await jobOf()]
  const right = await nextAt(stuck)
  await setNext(stuck, 300)
  await pass()
  await pass()
  expect(await alarms()).toEqual([['schedule-stuck', stuck]])
  await stage.db.owner.query('update schedules set next_at = $2 where job_id = $1', [stuck, right])
  await pass()
  expect(await alarms()).toEqual([])
  expect(await listAlarms(stage.ctx, { all: true })).toMatchObject({ alarms: [{ subject: stuck }] })
  const told = (id: Uuid) =>
    stage.value(
      "select array_agg(type order by xid, seq) as value from events where subject = $1 and type like '%stuck'",
      id,
    )
  expect(await told(stuck)).toEqual(['job.stuck', 'job.unstuck'])
  expect(await told(well)).toBeNull()
})

test('within its grace, paused or for a test clock, a schedule does not alarm', async () => {
  const [inGrace, paused] = [await jobOf(), await jobOf()]
  await stage.db.owner.query('update schedules set grace_seconds = 3600 where job_id = $1', [inGrace])
  await stage.db.owner.query('update schedules set paused = true where job_id = $1', [paused])
  await setNext(inGrace, 600)
  await setNext(paused, 600)
  await pass()
  expect(await alarms()).toEqual([])
})

test('a lease, an operation, runs that are not let go, and late dispatch are found, too', async () => {
  const [run] = await stage.running(1)
  await stage.db.owner.query("update held set lease_until = clock_timestamp() - interval '1 minute'")
  await stage.accept({ dueAt: new Date(Date.now() + 60_000) })
  await stage.db.owner.query("update due set due_at = clock_timestamp() - interval '1 minute'")
  await jobOf()
  const operation = await createOperation(stage.ctx, {
    kind: 'jobs.pause',
    plan: { filter: {}, reason: null },
    rate: null,
  })
  await stage.db.owner.query(
    "update operations set next_at = clock_timestamp() - interval '10 minutes', created_at = clock_timestamp() - interval '10 minutes'",
  )
  await pass()
  expect(await alarms()).toEqual(
    expect.arrayContaining([
      ['lease-stuck', run?.id],
      ['operation-stuck', operation.id],
    ]),
  )
  expect(await listAlarms(stage.ctx, { all: false })).toMatchObject({
    installation: [{ kind: 'dispatch-stuck', name: '1' }],
    isWatchdogSilent: false,
  })
})

const stopped = async () => (await lookAtInstallation(stage.db.engine, 'dispatch-stuck', look)).map(({ name }) => name)

test('runs that are ready and free to go are found; what waits for its queue or its limit is not, while an executor lives', async () => {
  await stage.accept({})
  await stage.db.owner.query("update ready set due_at = clock_timestamp() - interval '1 minute'")
  expect(await stopped()).toEqual(['1'])
  await announceExecutor(stage.db.engine, { id: executorId, pool: 1, capacity: 10, running: 0, finishedPerSecond: 0 })
  expect(await stopped()).toEqual(['1'])
  await stage.db.owner.query('update limits set paused = true')
  expect(await stopped()).toEqual([])
  await stage.db.owner.query('update limits set paused = false')
  await stage.running(1)
  expect(await stopped()).toEqual([])
})

test('runs of a lane are found when no executor lives', async () => {
  await createLimit(stage.ctx, {
    name: 'a limit',
    scope: { type: 'project' },
    key: 'body.a',
    cost: null,
    concurrency: 1,
    rate: null,
    backlog: null,
  })
  const [leased] = await stage.running(1)
  await stage.accept({})
  await stage.db.owner.query("update ready set due_at = clock_timestamp() - interval '1 minute'")
  expect(await stopped()).toEqual(['1'])
  await announceExecutor(stage.db.engine, { id: executorId, pool: 1, capacity: 10, running: 0, finishedPerSecond: 0 })
  expect(await stopped()).toEqual([])
  await stage.db.owner.query("update held set lease_until = clock_timestamp() - interval '1 minute'")
  await pass()
  expect(await alarms()).toEqual([['lease-stuck', leased?.id]])
  expect(await rescueShard(stage.db.engine, 1, 1)).toEqual({ requeued: 0, retried: 1, failed: 0 })
  await pass()
  expect(await alarms()).toEqual([])
})

test('partitions that nobody made are found before they are needed', async () => {
  const name = await stage.value<string>(
    "select 'run_logs_w' || to_char(date_trunc('week', clock_timestamp() at time zone 'UTC') + interval '2 weeks', 'IYYY_IW') as value",
  )
  await stage.db.owner.query(`drop table ${name}`)
  await pass()
  const { installation } = await listAlarms(stage.ctx, { all: false })
  expect(installation).toMatchObject([{ kind: 'partitions-missing', name: 'run_logs' }])
})

test('a watchdog that does not look is told as silent', async () => {
  expect(await listAlarms(stage.ctx, { all: false })).toMatchObject({ watchedAt: null, isWatchdogSilent: true })
  await pass()
  expect((await listAlarms(stage.ctx, { all: false })).isWatchdogSilent).toBe(false)
  await stage.db.owner.query("update watchdog_passes set passed_at = clock_timestamp() - interval '2 minutes'")
  expect((await listAlarms(stage.ctx, { all: false })).isWatchdogSilent).toBe(true)
})

/** A job whose schedule has been at work for ten minutes. */
async function atWork(): Promise<Uuid> {
  const job = await jobOf()
  await stage.db.owner.query("update schedule_spans set from_at = from_at - interval '11 minutes' where job_id = $1", [
    job,
  ])
  await stage.db.owner.query('update schedules set grace_seconds = 3600 where job_id = $1', [job])
  await setNext(job, 600)
  await materialise(stage.db.engine, { keyRing: stage.db.engineKeyRing, shard: 1, aheadMs: 2_000, limit: 10 })
  return job
}

test('a schedule that lost its next instant goes on after the last one that its ledger has', async () => {
  const job = await atWork()
  const right = await nextAt(job)
  expect(right).not.toBeNull()
  expect(await repair(job)).toMatchObject({ isRepaired: false })
  for (const wrong of [null, -86_400, 3_600]) {
    await setNext(job, wrong)
    expect(await repair(job)).toMatchObject({ isRepaired: true, missing: 0, after: right })
    expect(await repair(job)).toMatchObject({ isRepaired: false })
    expect(await nextAt(job)).toEqual(right)
  }
})

test('gaps are found in the ledger and decided by the scheduler, and nothing is decided twice', async () => {
  const job = await atWork()
  const before = (await ledger(job)).map(({ nominalAt }) => nominalAt)
  expect(before.length).toBeGreaterThan(5)
  await stage.db.owner.query('delete from occurrences where job_id = $1 and nominal_at = any($2)', [
    job,
    before.slice(2, 4),
  ])
  expect(await repair(job)).toMatchObject({
    isRepaired: true,
    missing: 2,
    after: before[3] && new Date(Math.min(+(before[2] ?? 0), +before[3])),
  })
  await materialise(stage.db.engine, { keyRing: stage.db.engineKeyRing, shard: 1, aheadMs: 2_000, limit: 10 })
  expect((await ledger(job)).map(({ nominalAt }) => nominalAt)).toEqual(before)
  expect(await repair(job)).toMatchObject({ isRepaired: false })
})

test('a schedule that would leave out an instant, or stop, is found before it does, and cleared once it is repaired', async () => {
  const [late, lost, over, paused, well] = [
    await atWork(),
    await atWork(),
    await atWork(),
    await atWork(),
    await atWork(),
  ]
  await createJob(stage.ctx, sampleJob({ schedule: { type: 'at', at: new Date(Date.now() + 1_500).toISOString() } }))
  await materialise(stage.db.engine, { keyRing: stage.db.engineKeyRing, shard: 1, aheadMs: 2_000, limit: 10 })
  await setNext(late, -86_400)
  await setNext(lost, null)
  await setNext(over, null)
  await stage.db.owner.query('update schedules set runs_left = 0 where job_id = $1', [over])
  await setNext(paused, -86_400)
  await stage.db.owner.query('update schedules set paused = true where job_id = $1', [paused])
  await pass()
  await pass()
  expect(new Map((await alarms()).map(([kind, subject]) => [subject, kind]))).toEqual(
    new Map([
      [late, 'schedule-astray'],
      [lost, 'schedule-astray'],
    ]),
  )
  expect([await repair(late), await repair(lost), await repair(well)]).toMatchObject([
    { isRepaired: true },
    { isRepaired: true },
    { isRepaired: false },
  ])
  await pass()
  expect(await alarms()).toEqual([])
  expect(
    await stage.value(
      "select array_agg(type order by xid, seq) as value from events where subject = $1 and type like '%stuck'",
      lost,
    ),
  ).toEqual(['job.stuck', 'job.unstuck'])
})

test('a round goes over all schedules, a page a look, and looks at those that are told of each time', async () => {
  const jobs = [await atWork(), await atWork(), await atWork()]
  for (const job of jobs) await setNext(job, null)
  pageSize.value = 1
  onTestFinished(() => {
    pageSize.value = 250
  })
  const counts: number[] = []
  for (let look = 0; look < 5; look++) {
    await pass()
    counts.push((await alarms()).length)
  }
  expect(counts).toEqual([1, 2, 3, 3, 3])
  for (const job of jobs) await repair(job)
  await pass()
  expect(await alarms()).toEqual([])
})

test('a long stretch that the ledger tells of in one row has been decided, however long ago it began', async () => {
  const job = await atWork()
  const right = await nextAt(job)
  await stage.db.owner.query('delete from occurrences where job_id = $1', [job])
  await stage.db.owner.query("update schedule_spans set from_at = from_at - interval '60 days' where job_id = $1", [
    job,
  ])
  await stage.db.owner.query(
    `insert into occurrences (tenant_id, project_id, job_id, job_version, nominal_at, until_at, count, outcome, reason, tz_version, decided_at)
     select tenant_id, project_id, job_id, job_version, date_trunc('minute', clock_timestamp()) - interval '40 days',
       next_at - interval '1 minute', 57600, 'missed', null, tz_version, clock_timestamp() from schedules where job_id = $1`,
    [job],
  )
  await pass()
  expect(await alarms()).toEqual([])
  await stage.db.owner.query("update schedules set next_at = $2::timestamptz + interval '1 minute' where job_id = $1", [
    job,
    right,
  ])
  await pass()
  expect(await alarms()).toEqual([['schedule-astray', job]])
})

test('many are repaired by an operation that is counted first, with an audit line each', async () => {
  const [stuck, well] = [await atWork(), await atWork()]
  await setNext(stuck, 7_200)
  await pass()
  const plan = { filter: {}, onlyStuck: true }
  expect(await planOperation(stage.ctx, { kind: 'jobs.repair', plan, rate: null })).toMatchObject({ total: 1 })
  const { id } = await createOperation(stage.ctx, {
    kind: 'jobs.repair',
    plan: { filter: {}, onlyStuck: false },
    rate: null,
  })
  const { clock, keyRing } = stage.ctx
  while ((await stepOperation({ engine: stage.db.engine, keyRing, clock, shard: 1 })) !== null);
  expect(await getOperation(stage.ctx, id)).toMatchObject({ state: 'finished', done: 1, unchanged: 1 })
  const audited = (job: Uuid) =>
    stage.value("select count(*)::int as value from audit_entries where action = 'job.repair' and subject = $1", job)
  expect([await audited(stuck), await audited(well)]).toEqual([1, 0])
})
