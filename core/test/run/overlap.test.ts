import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { holdRuns } from '../../src/breaker/hold.ts'
import { tripBreaker } from '../../src/breaker/trip.ts'
import { createJob } from '../../src/job/create.ts'
import type { NewJob } from '../../src/job/job.ts'
import { acceptRuns } from '../../src/run/accept.ts'
import { cancelRun } from '../../src/run/cancel.ts'
import { getRun } from '../../src/run/get.ts'
import { materialise } from '../../src/run/materialise.ts'
import { listOccurrences, type Occurrence } from '../../src/run/occurrences.ts'
import { rescueRuns } from '../../src/run/rescue.ts'
import { prepareJobRun } from '../../src/run/trigger.ts'
import { sampleJob, unknownId } from '../../src/testing/job-samples.ts'
import { createStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())
afterEach(async () => {
  for (const table of ['schedules', 'due', 'ready', 'held']) await stage.db.owner.query(`delete from ${table}`)
})

const jobOf = async (changes: Partial<NewJob> = {}): Promise<string> =>
  (await createJob(stage.ctx, sampleJob({ schedule: { type: 'at', at: '2090-01-01T00:00:00Z' }, ...changes }))).id

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
const fates = async (jobId: string): Promise<string[]> => (await ledger(jobId)).map((each) => each.outcome)

describe('overlap: skip', () => {
  it('the first instant runs and is recorded as such', async () => {
    const job = await jobOf()
    await writeInstants(job)
    const admitted = await stage.admit()
    const [occurrence] = await ledger(job)
    expect(occurrence).toMatchObject({ outcome: 'run', reason: null, runId: admitted[0]?.[2] })
    expect(occurrence?.decidedAt).not.toBeNull()
  })

  it('of two instants in one batch the later one is skipped, with its run, its reason and one event', async () => {
    const job = await jobOf()
    await writeInstants(job, 2)
    expect(await stage.admit()).toHaveLength(1)
    const [first, second] = await ledger(job)
    expect([first?.outcome, second?.outcome, second?.reason]).toEqual(['run', 'skipped', 'overlap'])
    expect(await getRun(stage.ctx, second?.runId ?? '')).toMatchObject({
      status: 'skipped',
      error: 'overlap',
      attempt: 0,
      nominalAt: second?.nominalAt,
    })
    expect(await stage.eventsOf(second?.runId ?? '')).toEqual(['run.skipped'])
  })

  it.each([
    ['waits for a slot', async () => void (await stage.admit({ capacity: 0 }))],
    ['is queued', async () => void (await stage.admit())],
    ['is running', async () => void (await stage.claim(await stage.admit()))],
    ['waits for its next try', async () => void (await stage.retry(await stage.claim(await stage.admit()), 60_000))],
    [
      'is held by a breaker',
      async () => {
        const claimed = await stage.claim(await stage.admit())
        const { tenantId, projectId } = stage.tenant
        const place = { id: unknownId(), tenantId, projectId, host: 'api.example.com' }
        await tripBreaker(stage.db.engine, { ...place, failures: 1, error: 'timeout', httpStatus: null, askedMs: null })
        const held = claimed.map((lease) => ({ lease, host: place.host }))
        expect(await holdRuns(stage.db.engine, 1, held)).toEqual(['held'])
      },
    ],
    [
      'was rescued and waits again',
      async () => {
        await stage.claim(await stage.admit())
        await stage.expireLeases()
        await rescueRuns(stage.db.engine, 1, 10)
      },
    ],
  ])('an instant is skipped while the run before it %s', async (_name, bring) => {
    const job = await jobOf()
    await writeInstants(job)
    await bring()
    await writeInstants(job)
    await stage.admit({ capacity: 0 })
    expect(await fates(job)).toEqual(['run', 'skipped'])
  })

  it('after the run before it has ended, or was cancelled, an instant runs', async () => {
    const job = await jobOf()
    await writeInstants(job)
    await stage.end(await stage.claim(await stage.admit()))
    await writeInstants(job)
    const [second] = await stage.admit()
    expect(await fates(job)).toEqual(['run', 'run'])
    await cancelRun(stage.ctx, second?.[2] ?? '')
    await writeInstants(job)
    await stage.admit()
    expect(await fates(job)).toEqual(['run', 'run', 'run'])
  })

  it('a run by hand is an open run of the job, but is never skipped itself', async () => {
    const job = await jobOf()
    await writeInstants(job)
    await stage.admit()
    const [byHand] = await acceptRuns(stage.intake, [await prepareJobRun(stage.ctx, job, {})], false)
    const id = byHand?.outcome === 'refused' ? '' : (byHand?.run.id ?? '')
    expect((await stage.admit()).map((run) => run[2])).toEqual([id])
  })

  it('a run by hand that waits for a later instant is not open yet', async () => {
    const job = await jobOf()
    await acceptRuns(
      stage.intake,
      [await prepareJobRun(stage.ctx, job, { dueAt: new Date(Date.now() + 3_600_000) })],
      false,
    )
    await writeInstants(job)
    await stage.admit()
    expect(await fates(job)).toEqual(['run'])
  })

  it('jobs do not disturb each other', async () => {
    const jobs = [await jobOf(), await jobOf(), await jobOf()]
    for (const job of jobs) await writeInstants(job)
    expect(await stage.admit()).toHaveLength(3)
    for (const job of jobs) expect(await fates(job)).toEqual(['run'])
  })

  it('the outcome of an instant is decided once: a retry and a rescue change nothing', async () => {
    const job = await jobOf()
    await writeInstants(job)
    const claimed = await stage.claim(await stage.admit())
    const [decided] = await ledger(job)
    await stage.retry(claimed, 0)
    const again = await stage.claim(await stage.admit())
    expect(again).toMatchObject([{ attempt: 2, nominalAtMs: decided?.nominalAt.getTime() }])
    await stage.expireLeases()
    await rescueRuns(stage.db.engine, 1, 10)
    await stage.end(await stage.claim(await stage.admit()), 'failed')
    expect(await ledger(job)).toEqual([{ ...decided, runStatus: 'failed' }])
  })

  it('admitted by several dispatchers at once, each instant has one outcome and one run', async () => {
    const jobs = await Promise.all(Array.from({ length: 30 }, () => jobOf()))
    for (const job of jobs) await writeInstants(job, 3)
    await Promise.all(Array.from({ length: 6 }, () => stage.admit({ batch: 20 })))
    for (let round = 0; round < 10; round++) await stage.admit({ batch: 20 })
    for (const job of jobs) {
      const found = await ledger(job)
      expect(found.map((each) => each.outcome)).toEqual(['run', ...found.slice(1).map(() => 'skipped')])
      for (const each of found) expect(await stage.whereIs(each.runId ?? '')).toHaveLength(1)
    }
  })
})

describe('overlap: allow', () => {
  it('every instant runs, whatever is open', async () => {
    const job = await jobOf({ overlap: 'allow' })
    await writeInstants(job, 4)
    expect(await stage.admit()).toHaveLength((await ledger(job)).length)
    expect(new Set(await fates(job))).toEqual(new Set(['run']))
  })
})
