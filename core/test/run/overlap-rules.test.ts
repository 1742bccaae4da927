import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { createJob } from '../../src/job/create.ts'
import type { NewJob } from '../../src/job/job.ts'
import { pauseJob } from '../../src/job/set-state.ts'
import { acceptMinding } from '../../src/run/accept.ts'
import { admitRuns } from '../../src/run/admit.ts'
import { cancelRun } from '../../src/run/cancel.ts'
import { getRun } from '../../src/run/get.ts'
import { materialise } from '../../src/run/materialise.ts'
import { listOccurrences, type Occurrence } from '../../src/run/occurrences.ts'
import { type OverlapRule, overlapRules } from '../../src/run/overlap.ts'
import { runSources } from '../../src/run/run.ts'
import { prepareJobRun } from '../../src/run/trigger.ts'
import { sampleJob } from '../../src/testing/job-samples.ts'
import { createStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())
afterEach(async () => {
  for (const table of ['schedules', 'due', 'ready', 'held']) await stage.db.owner.query(`delete from ${table}`)
})

const jobOf = async (overlap: NonNullable<NewJob['overlap']>): Promise<string> =>
  (await createJob(stage.ctx, sampleJob({ overlap, schedule: { type: 'at', at: '2090-01-01T00:00:00Z' } }))).id

const written = new Map<string, number>()

/** Writes the job's next instants, a second apart and all of them past, so that they are due now. */
async function writeInstants(jobId: string, count = 1): Promise<void> {
  for (let index = 0; index < count; index++) {
    const atMs = (written.get(jobId) ?? Math.floor(Date.now() / 1_000) * 1_000 - 30_000) + 1_000
    written.set(jobId, atMs)
    await stage.db.owner.query('update schedules set next_at = $2 where job_id = $1', [jobId, new Date(atMs)])
    await materialise(stage.db.engine, { keyRing: stage.db.engineKeyRing, shard: 1, aheadMs: 0, limit: 100 })
  }
}
const ledger = async (jobId: string): Promise<Occurrence[]> =>
  (await listOccurrences(stage.ctx, jobId, { from: new Date(0), to: new Date('2100-01-01') }, { limit: 200 })).items
const fates = async (jobId: string): Promise<string> =>
  (await ledger(jobId)).map((each) => (each.outcome === 'skipped' ? `-${each.reason}` : each.outcome)).join(' ')
/** Admits, performs and ends everything that may run; says how many there were. */
async function perform(): Promise<number> {
  const claimed = await stage.claim(await stage.admit())
  await stage.end(claimed)
  return claimed.length
}

describe.each(['queue-one', 'queue-all', 'replace'] as const)('overlap: %s', (overlap) => {
  it('nothing is open: it runs', async () => {
    const job = await jobOf(overlap)
    await writeInstants(job)
    expect(await perform()).toBe(1)
    expect(await fates(job)).toBe('run')
  })

  it.each([
    ['waits for a slot', async () => void (await stage.admit({ capacity: 0 }))],
    ['is running', async () => void (await stage.claim(await stage.admit()))],
    ['waits for its next try', async () => void (await stage.retry(await stage.claim(await stage.admit()), 60_000))],
  ])('while the run before it %s, it waits, scheduled', async (_name, bring) => {
    const job = await jobOf(overlap)
    await writeInstants(job)
    await bring()
    await writeInstants(job)
    await stage.admit({ capacity: 0 })
    expect(await fates(job)).toBe('run pending')
    const [, second] = await ledger(job)
    expect(await getRun(stage.ctx, second?.runId ?? '')).toMatchObject({ status: 'scheduled', attempt: 0 })
  })

  it('the next one runs when the one before it has ended, one at a time and in order', async () => {
    const job = await jobOf(overlap)
    await writeInstants(job, 3)
    const order: (Date | undefined)[] = []
    const instants = (await ledger(job)).map((each) => each.nominalAt)
    for (let round = 0; round < 4; round++) {
      const claimed = await stage.claim(await stage.admit())
      expect(claimed.length).toBeLessThanOrEqual(1)
      order.push(...claimed.map((run) => new Date(run.nominalAtMs ?? 0)))
      await stage.end(claimed)
    }
    const expected = { 'queue-one': [0, 1], 'queue-all': [0, 1, 2], replace: [0, 2] }[overlap]
    expect(order).toEqual(expected.map((index) => instants[index]))
    expect(await fates(job)).toBe(
      { 'queue-one': 'run run -overlap', 'queue-all': 'run run run', replace: 'run -overlap run' }[overlap],
    )
  })

  it('later ones meet the one that waits', async () => {
    const job = await jobOf(overlap)
    await writeInstants(job)
    const first = await stage.claim(await stage.admit())
    await writeInstants(job)
    await stage.admit()
    await writeInstants(job)
    await stage.admit()
    expect(await fates(job)).toBe(
      { 'queue-one': 'run pending -overlap', 'queue-all': 'run pending pending', replace: 'run -overlap pending' }[
        overlap
      ],
    )
    await stage.end(first)
    expect(await perform()).toBe(1)
    for (const { runId } of await ledger(job)) expect(await stage.whereIs(runId ?? '')).toHaveLength(1)
  })

  it('what waits can be cancelled, and a pause takes it back', async () => {
    const job = await jobOf(overlap)
    await writeInstants(job)
    await stage.claim(await stage.admit())
    await writeInstants(job)
    await stage.admit()
    const [, second] = await ledger(job)
    await cancelRun(stage.ctx, second?.runId ?? '')
    expect(await stage.whereIs(second?.runId ?? '')).toEqual(['cancelled'])
    expect(await fates(job)).toBe('run -cancelled')
    await writeInstants(job)
    await stage.admit()
    await pauseJob(stage.ctx, job, null)
    expect(await fates(job)).toBe('run -cancelled')
    expect(await stage.value('select count(*)::int as value from due where job_id = $1', job)).toBe(0)
  })

  it('jobs do not wait for each other, however many dispatchers there are', async () => {
    const jobs = await Promise.all(Array.from({ length: 20 }, () => jobOf(overlap)))
    for (const job of jobs) await writeInstants(job, 2)
    let performed = 0
    for (let round = 0; round < 6; round++)
      performed += (await Promise.all(Array.from({ length: 4 }, perform))).reduce((sum, count) => sum + count, 0)
    expect(performed).toBe(40)
    for (const job of jobs) expect(await fates(job)).toBe('run run')
  })
})

describe('overlap: cancel-running', () => {
  it('stops what runs, and starts the new one; its late report is refused', async () => {
    const job = await jobOf('cancel-running')
    await writeInstants(job)
    const [old] = await stage.claim(await stage.admit())
    await writeInstants(job)
    const stopped: unknown[] = []
    const [admitted] = await admitRuns(stage.db.engine, {
      ...{ pool: 1, batch: 10, capacity: 10, aheadMs: 25, queuedSeconds: 5 },
      onStopped: (run) => stopped.push(run),
    })
    expect(stopped).toEqual([{ id: old?.id, fence: old?.fence }])
    const [first, second] = await ledger(job)
    expect(admitted?.[2]).toBe(second?.runId)
    expect(await getRun(stage.ctx, first?.runId ?? '')).toMatchObject({ status: 'cancelled', error: 'overlap' })
    expect(await stage.eventsOf(first?.runId ?? '')).toEqual(['run.cancelled'])
    if (old !== undefined) expect(await stage.end([old])).toEqual(new Set())
    expect(await fates(job)).toBe('run run')
  })

  it.each([
    ['waits for a slot', async () => void (await stage.admit({ capacity: 0 }))],
    ['is queued', async () => void (await stage.admit())],
    ['waits for its next try', async () => void (await stage.retry(await stage.claim(await stage.admit()), 60_000))],
    ['is due for its next try', async () => void (await stage.retry(await stage.claim(await stage.admit()), 0))],
  ])('cancels one that %s', async (_name, bring) => {
    const job = await jobOf('cancel-running')
    await writeInstants(job)
    await bring()
    await writeInstants(job)
    expect(await stage.admit()).toHaveLength(1)
    const [first, second] = await ledger(job)
    expect(await stage.whereIs(first?.runId ?? '')).toEqual(['cancelled'])
    expect(await stage.whereIs(second?.runId ?? '')).toEqual(['queued'])
  })

  it('of several at once the newest runs', async () => {
    const job = await jobOf('cancel-running')
    await writeInstants(job, 3)
    expect(await stage.admit()).toHaveLength(1)
    expect(await fates(job)).toBe('-overlap -overlap run')
  })
})

describe('a run by hand with an overlap rule', () => {
  const byHand = async (job: string, rule: OverlapRule, key?: string): Promise<string> => {
    const options = key === undefined ? {} : { idempotencyKey: key, fingerprint: Buffer.alloc(32) }
    const result = await acceptMinding(stage.intake, await prepareJobRun(stage.ctx, job, options), rule)
    if (result.outcome === 'refused') throw result.error
    return result.run.id
  }
  const places = async (job: string, rule: OverlapRule): Promise<string[]> => {
    const id = await byHand(job, rule)
    await stage.admit({ aheadMs: 1_000 })
    return stage.whereIs(id)
  }

  it.each(overlapRules)('runs when nothing is open: %s', async (rule) => {
    expect(await places(await jobOf('skip'), rule)).toEqual(['queued'])
  })

  it.each([
    ['skip', 'skipped'],
    ['allow', 'queued'],
    ['queue-one', 'due'],
    ['queue-all', 'due'],
    ['replace', 'due'],
    ['cancel-running', 'queued'],
  ] as const)('while another one is open: %s', async (rule, place) => {
    const job = await jobOf('skip')
    await writeInstants(job)
    const [open] = await stage.claim(await stage.admit())
    expect(await places(job, rule)).toEqual([place])
    expect(await stage.whereIs(open?.id ?? '')).toEqual([rule === 'cancel-running' ? 'cancelled' : 'running'])
  })

  it('is made once for a key, and is told like any other', async () => {
    const job = await jobOf('skip')
    const id = await byHand(job, 'queue-one', 'same')
    expect(await byHand(job, 'queue-one', 'same')).toBe(id)
    expect(await stage.eventsOf(id)).toEqual(['run.created'])
    expect(await stage.value('select count(*)::int as value from due where job_id = $1', job)).toBe(1)
  })
})

describe('a backfill runs beside the schedule', () => {
  /** A past instant that somebody lets run now, as an operation writes it. */
  const backfilled = async (jobId: string): Promise<string> =>
    stage.value<string>(
      `with b as (
         insert into backfills (tenant_id, job_id, nominal_at, run_id, operation_id)
         select tenant_id, id, '2020-01-01T00:00:00Z', uuidv7(), uuidv7() from jobs where id = $1 returning *),
       w as (select b.*, j.project_id, j.queue_id, date_trunc('week', now() at time zone 'UTC')::date as week
         from b join jobs j on j.tenant_id = b.tenant_id and j.id = b.job_id),
       i as (
         insert into inputs (tenant_id, project_id, id, keep_week, created_at, due_at, queue_id, pool, priority, source, job_id, job_version, nominal_at)
         select tenant_id, project_id, run_id, week, now(), now(), queue_id, 1, 3, $2, job_id, 1, nominal_at from w),
       r as (
         insert into ready (pool, tenant_id, queue_id, priority, due_at, id, project_id, attempts_max, keep_week, job_id, nominal_at)
         select 1, tenant_id, queue_id, 3, now(), run_id, project_id, 3, week, job_id, nominal_at from w)
       select run_id::text as value from b`,
      jobId,
      runSources.indexOf('backfill'),
    )

  it.each(overlapRules)(
    'overlap: %s: it holds up no occurrence, waiting for a slot, running, or for its next try',
    async (overlap) => {
      const job = await jobOf(overlap)
      const id = await backfilled(job)
      await writeInstants(job)
      await stage.admit({ capacity: 0 })
      expect(await fates(job)).toBe('run')
      const claimed = await stage.claim(await stage.admit())
      const [own] = claimed.filter((run) => run.id === id)
      expect([claimed.length, own?.id]).toEqual([2, id])
      await stage.end(claimed.filter((run) => run.id !== id))
      await writeInstants(job)
      expect(await perform()).toBe(1)
      await stage.retry(own === undefined ? [] : [own], 60_000)
      await writeInstants(job)
      expect(await perform()).toBe(1)
      expect(await fates(job)).toBe('run run run')
      expect(await stage.whereIs(id)).toEqual(['due'])
    },
  )

  it('what waits for a run of its job is let go while a backfill goes on', async () => {
    const job = await jobOf('queue-all')
    await writeInstants(job)
    const running = await stage.claim(await stage.admit())
    await backfilled(job)
    await stage.claim(await stage.admit())
    await writeInstants(job)
    expect([await perform(), await fates(job)]).toEqual([0, 'run pending'])
    await stage.end(running)
    expect([await perform(), await fates(job)]).toEqual([1, 'run run'])
  })
})
