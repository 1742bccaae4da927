import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { findBusyClocks, stepTestClock } from '../../src/clock/step.ts'
import { createTestClock } from '../../src/clock/test-clocks.ts'
import { redriveLetter } from '../../src/dead-letter/handle.ts'
import { keepDead } from '../../src/dead-letter/keep.ts'
import { listDeadLetters } from '../../src/dead-letter/list.ts'
import { readEvents } from '../../src/event/read.ts'
import type { NewLimit } from '../../src/flow/limit.ts'
import { createLimit } from '../../src/flow/limits.ts'
import { createJob } from '../../src/job/create.ts'
import type { NewJob } from '../../src/job/job.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import type { Uuid } from '../../src/kernel/ids.ts'
import { createOperation } from '../../src/operation/create.ts'
import { stepOperation } from '../../src/operation/step.ts'
import { acceptMinding, acceptRuns } from '../../src/run/accept.ts'
import { lookAhead } from '../../src/run/admit.ts'
import { startCallbacks } from '../../src/run/callbacks.ts'
import { cancelRun } from '../../src/run/cancel.ts'
import { handBack } from '../../src/run/claim.ts'
import { batchValue, debounceValue } from '../../src/run/create-key.ts'
import { expireRuns } from '../../src/run/expire.ts'
import { materialise } from '../../src/run/materialise.ts'
import { prepareRun } from '../../src/run/prepare.ts'
import { rescueRuns, returnQueued } from '../../src/run/rescue.ts'
import { prepareJobRun, prepareReplay } from '../../src/run/trigger.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { sampleJob } from '../../src/testing/job-samples.ts'
import { type Change, createStage, type Stage, target } from './stage.ts'

let stage: Stage
let position = '0-0'
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())
beforeEach(async () => {
  stage.ctx = testCtx(stage.db, await createTenant(stage.db))
})
afterEach(async () => {
  for (const table of ['due', 'ready', 'held', 'schedules', 'schedule_rests', 'flow_limits', 'dead_letters'])
    await stage.db.owner.query(`delete from ${table}`)
  await stage.db.owner.query("update operations set state = 'aborted', finished_at = now() where finished_at is null")
})

const host = 'hooks.example.com'
const limit = (changes: Partial<NewLimit> = {}) => {
  const none = { cost: null, concurrency: null, rate: null, backlog: null }
  return createLimit(stage.ctx, {
    ...{ name: 'one at a time', scope: { type: 'host', host }, key: 'method + host', ...none },
    ...(changes.rate === undefined && changes.backlog === undefined ? { concurrency: 1 } : {}),
    ...changes,
  })
}
const second = 1_000
const several = <Made>(work: (index: number) => Promise<Made>): Promise<Made[]> =>
  Promise.all([0, 1, 2].map((index) => work(index)))
async function write(): Promise<void> {
  const { engine, engineKeyRing: keyRing } = stage.db
  while ((await materialise(engine, { keyRing, shard: 1, aheadMs: 0, limit: 100 })).isFull);
}
const makeJob = (changes: Partial<NewJob> = {}) =>
  createJob(stage.ctx, sampleJob({ target, overlap: 'allow', ...changes }))
/** A job whose last `count` instants, a second apart, have passed and are not decided. */
async function jobDue(count: number, changes: Partial<NewJob> = {}): Promise<Uuid> {
  const from = new Date(Math.floor(Date.now() / second) * second - (count - 1) * second)
  const { id } = await makeJob({ schedule: { type: 'every', every: 'PT1S', anchor: from.toISOString() }, ...changes })
  await stage.db.owner.query('update schedules set next_at = $2 where job_id = $1', [id, from])
  return id
}
async function events() {
  const all = await readEvents(stage.db.engine, position, 10_000)
  position = all.at(-1)?.position ?? position
  return all
}
/** Runs that have ended so, before there was a limit. */
async function ended(status: 'succeeded' | 'failed', change: Change = {}): Promise<Uuid[]> {
  const runs = await stage.accept(change, change, change)
  for (const _ of runs) await stage.end(await stage.claim(await stage.admit()), status)
  return runs.map(({ id }) => id)
}
const accepted = async (rows: Parameters<typeof acceptRuns>[1], batch = false) => {
  for (const result of await acceptRuns(stage.intake, rows, batch)) if (result.outcome === 'refused') throw result.error
}
/** Starts a backfill of three instants, and takes it as far as it goes at once. */
async function backfill(concurrency = 3): Promise<void> {
  const { id } = await makeJob({ schedule: { type: 'cron', cron: '0 6 * * *', timezone: 'UTC' } })
  const plan = { jobId: id, from: '2026-03-27T00:00:00Z', to: '2026-03-30T00:00:00Z', concurrency }
  await createOperation(stage.ctx, { kind: 'jobs.backfill', plan, rate: null })
  await stepOperation({ engine: stage.db.engine, keyRing: stage.db.engineKeyRing, clock: systemClock, shard: 1 })
}

/** Every way in which runs come to be: each makes several for the same host. */
const ways: [string, () => Promise<unknown>][] = [
  ['asked for one by one', () => several(() => stage.accept({}))],
  ['asked for as a batch', async () => accepted(await several(() => prepareRun(stage.ctx, { target })), true)],
  ['a schedule', () => jobDue(3).then(() => write())],
  [
    'a schedule that catches up',
    async () => {
      const id = await jobDue(1, { catchUp: 'all' })
      await stage.db.owner.query("update schedules set next_at = next_at - interval '5 minutes' where job_id = $1", [
        id,
      ])
      await write()
      await stage.db.owner.query('update due set due_at = now() where job_id = $1 and due_at > now()', [id])
    },
  ],
  ['a backfill', () => backfill()],
  [
    'a job that is run by hand',
    async () => {
      const { id } = await makeJob({ schedule: null })
      await accepted(await several(() => prepareJobRun(stage.ctx, id, {})))
    },
  ],
  [
    'a replay',
    async () => {
      const ids = await ended('failed')
      await accepted(await several((index) => prepareReplay(stage.ctx, ids[index] ?? '', {})))
    },
  ],
  [
    'a dead letter that is redriven',
    async () => {
      await events()
      await ended('failed')
      await keepDead(stage.db.engine, await events())
      const { items } = await listDeadLetters(stage.ctx, { state: 'open' }, { limit: 50 })
      for (const { runId } of items) await redriveLetter(stage.ctx, runId, { delayMs: 0, evenQuarantined: false })
    },
  ],
  [
    'a callback',
    async () => {
      await events()
      const callbacks = { success: { url: target.url, headers: {} } }
      await ended('succeeded', { target: { ...target, url: 'https://other.example.com', callbacks } })
      await startCallbacks(stage.db.engine, stage.db.engineKeyRing, await events(), (error) => {
        throw error
      })
    },
  ],
  [
    'debounced creates',
    async () => {
      await several((index) => stage.accept({ debounce: debounceValue.parse({ key: `k${index}`, delay: 'PT1S' }) }))
      await several((index) => stage.accept({ debounce: debounceValue.parse({ key: `k${index}`, delay: 'PT0.1S' }) }))
      await stage.db.owner.query('update due set due_at = now()')
    },
  ],
  [
    'runs of a key that are performed together',
    () => several((index) => stage.accept({ batch: batchValue.parse({ key: `k${index}`, maxSize: 1 }) })),
  ],
  [
    'a next try',
    async () => {
      await stage.accept({}, {}, {})
      for (const _ of [1, 2, 3]) await stage.retry(await stage.claim(await stage.admit()))
    },
  ],
  [
    'a test clock',
    async () => {
      const tenant = await createTenant(stage.db, {
        projects: [{ slug: 'main', name: 'Main', label: 'development', hasTestClock: true }],
      })
      stage.ctx = testCtx(stage.db, tenant)
      await limit()
      await createTestClock(stage.ctx, { name: 'clock', now: new Date('2030-01-01') })
      await stage.accept({}, {}, {})
      for (const clock of await findBusyClocks(stage.db.engine, 1))
        await stepTestClock(stage.db.engine, stage.db.engineKeyRing, clock)
    },
  ],
]

describe('a limit of one is minded by', () => {
  it.each(ways)('%s', async (_name, make) => {
    await limit()
    await make()
    let performed = 0
    for (let look = 0; look < 20; look++) {
      const admitted = await stage.admit()
      expect(admitted.length).toBeLessThanOrEqual(1)
      expect(await stage.value<number>('select count(*)::int as value from held')).toBeLessThanOrEqual(1)
      performed += (await stage.end(await stage.claim(admitted))).size
      if (admitted.length === 0) break
    }
    expect(performed).toBeGreaterThanOrEqual(2)
  })
})

describe('a backlog', () => {
  const open = (): Promise<number> =>
    stage.value(
      'select ((select count(*) from due where tenant_id = $1) + (select count(*) from ready where tenant_id = $1))::int as value',
      stage.ctx.tenantId,
    )
  const ledger = async (outcome: string, reason: string): Promise<number> =>
    stage.value(
      'select coalesce(sum(count), 0)::int as value from occurrences where tenant_id = $1 and outcome = $2 and reason = $3',
      ...[stage.ctx.tenantId, outcome, reason],
    )

  it('that is full lets a schedule start no more: skipped, quota', async () => {
    await limit({ backlog: { max: 4, whenFull: 'reject' } })
    await jobDue(9)
    await write()
    expect(await open()).toBe(4)
    expect(await ledger('skipped', 'quota')).toBeGreaterThanOrEqual(5)
    await jobDue(3)
    await write()
    expect(await open()).toBe(4)
  })

  it('may drop the oldest of a schedule instead, and the ledger says so', async () => {
    await limit({ backlog: { max: 4, whenFull: 'drop-oldest' } })
    await jobDue(9)
    await write()
    expect(await open()).toBe(4)
    expect(await ledger('skipped', 'backlog')).toBeGreaterThanOrEqual(5)
  })

  it('keeps the rest of a backfill until there is room', async () => {
    await limit({ backlog: { max: 2, whenFull: 'reject' } })
    await backfill()
    expect(await open()).toBe(2)
    await stage.claim(await stage.admit())
    await stage.db.owner.query('update operations set next_at = now()')
    const { engine, engineKeyRing: keyRing } = stage.db
    await stepOperation({ engine, keyRing, clock: systemClock, shard: 1 })
    expect(await stage.value('select state as value from operations where tenant_id = $1', stage.ctx.tenantId)).toBe(
      'finished',
    )
  })

  it('counts runs that are performed together one by one, and not the run that does it', async () => {
    await limit({ backlog: { max: 3, whenFull: 'reject' } })
    const batch = batchValue.parse({ key: 'k', maxWait: 'PT1H' })
    const rows = await Promise.all([1, 2, 3, 4].map(() => prepareRun(stage.ctx, { target, batch })))
    const results = await acceptRuns(stage.intake, rows, false)
    expect(results.map(({ outcome }) => outcome)).toEqual(['collected', 'collected', 'collected', 'refused'])
  })

  it('never loses a callback', async () => {
    await limit({ backlog: { max: 1, whenFull: 'reject' } })
    await stage.accept({})
    await events()
    const callbacks = { success: { url: target.url, headers: {} } }
    await ended('succeeded', { target: { ...target, url: 'https://other.example.com', callbacks }, priority: 1 })
    await startCallbacks(stage.db.engine, stage.db.engineKeyRing, await events(), () => undefined)
    expect(await open()).toBeGreaterThanOrEqual(3)
  })
})

describe('a rate', () => {
  const rate = { count: 1, perMs: 3_600_000, burst: 2 }
  const queued = () => stage.value<Uuid[]>("select coalesce(array_agg(id), '{}') as value from held where state = 2")

  it('gets back what was let through and not performed', async () => {
    await limit({ rate })
    await stage.accept({}, {}, {})
    const claimed = await stage.claim(await stage.admit())
    expect(claimed).toHaveLength(2)
    await handBack(stage.db.engine, 1, claimed)
    expect(await stage.admit()).toHaveLength(2)
    await stage.expireLeases()
    await rescueRuns(stage.db.engine, 1, 10)
    const again = await stage.admit()
    expect(again).toHaveLength(2)
    expect(await returnQueued(stage.db.engine, 1, again)).toBe(2)
    expect(await stage.admit()).toHaveLength(2)
  })

  it.each([
    [
      'a person cancels',
      async () => {
        for (const id of await queued()) await cancelRun(stage.ctx, id)
      },
    ],
    [
      'a deadline passes',
      async () => {
        await stage.db.owner.query(
          `update run_deadlines set start_by = now() - interval '1 second', check_at = now() - interval '1 second'
           where run_id = any($1)`,
          [await queued()],
        )
        expect(await expireRuns(stage.db.engine, 10)).toMatchObject({ expired: 2 })
      },
    ],
  ])('gets back what %s before it began, and not what had begun', async (_, end) => {
    await limit({ rate: { ...rate, burst: 3 } })
    await stage.accept(...Array.from({ length: 8 }, () => ({ startWithinMs: 600_000 })))
    const admitted = await stage.admit()
    expect(admitted).toHaveLength(3)
    const [begun] = await stage.claim(admitted.slice(0, 1))
    await end()
    expect(await stage.admit()).toHaveLength(2)
    await cancelRun(stage.ctx, begun?.id ?? '')
    expect(await stage.admit()).toHaveLength(0)
  })

  it('gets back what the next instant of its job displaced before it began', async () => {
    await limit({ rate, key: null, scope: { type: 'project' } })
    const { id } = await makeJob()
    for (let start = 0; start < 4; start++) {
      await acceptMinding(stage.intake, await prepareJobRun(stage.ctx, id, {}), 'cancel-running')
      expect(await stage.admit({ aheadMs: 1_000 })).toHaveLength(1)
    }
    expect(await queued()).toHaveLength(1)
  })

  it('of the whole of a project as well', async () => {
    await limit({ rate, key: null, scope: { type: 'project' } })
    await stage.accept({}, {}, {})
    await handBack(stage.db.engine, 1, await stage.claim(await stage.admit()))
    expect(await stage.admit()).toHaveLength(2)
  })

  it('says when it next lets one through, to the instant', async () => {
    expect((await lookAhead(stage.db.engine, 1)).nextTokenMs).toBeNull()
    await limit({ rate })
    await stage.accept({}, {}, {})
    expect((await lookAhead(stage.db.engine, 1)).nextTokenMs).toBeNull()
    await stage.admit()
    const { nowMs, nextTokenMs } = await lookAhead(stage.db.engine, 1)
    const fullAtMs = await stage.value<number>(
      'select extract(epoch from full_at)::float8 * 1000 as value from gates where tenant_id = $1',
      stage.ctx.tenantId,
    )
    expect(nextTokenMs).toBeGreaterThan(nowMs)
    expect(Math.abs((nextTokenMs ?? 0) - (fullAtMs - rate.perMs))).toBeLessThan(2)
  })

  it('a run that costs more than there ever is takes all of it', async () => {
    await limit({ rate, cost: '5' })
    await stage.accept({}, {})
    expect(await stage.admit()).toHaveLength(1)
    expect(await stage.admit()).toHaveLength(0)
  })
})
