import { readEvents } from '@meridian/core/event/read'
import { createJob } from '@meridian/core/job/create'
import { uuidv7 } from '@meridian/core/kernel/ids'
import { type Admitted, admitRuns, announceExecutor } from '@meridian/core/run/admit'
import { type Claimed, claimRuns } from '@meridian/core/run/claim'
import { listAttempts } from '@meridian/core/run/get'
import { materialise } from '@meridian/core/run/materialise'
import { listOccurrences, type Occurrence } from '@meridian/core/run/occurrences'
import { type AttemptRecord, recordEnds, recordRetries } from '@meridian/core/run/record'
import { eventStream } from '@meridian/core/run/wake'
import { sampleJob } from '@meridian/core/testing/job-samples'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createCarrier } from '../src/carrier.ts'
import { redisTarget } from '../src/redis.ts'
import { startTarget, type Target } from './target.ts'
import { startWorkerProcess } from './worker-process.ts'
import { type Bench, createBench, ended, targetOf } from './workers.ts'

let bench: Bench
let target: Target
/** How the target answers a path; until it is told, at once. */
let answers: Map<string, () => Promise<void>>

beforeEach(async () => {
  answers = new Map()
  target = await startTarget(({ path }, response) => {
    const answer = answers.get(path)
    if (answer === undefined) response.end('ok')
    else void answer().then(() => response.end('ok'))
  })
  bench = await createBench({ environment: { LEASE_SECONDS: '2' } })
})
afterEach(async () => {
  await bench.close()
  await target.close()
})

const dead = uuidv7(Date.now())
const heal = () => bench.startWorkers('scheduler', 'dispatcher', 'executor', 'relay', 'reaper')
const requestsTo = (path: string): { attempt: string; fence: string }[] =>
  target.received
    .filter((request) => request.path === path)
    .map(({ headers }) => ({ attempt: String(headers['meridian-attempt']), fence: String(headers['meridian-fence']) }))

/** A job whose one instant has just come, at a path of its own. */
async function instant(path: string): Promise<{ jobId: string; path: string }> {
  const job = await createJob(
    bench.ctx,
    sampleJob({
      target: { type: 'http', url: `${target.url}${path}` },
      schedule: { type: 'at', at: new Date(Date.now() + 60_000).toISOString() },
    }),
  )
  await bench.db.owner.query('update schedules set next_at = $2 where job_id = $1', [
    job.id,
    new Date(Math.floor(Date.now() / 1_000) * 1_000),
  ])
  return { jobId: job.id, path }
}
const write = () =>
  materialise(bench.db.engine, { keyRing: bench.db.engineKeyRing, shard: 1, aheadMs: 2_000, limit: 10 })
const admit = () => admitRuns(bench.db.engine, { pool: 1, batch: 10, capacity: 100, aheadMs: 2_000, queuedSeconds: 1 })
const claim = async (parcel: Admitted[]): Promise<Claimed[]> =>
  (await claimRuns(bench.db.engine, 1, dead, parcel, 1)).runs
const ledger = async (jobId: string): Promise<Occurrence[]> =>
  (await listOccurrences(bench.ctx, jobId, { from: new Date(0), to: new Date('2100-01-01') }, { limit: 10 })).items

/** The occurrence's run has ended well, once, and everything that is told of it agrees. */
async function expectOneEnd(jobId: string): Promise<string> {
  const before = await ledger(jobId)
  expect(before.length).toBeLessThanOrEqual(1)
  while ((await ledger(jobId))[0]?.runId === undefined) await new Promise((resolve) => setTimeout(resolve, 20))
  const [occurrence] = await ledger(jobId)
  const run = await ended(bench.ctx, occurrence?.runId ?? '')
  expect(run.status).toBe('succeeded')
  expect(await ledger(jobId)).toMatchObject([{ outcome: 'run', runId: run.id }])
  const told = await bench.db.owner.query<{ type: string }>(
    "select type from events where subject = $1 and type in ('run.succeeded', 'run.failed', 'run.cancelled', 'run.skipped')",
    [run.id],
  )
  expect(told.rows).toEqual([{ type: 'run.succeeded' }])
  const places = await bench.db.owner.query(
    'select 1 from due where id = $1 union all select 1 from ready where id = $1 union all select 1 from held where id = $1 union all select 1 from runs where id = $1',
    [run.id],
  )
  expect(places.rowCount).toBe(1)
  return run.id
}

const reportOf = (lease: Claimed): AttemptRecord => ({
  lease,
  executorId: dead,
  startedAtMs: Date.now(),
  durationMs: 1,
  httpStatus: 200,
  error: null,
  response: null,
  responseObject: null,
})

describe('a process dies after the commit and before the next step', () => {
  it('accept: the api is gone before it wakes anybody', async () => {
    const [now, soon] = await bench.accept(
      { target: targetOf(`${target.url}/now`) },
      { target: targetOf(`${target.url}/soon`), dueAt: new Date(Date.now() + 300) },
    )
    await heal()
    for (const run of [now, soon])
      expect(await ended(bench.ctx, run?.id ?? '')).toMatchObject({ status: 'succeeded', attempt: 1 })
    expect(target.received).toHaveLength(2)
  })

  it('every other step of the walk, all at once', async () => {
    const steps = [
      'materialise',
      'admit',
      'carry',
      'carry-and-empty',
      'claim',
      'perform',
      'retry',
      'record',
      'tell',
    ] as const
    const jobs = new Map<string, { jobId: string; path: string }>()
    const to = async (step: (typeof steps)[number]): Promise<string> => {
      const made = await instant(`/${step}`)
      jobs.set(step, made)
      await write()
      return made.path
    }
    const carrier = createCarrier(redisTarget(bench.redisUrl), 1, () => undefined)
    while (!carrier.isReady()) await new Promise(setImmediate)

    await to('carry-and-empty')
    await carrier.send([{ runs: await admit(), isAwaited: false }])
    await bench.publisher.flushdb()
    await to('admit')
    await admit()
    await to('carry')
    await carrier.send([{ runs: await admit(), isAwaited: false }])
    await carrier.close()
    await to('claim')
    await claim(await admit())
    // Performed, but not recorded: only the target knows.
    const performed = await to('perform')
    const [unrecorded] = await claim(await admit())
    await fetch(`${target.url}${performed}`, {
      method: 'POST',
      headers: { 'meridian-attempt': String(unrecorded?.attempt), 'meridian-fence': String(unrecorded?.fence) },
    })
    await to('record')
    await recordEnds(
      { engine: bench.db.engine, keyRing: bench.db.keyRing, poolId: 1 },
      (await claim(await admit())).map((lease) => ({ ...reportOf(lease), status: 'succeeded' as const })),
    )
    await to('tell')
    await recordEnds(
      { engine: bench.db.engine, keyRing: bench.db.keyRing, poolId: 1 },
      (await claim(await admit())).map((lease) => ({ ...reportOf(lease), status: 'succeeded' as const })),
    )
    // Told to the stream, but the reader's place was not moved.
    await bench.publisher.xadd(eventStream, '*', 'e', JSON.stringify(await readEvents(bench.db.engine, '0-0', 1_000)))
    await to('retry')
    await recordRetries(
      { engine: bench.db.engine, keyRing: bench.db.keyRing, poolId: 1 },
      (await claim(await admit())).map((lease) => ({
        ...reportOf(lease),
        projectId: lease.projectId,
        error: 'timeout',
        delayMs: 500,
      })),
    )
    await to('materialise')

    await heal()
    const attempts = new Map<string, number>()
    for (const [step, { jobId }] of jobs) {
      const id = await expectOneEnd(jobId)
      attempts.set(step, (await listAttempts(bench.ctx, id)).length)
    }
    // What was lost on the way costs no attempt; what was claimed does.
    expect(Object.fromEntries(attempts)).toEqual({
      materialise: 1,
      admit: 1,
      carry: 1,
      'carry-and-empty': 1,
      claim: 2,
      perform: 2,
      retry: 2,
      record: 1,
      tell: 1,
    })
    expect(
      steps.map((step) =>
        requestsTo(`/${step}`)
          .map(({ attempt }) => attempt)
          .join(),
      ),
    ).toEqual(['1', '1', '1', '1', '2', '1,2', '2', '', ''])
    expect(requestsTo('/perform').map(({ fence }) => Number(fence))).toEqual([1, 2])

    // Each end is counted once, however often it was told.
    const counted = () =>
      bench.db.owner
        .query<{ n: number }>('select coalesce(sum(count), 0)::int as n from run_minutes where state = 4')
        .then((result) => result.rows[0]?.n)
    while ((await counted()) !== steps.length) await new Promise((resolve) => setTimeout(resolve, 20))
  })

  it('an executor is killed between two requests of a parcel: its runs go on elsewhere', async () => {
    const doomed = await startWorkerProcess(['executor'], { ...bench.environment, EXECUTOR_CAPACITY: '1' })
    await bench.startWorkers('dispatcher', 'reaper')
    answers.set('/kill', async () => {
      doomed.signal('SIGKILL')
      await doomed.exited
    })
    const runs = await bench.accept(
      ...['/kill', '/b', '/c', '/d'].map((path) => ({ target: targetOf(`${target.url}${path}`) })),
    )
    await doomed.exited
    answers.clear()
    await bench.startWorkers('executor')
    const all = await Promise.all(runs.map((run) => ended(bench.ctx, run.id)))
    expect(all.map((run) => run.status)).toEqual(['succeeded', 'succeeded', 'succeeded', 'succeeded'])
    expect(requestsTo('/kill').map(({ attempt }) => attempt)).toEqual(['1', '2'])
    for (const path of ['/b', '/c', '/d']) expect(requestsTo(path)).toHaveLength(1)
  })

  it('an executor is killed right after the end was written: the run is not performed again', async () => {
    const doomed = await startWorkerProcess(['executor'], bench.environment)
    await bench.startWorkers('dispatcher', 'reaper')
    const [run] = await bench.accept({ target: targetOf(`${target.url}/once`) })
    await ended(bench.ctx, run?.id ?? '')
    doomed.signal('SIGKILL')
    await doomed.exited
    const [next] = await bench.accept({ target: targetOf(`${target.url}/next`) })
    await bench.startWorkers('executor')
    await ended(bench.ctx, next?.id ?? '')
    expect(requestsTo('/once')).toHaveLength(1)
  })

  it('a scheduler and a dispatcher are killed again and again: every instant has one outcome, and none is missing', async () => {
    const job = await createJob(
      bench.ctx,
      sampleJob({
        target: { type: 'http', url: `${target.url}/tick` },
        schedule: { type: 'every', every: 'PT1S' },
        overlap: 'allow',
      }),
    )
    await bench.startWorkers('executor', 'reaper')
    for (let round = 0; round < 3; round++) {
      const doomed = await startWorkerProcess(['scheduler', 'dispatcher'], bench.environment)
      const seen = target.received.length
      await target.waitFor(seen + 1)
      doomed.signal('SIGKILL')
      await doomed.exited
    }
    const survivors = await bench.startWorkers('scheduler', 'dispatcher')
    await target.waitFor(target.received.length + 2)
    await survivors.stop()
    // A run that was given a slot by one that died before it sent it is ready again after a while, for somebody else.
    await bench.startWorkers('dispatcher')
    // Whatever was decided ends; what is left is still pending.
    const decided = (await ledger(job.id)).filter((each) => each.outcome !== 'pending')
    const instants = decided.map((each) => each.nominalAt.getTime())
    expect(instants).toEqual(instants.map((_, index) => (instants[0] ?? 0) + index * 1_000))
    for (const each of decided) {
      expect(each.outcome).toBe('run')
      expect(await ended(bench.ctx, each.runId ?? '')).toMatchObject({ status: 'succeeded' })
    }
  })
})

describe('a carrier without takers', () => {
  it('nothing is admitted for executors that fell silent', async () => {
    await announceExecutor(bench.db.engine, { id: dead, pool: 1, capacity: 10, running: 0, finishedPerSecond: 0 })
    await bench.db.owner.query("update executors set seen_at = seen_at - interval '1 minute'")
    await bench.startWorkers('dispatcher')
    const [run] = await bench.accept({ target: targetOf(`${target.url}/later`) })
    const { rows } = await bench.db.owner.query('select pg_sleep(0.4), (select count(*)::int from ready) as ready')
    expect(rows[0]).toMatchObject({ ready: 1 })
    await bench.startWorkers('executor')
    expect(await ended(bench.ctx, run?.id ?? '')).toMatchObject({ status: 'succeeded' })
  })
})
