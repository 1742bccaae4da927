import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { forgetLanes } from '../../src/flow/lanes.ts'
import type { NewLimit } from '../../src/flow/limit.ts'
import { createLimit, deleteLimit, pauseLimit, resumeLimit, updateLimit } from '../../src/flow/limits.ts'
import { createQueue, pauseQueue } from '../../src/flow/queues.ts'
import { createJob } from '../../src/job/create.ts'
import { acceptRuns } from '../../src/run/accept.ts'
import type { Admitted } from '../../src/run/admit.ts'
import { handBack } from '../../src/run/claim.ts'
import { prepareRun } from '../../src/run/prepare.ts'
import { rescueRuns } from '../../src/run/rescue.ts'
import { httpTargetValue } from '../../src/run/target.ts'
import { prepareJobRun } from '../../src/run/trigger.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { sampleJob } from '../../src/testing/job-samples.ts'
import { type Change, createStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())
beforeEach(async () => {
  stage.ctx = testCtx(stage.db, await createTenant(stage.db))
})
afterEach(async () => {
  for (const table of ['due', 'ready', 'held', 'flow_limits']) await stage.db.owner.query(`delete from ${table}`)
})

const limit = (changes: Partial<NewLimit>) =>
  createLimit(stage.ctx, {
    name: 'a limit',
    scope: { type: 'project' },
    key: null,
    cost: null,
    concurrency: null,
    rate: null,
    backlog: null,
    ...changes,
  })
const hour = 3_600_000
const target = (body: unknown, url = 'https://a.example.com/in') =>
  httpTargetValue.parse({ type: 'http', url, body, headers: { 'X-Plan': 'gold' } })
const of = (customer: string, change: Change = {}): Change => ({ target: target({ customer }), ...change })
const many = (count: number, change: Change = {}): Change[] => Array.from({ length: count }, () => change)
const admit = (): Promise<Admitted[]> => stage.admit()
/** How many of each key are on their way. */
const heldBy = (key: string): Promise<number> =>
  stage.value<number>(
    `select count(*)::int as value from held h join lane_gates lg on lg.tenant_id = h.tenant_id and lg.lane_id = h.lane
     join gates g on g.tenant_id = lg.tenant_id and g.id = lg.gate_id where h.tenant_id = $1 and g.key = $2`,
    stage.ctx.tenantId,
    key,
  )

describe('a limit by key', () => {
  it('holds apart for each value, whatever the others do', async () => {
    await limit({ key: 'body.customer', concurrency: 2 })
    await stage.accept(...many(10, of('a')), ...many(1, of('b')), ...many(5, of('c')))
    const admitted = await admit()
    expect(await Promise.all(['a', 'b', 'c'].map(heldBy))).toEqual([2, 1, 2])
    expect(await admit()).toEqual([])
    await stage.end((await stage.claim(admitted)).slice(0, 5))
    await admit()
    expect(await Promise.all(['a', 'b', 'c'].map(heldBy))).toEqual([2, 0, 2])
  })

  it('sees headers, and gives runs that lack what it asks for one key together', async () => {
    await limit({ key: 'headers["x-plan"] + "/" + body.region', concurrency: 1 })
    await stage.accept(
      { target: target({ region: 'eu' }) },
      ...many(3, of('a')),
      ...many(3, { target: target('text') }),
    )
    await admit()
    expect(await Promise.all(['gold/eu', ''].map(heldBy))).toEqual([1, 1])
  })

  it('a run is not held up by keys that are closed, however many there are', async () => {
    await limit({ key: 'body.customer', concurrency: 1 })
    await stage.accept(...Array.from({ length: 300 }, (_, index) => of(`c${index}`)))
    while ((await admit()).length > 0);
    expect(await stage.value('select count(*)::int as value from held')).toBe(300)
    await stage.accept(...Array.from({ length: 300 }, (_, index) => of(`c${index}`)), of('late'))
    for (let look = 0; look < 60 && (await heldBy('late')) === 0; look++) await admit()
    expect(await heldBy('late')).toBe(1)
  })

  it('what comes back to wait minds its limit as before', async () => {
    await limit({ key: 'body.customer', concurrency: 2 })
    await stage.accept(...many(4, of('a')))
    const [first, second] = await stage.claim(await admit())
    if (first === undefined || second === undefined) throw new Error('two were let through')
    await handBack(stage.db.engine, 1, [first])
    await stage.retry([second])
    expect(await admit()).toHaveLength(2)
    await stage.expireLeases()
    await rescueRuns(stage.db.engine, 1, 10)
    expect(await admit()).toHaveLength(2)
    expect(await heldBy('a')).toBe(2)
  })

  it('keys that nobody has used for a day are forgotten, those of runs that wait are not', async () => {
    await limit({ key: 'body.customer', concurrency: 1 })
    await stage.accept(...many(2, of('waits')), of('begins'))
    expect(await admit()).toHaveLength(2)
    // They have ended long ago.
    await stage.db.owner.query('delete from held')
    for (const table of ['lanes', 'gates'])
      await stage.db.owner.query(`update ${table} set seen_at = seen_at - interval '2 days'`)
    expect(await forgetLanes(stage.db.engine, 10_000)).toBeGreaterThan(0)
    const keys = 'select array_agg(key) as value from gates where tenant_id = $1'
    expect(await stage.value<string[]>(keys, stage.ctx.tenantId)).toEqual(['waits'])
    expect(await admit()).toHaveLength(1)
  })
})

describe('a rate', () => {
  const back = (ms: number) =>
    stage.db.owner.query("update gates set full_at = full_at - $1 * interval '1 millisecond'", [ms])

  it('lets a burst through and then one by one, by tokens that are rows', async () => {
    await limit({ scope: { type: 'project' }, rate: { count: 4, perMs: hour, burst: 3 } })
    await stage.accept(...many(10))
    expect(await admit()).toHaveLength(3)
    expect(await admit()).toEqual([])
    await back(hour / 4 - 60_000)
    expect(await admit()).toEqual([])
    await back(60_000)
    expect(await admit()).toHaveLength(1)
    await back(10 * hour)
    expect(await admit()).toHaveLength(3)
  })

  it('by key each value has a bucket of its own', async () => {
    await limit({ key: 'body.customer', rate: { count: 1, perMs: hour, burst: 1 } })
    await stage.accept(...many(3, of('a')), ...many(3, of('b')))
    expect(await admit()).toHaveLength(2)
    expect(await Promise.all(['a', 'b'].map(heldBy))).toEqual([1, 1])
  })

  it('that is lifted lets what waited go', async () => {
    const { id } = await limit({ rate: { count: 1, perMs: hour, burst: 1 } })
    await stage.accept(...many(5))
    expect(await admit()).toHaveLength(1)
    await updateLimit(stage.ctx, id, { rate: { count: 3, perMs: hour, burst: 3 } })
    expect((await admit()).length).toBeLessThanOrEqual(3)
    await deleteLimit(stage.ctx, id)
    await admit()
    expect(await stage.value('select count(*)::int as value from held')).toBe(5)
  })
})

describe('what a limit holds for', () => {
  it('a queue, a project, or the organisation: what waits already as well', async () => {
    const queue = await createQueue(stage.ctx, { name: 'mail' })
    await stage.accept(...many(5, { queue: 'mail' }), ...many(5))
    await limit({ name: 'mail', scope: { type: 'queue', queueId: queue.id }, concurrency: 1 })
    await limit({ name: 'all', scope: { type: 'project' }, concurrency: 4 })
    await limit({ name: 'wide', scope: { type: 'tenant' }, concurrency: 100 })
    while ((await admit()).length > 0);
    const held = 'select count(*)::int as value from held where tenant_id = $1'
    expect(await stage.value(held, stage.ctx.tenantId)).toBe(4)
    expect(await stage.value(`${held} and queue_id = $2`, stage.ctx.tenantId, queue.id)).toBe(1)
  })

  it('a host, wherever the runs come from; its ports and its neighbours are apart', async () => {
    await limit({ name: 'one', scope: { type: 'host', host: 'a.example.com' }, concurrency: 1 })
    await limit({ name: 'below', scope: { type: 'host', host: '*.example.org' }, concurrency: 2 })
    const urls = ['https://a.example.com/x', 'https://a.example.com:8443/y', 'https://b.example.com/']
    const below = ['https://a.example.org/', 'https://b.example.org/', 'https://c.example.org/', 'https://example.org/']
    await stage.accept(...[...urls, ...below].map((url) => ({ target: target({}, url), queue: 'q' })))
    while ((await admit()).length > 0);
    expect(await stage.value('select count(*)::int as value from held')).toBe(1 + 1 + 2 + 1)
  })

  it('a job, however it is started; other runs of its queue go on', async () => {
    const job = await createJob(stage.ctx, sampleJob({ schedule: null }))
    await limit({ scope: { type: 'job', jobId: job.id }, concurrency: 1 })
    for (let start = 0; start < 3; start++)
      await acceptRuns(stage.intake, [await prepareJobRun(stage.ctx, job.id, {})], false)
    await stage.accept(...many(4))
    while ((await admit()).length > 0);
    expect(await stage.value('select count(*)::int as value from held where job_id = $1', job.id)).toBe(1)
    expect(await stage.value('select count(*)::int as value from held where job_id is null')).toBe(4)
  })

  it('the concurrency of a queue is shared by its runs with and without a key', async () => {
    const queue = await createQueue(stage.ctx, { name: 'both', concurrency: 3 })
    await stage.accept(...many(5, { queue: 'both' }))
    await limit({ key: 'body.customer', concurrency: 2 })
    await stage.accept(...many(5, of('a', { queue: 'both' })), ...many(5, of('b', { queue: 'both' })))
    while ((await admit()).length > 0);
    expect(await stage.value('select count(*)::int as value from held')).toBe(3)
    await pauseQueue(stage.ctx, queue.id, null)
    await stage.db.owner.query('delete from held')
    expect(await admit()).toEqual([])
  })

  it('no other tenant', async () => {
    await limit({ concurrency: 1 })
    const other = testCtx(stage.db, await createTenant(stage.db))
    await stage.accept(...many(3))
    await stage.acceptAs(other, ...many(3))
    expect(await admit()).toHaveLength(4)
  })
})

describe('costs', () => {
  it('a run takes as many units as it costs, and waits until so many are free', async () => {
    await limit({ concurrency: 10, cost: 'int(body.size)' })
    const sized = (size: number) => ({ target: target({ size }) })
    await stage.accept(sized(6))
    const big = await admit()
    await stage.accept(sized(5), sized(3), sized(1))
    while ((await admit()).length > 0);
    const held = 'select count(*)::int as value from held'
    expect(await stage.value(held)).toBe(3)
    expect(await stage.end(await stage.claim(big))).toHaveLength(1)
    await admit()
    expect(await stage.value(held)).toBe(3)
  })
})

describe('a pause', () => {
  it('lets nothing through until it is over', async () => {
    const { id } = await limit({ key: 'body.customer', concurrency: 5 })
    await stage.accept(...many(2, of('a')))
    await pauseLimit(stage.ctx, id, 'the customer asked')
    await stage.accept(...many(1, of('b')))
    expect(await admit()).toEqual([])
    await resumeLimit(stage.ctx, id)
    expect(await admit()).toHaveLength(3)
  })
})

describe('a backlog', () => {
  const rows = (count: number, change: Change = {}) =>
    Promise.all(
      Array.from({ length: count }, () => prepareRun(stage.ctx, { target: target({ customer: 'a' }), ...change })),
    )
  const outcomes = async (count: number, change: Change = {}) =>
    (await acceptRuns(stage.intake, await rows(count, change), false)).map((result) =>
      result.outcome === 'refused' ? result.error.code : result.outcome,
    )

  it('that is full refuses the next, each row by itself, and takes more once some have begun', async () => {
    await limit({ backlog: { max: 3, whenFull: 'reject' } })
    expect(await outcomes(5)).toEqual(['accepted', 'accepted', 'accepted', 'rate-limited', 'rate-limited'])
    expect(await outcomes(1, { dueAt: new Date('2039-01-01') })).toEqual(['rate-limited'])
    await admit()
    expect(await outcomes(4)).toEqual(['accepted', 'accepted', 'accepted', 'rate-limited'])
  })

  it('is never exceeded by one, however many are accepted at once', async () => {
    await limit({ key: 'body.customer', backlog: { max: 20, whenFull: 'reject' } })
    const flushes = await Promise.all(Array.from({ length: 8 }, () => outcomes(5)))
    expect(flushes.flat().filter((outcome) => outcome === 'accepted')).toHaveLength(20)
    expect(await stage.value('select count(*)::int as value from ready')).toBe(20)
  })

  it('a request that is made again is answered as the first was, full or not', async () => {
    await limit({ backlog: { max: 1, whenFull: 'reject' } })
    const again = { idempotencyKey: 'once', fingerprint: Buffer.alloc(32) }
    expect(await outcomes(1, again)).toEqual(['accepted'])
    expect(await outcomes(1, again)).toEqual(['replayed'])
    expect(await outcomes(1)).toEqual(['rate-limited'])
  })

  it('may drop the oldest instead: it ends as skipped, and says so', async () => {
    await limit({ backlog: { max: 2, whenFull: 'drop-oldest' } })
    const [first, second, third] = [await stage.accept({}), await stage.accept({}), await stage.accept({})].flat()
    expect(await Promise.all([first, second, third].map((run) => stage.whereIs(run?.id ?? '')))).toEqual([
      ['skipped'],
      ['ready'],
      ['ready'],
    ])
    expect(await stage.eventsOf(first?.id ?? '')).toEqual(['run.created', 'run.skipped'])
  })
})
