import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Ctx } from '../../src/db/context.ts'
import { forgetRunDetails, forgetRunKeys } from '../../src/db/janitor.ts'
import { createJob } from '../../src/job/create.ts'
import { AppError } from '../../src/kernel/errors.ts'
import { acceptRuns, type IntakeResult } from '../../src/run/accept.ts'
import { cancelRun } from '../../src/run/cancel.ts'
import { batchValue, debounceValue, deduplicationValue } from '../../src/run/create-key.ts'
import { getRun, getRunRequest } from '../../src/run/get.ts'
import { listRuns } from '../../src/run/list.ts'
import { type IntakeRow, type NewRun, prepareRun } from '../../src/run/prepare.ts'
import { prepareJobRun, prepareReplay } from '../../src/run/trigger.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { sampleJob } from '../../src/testing/job-samples.ts'
import { createStage, type Stage, target } from './stage.ts'

let stage: Stage
let ctx: Ctx
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
  ctx = stage.ctx
})
afterAll(() => stage.db.close())

const prepare = (change: Partial<NewRun> = {}): Promise<IntakeRow> => prepareRun(ctx, { target, ...change })
const flush = (...rows: IntakeRow[]): Promise<IntakeResult[]> => acceptRuns(stage.intake, rows, false)
const create = async (change: Partial<NewRun>): Promise<[outcome: string, id: string]> =>
  answer(await flush(await prepare(change)))
const answer = ([result]: IntakeResult[]): [outcome: string, id: string] =>
  result === undefined || result.outcome === 'refused' ? ['refused', ''] : [result.outcome, result.run.id]
const once = (key: string, more = {}) => ({ deduplication: deduplicationValue.parse({ key, ...more }) })
const settled = (key: string, more = {}) => ({ debounce: debounceValue.parse({ key, delay: 'PT1H', ...more }) })
const bodyOf = async (id: string) => (await getRunRequest(ctx, id)).body
const withBody = (body: unknown) => ({ target: { ...target, body } })
/** Lets a key grow old. */
const age = (key: string, seconds: number) =>
  stage.db.owner.query(
    "update run_keys set first_at = first_at - $2 * interval '1 second', expires_at = expires_at - $2 * interval '1 second' where key = $1",
    [key, seconds],
  )

describe('deduplication', () => {
  it('a second create finds the first run, until the window is over, whatever became of the run', async () => {
    const [, id] = await create(once('a'))
    expect(await create({ ...withBody('other'), ...once('a') })).toEqual(['deduplicated', id])
    expect(await bodyOf(id)).toBe('{"a":1}')
    await cancelRun(ctx, id)
    expect(await create(once('a'))).toEqual(['deduplicated', id])
    await age('a', 86_401)
    const [outcome, next] = await create(once('a'))
    expect(outcome).toBe('accepted')
    expect(await create(once('a'))).toEqual(['deduplicated', next])
  })

  it('of many creates at once, in one flush and in several, one makes the run', async () => {
    const rows = await Promise.all(Array.from({ length: 40 }, () => prepare(once('race'))))
    const flushes = await Promise.all([0, 10, 20, 30].map((from) => flush(...rows.slice(from, from + 10))))
    const answers = flushes.flat().map((result) => answer([result]))
    expect(answers.filter(([outcome]) => outcome === 'accepted')).toHaveLength(1)
    expect(new Set(answers.map(([, id]) => id)).size).toBe(1)
    expect(
      await stage.value(
        'select count(*)::int as value from ready where id = any($1)',
        rows.map(({ id }) => id),
      ),
    ).toBe(1)
  })

  it('a key means something in its project, queue or job, and to its tenant alone', async () => {
    const [, id] = await create(once('scoped', { scope: 'queue' }))
    expect(await create({ queue: 'other', ...once('scoped', { scope: 'queue' }) })).not.toEqual(['deduplicated', id])
    expect((await create(once('scoped')))[0]).toBe('accepted')
    const jobs = await Promise.all([1, 2].map((n) => createJob(ctx, sampleJob({ name: `job ${n}` }))))
    for (const job of jobs) {
      const rows = await Promise.all([1, 2].map(() => prepareJobRun(ctx, job.id, once('scoped', { scope: 'job' }))))
      expect((await flush(...rows)).map(({ outcome }) => outcome)).toEqual(['accepted', 'deduplicated'])
    }
    await expect(prepare(once('scoped', { scope: 'job' }))).rejects.toThrow(AppError)
    const other = testCtx(stage.db, await createTenant(stage.db))
    expect(answer(await flush(await prepareRun(other, { target, ...once('scoped') })))[0]).toBe('accepted')
  })

  it('a key never leads to a run that was refused, and one that was replayed keeps its own', async () => {
    const print = Buffer.alloc(32, 1)
    const first = await create({ idempotencyKey: 'i', fingerprint: print, ...once('r') })
    await age('r', 86_401)
    expect(await create({ idempotencyKey: 'i', fingerprint: print, ...once('r') })).toEqual(['replayed', first[1]])
    expect(await create(once('r'))).toEqual(['deduplicated', first[1]])
    expect((await create({ idempotencyKey: 'i', fingerprint: Buffer.alloc(32, 2), ...once('fresh') }))[0]).toBe(
      'refused',
    )
    expect((await create(once('fresh')))[0]).toBe('accepted')
  })
})

describe('the key of a run', () => {
  it('is shown with it, by the answer to its create and ever after, and only where there is one', async () => {
    const job = await createJob(ctx, sampleJob({ name: 'keyed' }))
    const batch = batchValue.parse({ key: 'together', scope: 'queue' })
    const cases = [
      [await prepare(once('shown')), { type: 'deduplication', key: 'shown', scope: 'project' }],
      [await prepare(settled('shown', { scope: 'queue' })), { type: 'debounce', key: 'shown', scope: 'queue' }],
      [
        await prepareJobRun(ctx, job.id, once('shown', { scope: 'job' })),
        { type: 'deduplication', key: 'shown', scope: 'job' },
      ],
      [await prepare({ batch }), { type: 'batch', key: 'together', scope: 'queue' }],
      [await prepare(), null],
    ] as const
    for (const [row, createKey] of cases) {
      const [result] = await flush(row)
      const run = result?.outcome === 'refused' ? undefined : result?.run
      expect(run?.createKey).toEqual(createKey)
      expect((await getRun(ctx, run?.id ?? '')).createKey).toEqual(createKey)
      await stage.db.owner.query('delete from run_keys')
      expect((await getRun(ctx, run?.id ?? '')).createKey).toEqual(createKey)
    }
    const [plain] = await stage.accept({})
    expect(await stage.value('select count(*)::int as value from run_details where run_id = $1', plain?.id)).toBe(0)
  })
})

describe('debouncing', () => {
  it('a later create replaces what is asked for and puts the run off, up to the longest wait', async () => {
    const [, id] = await create({
      ...withBody(1),
      ...settled('d', { maxWait: 'PT2H' }),
      tags: ['first'],
      startWithinMs: 1_000,
    })
    const first = await getRun(ctx, id)
    await age('d', 1_800)
    const [outcome, same] = await create({
      ...withBody(2),
      ...settled('d', { maxWait: 'PT2H' }),
      tags: ['second'],
      startWithinMs: 1_000,
    })
    expect([outcome, same]).toEqual(['debounced', id])
    const second = await getRun(ctx, id)
    expect(await bodyOf(id)).toBe('2')
    expect(second.tags).toEqual(['second'])
    expect(second.dueAt.getTime()).toBeGreaterThan(first.dueAt.getTime())
    const startBy = await stage.value<Date>('select start_by as value from run_deadlines where run_id = $1', id)
    expect(startBy.getTime()).toBe(second.dueAt.getTime() + 1_000)
    // An hour and a half after the first one there is only half an hour left.
    await age('d', 3_600)
    await create({ ...withBody(3), ...settled('d', { maxWait: 'PT2H' }) })
    const third = await getRun(ctx, id)
    expect(third.dueAt.getTime() - Date.now()).toBeLessThanOrEqual(1_800_000)
    expect(await stage.eventsOf(id)).toEqual(['run.created', 'run.debounced', 'run.debounced'])
    expect(await stage.whereIs(id)).toEqual(['due'])
  })

  it('a run that is no longer waiting is left alone: the next create makes another', async () => {
    const [, id] = await create({ ...withBody(1), ...settled('gone') })
    await cancelRun(ctx, id)
    const [outcome, next] = await create({ ...withBody(2), ...settled('gone') })
    expect(outcome).toBe('accepted')
    expect(next).not.toBe(id)
    expect(await create({ ...withBody(3), ...settled('gone') })).toEqual(['debounced', next])
  })

  it('creates of one flush come to one run that does what the last one asked', async () => {
    const rows = []
    for (const body of [1, 2, 3]) rows.push(await prepare({ ...withBody(body), ...settled('flush') }))
    const answers = (await flush(...rows)).map((result) => answer([result]))
    expect(answers.map(([outcome]) => outcome)).toEqual(['debounced', 'debounced', 'accepted'])
    const [id] = new Set(answers.map(([, each]) => each))
    expect(await bodyOf(id ?? '')).toBe('3')
    expect(await stage.whereIs(id ?? '')).toEqual(['due'])
  })

  it('many at once come to one run, which does what one of them asked', async () => {
    const rows = await Promise.all(
      Array.from({ length: 24 }, (_, body) => prepare({ ...withBody(body), ...settled('many') })),
    )
    const flushes = await Promise.all(rows.map((row) => flush(row)))
    const answers = flushes.map(answer)
    expect(new Set(answers.map(([, id]) => id)).size).toBe(1)
    expect(answers.filter(([outcome]) => outcome === 'accepted')).toHaveLength(1)
    expect(Number(await bodyOf(answers[0]?.[1] ?? ''))).toBeLessThan(24)
  })

  it('leading: the first one runs at once and the others do not, until it has been quiet', async () => {
    const leading = settled('lead', { mode: 'leading', delay: 'PT1M', maxWait: 'PT2M' })
    const [outcome, id] = await create({ ...withBody(1), ...leading })
    expect(outcome).toBe('accepted')
    expect((await getRun(ctx, id)).status).toBe('ready')
    await age('lead', 50)
    expect(await create({ ...withBody(2), ...leading })).toEqual(['deduplicated', id])
    await age('lead', 50)
    expect(await create({ ...withBody(2), ...leading })).toEqual(['deduplicated', id])
    // It was never quiet for a minute, but two have passed.
    await age('lead', 30)
    expect((await create({ ...withBody(3), ...leading }))[0]).toBe('accepted')
  })

  it('a run far ahead keeps its request for as long as it waits', async () => {
    const [, id] = await create({ ...withBody(1), ...settled('far', { delay: 'PT168H' }) })
    await create({ ...withBody('last'), ...settled('far', { delay: 'PT168H' }) })
    const weeks = await stage.value<boolean>(
      `select i.keep_week = d.keep_week and b.keep_week >= i.keep_week as value from inputs i join due d on d.id = i.id
       join input_blocks b on b.id = i.payload_block where i.id = $1`,
      id,
    )
    expect(weeks).toBe(true)
    expect(await bodyOf(id)).toBe('last')
  })
})

describe('tags and metadata', () => {
  const ids = async (filter: Parameters<typeof listRuns>[1], limit = 50) =>
    (await listRuns(ctx, filter, { limit })).items.map(({ id }) => id)

  it('are shown with the run and kept by its replay; runs without any write no row', async () => {
    const [, id] = await create({ tags: ['b', 'a', 'a'], metadata: { customer: 7, vip: true } })
    expect(await getRun(ctx, id)).toMatchObject({ tags: ['a', 'b'], metadata: { customer: 7, vip: true } })
    await cancelRun(ctx, id)
    const [, replayed] = answer(await flush(await prepareReplay(ctx, id, {})))
    expect(await getRun(ctx, replayed)).toMatchObject({
      tags: ['a', 'b'],
      metadata: { customer: 7, vip: true },
      replayOf: id,
    })
    const [, plain] = await create({})
    expect(await stage.value('select count(*)::int as value from run_details where run_id = $1', plain)).toBe(0)
  })

  it('runs are found by all of the tags asked for, their own or those of their job, in any state, page by page', async () => {
    const job = await createJob(ctx, sampleJob({ tags: ['nightly', 'team:a'] }))
    const [, ofJob] = answer(await flush(await prepareJobRun(ctx, job.id, { tags: ['by-hand'] })))
    const own: string[] = []
    for (let n = 0; n < 3; n++)
      own.unshift((await create({ tags: ['nightly'], dueAt: new Date(Date.now() + 3_600_000) }))[1])
    expect(await ids({ tags: ['nightly'] })).toEqual([...own, ofJob])
    expect(await ids({ tags: ['nightly', 'by-hand'] })).toEqual([ofJob])
    expect(await ids({ tags: ['nightly', 'team:a'] })).toEqual([ofJob])
    expect(await ids({ tags: ['nightly'], status: ['scheduled'] })).toEqual(own)
    expect(await ids({ tags: ['nightly'], jobId: job.id })).toEqual([ofJob])
    expect(await ids({ tags: ['nobody'] })).toEqual([])
    const first = await listRuns(ctx, { tags: ['nightly'] }, { limit: 3 })
    expect(first.items.map(({ id }) => id)).toEqual(own)
    const second = await listRuns(ctx, { tags: ['nightly'] }, { limit: 3, cursor: first.nextCursor ?? '' })
    expect(second.items.map(({ id }) => id)).toEqual([ofJob])
    expect((await getRun(ctx, ofJob)).tags).toEqual(['by-hand', 'nightly', 'team:a'])
  })

  it('what nothing else is known of any more is forgotten, and keys that have come to nothing', async () => {
    const [, id] = await create({ tags: ['old'], ...once('old') })
    await age('old', 3 * 86_400)
    expect(await forgetRunKeys(stage.db.engine, 100)).toBeGreaterThan(0)
    expect(await stage.value("select count(*)::int as value from run_keys where key = 'old'")).toBe(0)
    expect(await forgetRunDetails(stage.db.engine, -1, 1_000)).toBe(0)
    await stage.db.owner.query('delete from inputs where id = $1', [id])
    expect(await forgetRunDetails(stage.db.engine, -1, 1_000)).toBe(1)
    expect(await stage.value("select count(*)::int as value from run_tags where tag = 'old'")).toBe(0)
  })
})
