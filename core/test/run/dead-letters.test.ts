import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { dropPartitions, forgetFarInputs } from '../../src/db/janitor.ts'
import type { DeadLetter } from '../../src/dead-letter/dead-letter.ts'
import { discardLetter, redriveLetter } from '../../src/dead-letter/handle.ts'
import { forgetHandled, keepDead } from '../../src/dead-letter/keep.ts'
import { getDeadLetter, groupDeadLetters, listDeadLetters } from '../../src/dead-letter/list.ts'
import { readEvents } from '../../src/event/read.ts'
import { createQueue, updateQueue } from '../../src/flow/queues.ts'
import { createJob } from '../../src/job/create.ts'
import type { NewJob } from '../../src/job/job.ts'
import type { Uuid } from '../../src/kernel/ids.ts'
import { createOperation, planOperation, undoOperation } from '../../src/operation/create.ts'
import { getOperation } from '../../src/operation/get.ts'
import type { KindName } from '../../src/operation/kinds.ts'
import type { Operation } from '../../src/operation/operation.ts'
import { stepOperation } from '../../src/operation/step.ts'
import { acceptRuns } from '../../src/run/accept.ts'
import { getRun, getRunRequest } from '../../src/run/get.ts'
import { prepareJobRun } from '../../src/run/trigger.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { sampleJob, trailOf } from '../../src/testing/job-samples.ts'
import { createStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())
beforeEach(async () => {
  // What an earlier test left open is none of the next one's.
  await stage.db.owner.query('delete from due; delete from ready; delete from held')
  await relay()
  await stage.db.owner.query('delete from dead_letters')
  await stage.db.owner.query("update operations set state = 'aborted', finished_at = now() where finished_at is null")
})

let position = '0-0'
/** Tells what has happened since, as the relay does. */
async function relay(): Promise<number> {
  const events = await readEvents(stage.db.engine, position, 1_000)
  position = events.at(-1)?.position ?? position
  const kept = await keepDead(stage.db.engine, events)
  // A relay that dies in between tells it again.
  expect(await keepDead(stage.db.engine, events)).toBe(0)
  return kept
}

/** Runs everything that is due, and lets it fail. */
async function failAll(): Promise<void> {
  await stage.end(await stage.claim(await stage.admit()), 'failed')
  await relay()
}
async function fail(count: number): Promise<Uuid[]> {
  const runs = await stage.accept(...Array.from({ length: count }, () => ({})))
  await failAll()
  return runs.map(({ id }) => id)
}
const first = async (): Promise<Uuid> => (await fail(1))[0] ?? ''
const open = async (): Promise<DeadLetter[]> =>
  (await listDeadLetters(stage.ctx, { state: 'open' }, { limit: 50 })).items
const plain = { delayMs: 0, evenQuarantined: false }

async function finish(operation: Operation): Promise<Operation> {
  for (;;) {
    const now = await getOperation(stage.ctx, operation.id)
    if (now.finishedAt !== null) return now
    const { engine, engineKeyRing } = stage.db
    await stepOperation({ engine, keyRing: engineKeyRing, clock: stage.ctx.clock, shard: 1 })
  }
}
const start = (kind: KindName, plan: object, rate: number | null = null) =>
  createOperation(stage.ctx, { kind, plan, rate })

describe('a run that failed', () => {
  it('is kept as a dead letter, once, with its error; one that succeeded is not', async () => {
    const id = await first()
    await stage.end(await stage.running(1))
    await relay()
    expect(await open()).toMatchObject([
      {
        runId: id,
        error: 'http-status',
        status: 'failed',
        failures: 1,
        isQuarantined: false,
        state: 'open',
        queueName: 'default',
      },
    ])
  })

  it('is not kept when its job says so', async () => {
    const run = async (more: Partial<NewJob>) => {
      const { id } = await createJob(stage.ctx, sampleJob(more))
      await acceptRuns(stage.intake, [await prepareJobRun(stage.ctx, id, {})], false)
      return id
    }
    await run({ deadLetters: 'drop' })
    const kept = await run({ name: 'kept' })
    await failAll()
    expect(await open()).toMatchObject([{ jobId: kept, jobName: 'kept' }])
  })

  it('is of another tenant’s no business', async () => {
    const id = await first()
    const stranger = testCtx(stage.db, await createTenant(stage.db))
    await expect(getDeadLetter(stranger, id)).rejects.toMatchObject({ code: 'not-found' })
    await expect(redriveLetter(stranger, id, plain)).rejects.toMatchObject({ code: 'not-found' })
    await expect(discardLetter(stranger, id)).rejects.toMatchObject({ code: 'not-found' })
    expect((await listDeadLetters(stranger, { state: 'open' }, { limit: 5 })).items).toEqual([])
    expect(await groupDeadLetters(stranger)).toEqual([])
  })

  it('keeps its request for as long as nobody has handled it', async () => {
    const [kept, gone] = await fail(2)
    await discardLetter(stage.ctx, gone ?? '')
    await stage.db.owner.query(`
      create table if not exists inputs_w2001_02 partition of inputs for values from ('2001-01-08') to ('2001-01-15')`)
    await stage.db.owner.query("update inputs set keep_week = '2001-01-08', due_at = '2001-01-08' where id = any($1)", [
      [kept, gone],
    ])
    await stage.db.owner.query("update runs set ended_at = clock_timestamp() - interval '2 days' where id = any($1)", [
      [kept, gone],
    ])
    await dropPartitions(stage.db.engine, 7)
    await forgetFarInputs(stage.db.engine, 1, 100)
    expect(
      await stage.value<number>('select count(*)::int as value from inputs where id = any($1)', [kept, gone]),
    ).toBe(1)
    expect((await redriveLetter(stage.ctx, kept ?? '', plain)).run.replayOf).toBe(kept)
  })
})

describe('a group', () => {
  it('counts the letters of one error of one job or queue', async () => {
    await fail(3)
    await stage.accept({ queue: 'other' })
    await failAll()
    expect(await groupDeadLetters(stage.ctx)).toMatchObject([
      { queueName: 'other', count: 1, error: 'http-status' },
      { queueName: 'default', count: 3, quarantined: 0 },
    ])
    const fingerprint = (await groupDeadLetters(stage.ctx))[0]?.fingerprint
    const { items } = await listDeadLetters(stage.ctx, { state: 'open', fingerprint }, { limit: 5 })
    expect(items).toMatchObject([{ queueName: 'other' }])
  })
})

describe('redriving', () => {
  it('starts a new run that names the old one, with the same request or another body, and handles the letter', async () => {
    const [one, other] = await fail(2)
    const same = await redriveLetter(stage.ctx, one ?? '', plain)
    expect(same.run).toMatchObject({ status: 'ready', source: 'replay', replayOf: one })
    expect(await getRunRequest(stage.ctx, same.run.id)).toMatchObject({ body: '{"a":1}' })
    const edited = await redriveLetter(stage.ctx, other ?? '', { ...plain, body: { a: 2 }, delayMs: 30_000 })
    expect(edited.run.status).toBe('scheduled')
    expect(await getRunRequest(stage.ctx, edited.run.id)).toMatchObject({ body: '{"a":2}' })
    expect(await getDeadLetter(stage.ctx, one ?? '')).toMatchObject({ state: 'redriven', redrivenAs: same.run.id })
    expect(await trailOf(stage.db, one ?? '')).toMatchObject({ actions: ['run.create', 'dead-letter.redrive'] })
    await expect(redriveLetter(stage.ctx, one ?? '', plain)).rejects.toMatchObject({ code: 'invalid-transition' })
  })

  it('counts on when it fails of the same again, and quarantines the item after five times', async () => {
    let id = await first()
    for (let failures = 2; failures <= 6; failures++) {
      id = (await redriveLetter(stage.ctx, id, plain)).run.id
      await failAll()
      expect(await getDeadLetter(stage.ctx, id)).toMatchObject({ failures, isQuarantined: failures === 6 })
    }
    expect(await stage.eventsOf(id)).toContain('dead-letter.quarantined')
    await expect(redriveLetter(stage.ctx, id, plain)).rejects.toMatchObject({ code: 'conflict' })
    expect(
      (await planOperation(stage.ctx, { kind: 'dead-letters.redrive', plan: { filter: {} }, rate: null })).total,
    ).toBe(0)
    expect((await redriveLetter(stage.ctx, id, { ...plain, evenQuarantined: true })).run.replayOf).toBe(id)
  })

  it('of many is an operation: counted, done with a delay, and taken back', async () => {
    const ids = await fail(3)
    await discardLetter(stage.ctx, ids[2] ?? '')
    const operation = await start('dead-letters.redrive', { filter: { queue: 'default' }, delay: 'PT15M' })
    expect(operation).toMatchObject({
      total: 2,
      sample: [{ id: ids[0], name: 'default: http-status' }, { id: ids[1] }],
    })
    expect(await finish(operation)).toMatchObject({ done: 2, canUndo: true })
    const { redrivenAs } = await getDeadLetter(stage.ctx, ids[0] ?? '')
    expect(await getRun(stage.ctx, redrivenAs ?? '')).toMatchObject({ status: 'scheduled', replayOf: ids[0] })
    expect(await finish(await undoOperation(stage.ctx, operation.id))).toMatchObject({ done: 2 })
    expect(await getRun(stage.ctx, redrivenAs ?? '')).toMatchObject({ status: 'cancelled' })
    expect((await open()).map(({ runId }) => runId).toSorted()).toEqual(ids.slice(0, 2).toSorted())
  })

  it('of many leaves alone what somebody else handled meanwhile', async () => {
    const ids = await fail(2)
    const operation = await start('dead-letters.redrive', { filter: {} })
    await discardLetter(stage.ctx, ids[0] ?? '')
    expect(await finish(operation)).toMatchObject({ done: 1, unchanged: 1, failed: 0 })
    await stage.end(await stage.claim(await stage.admit()))
  })
})

describe('discarding', () => {
  it('handles a letter; of many it is an operation, and can be taken back', async () => {
    const ids = await fail(2)
    const operation = await finish(await start('dead-letters.discard', { filter: { ids } }))
    expect(operation).toMatchObject({ done: 2 })
    expect(await open()).toEqual([])
    expect(await finish(await undoOperation(stage.ctx, operation.id))).toMatchObject({ done: 2 })
    expect(await open()).toHaveLength(2)
  })

  it('and redriving are forgotten after a while; what is open is not', async () => {
    const ids = await fail(2)
    await discardLetter(stage.ctx, ids[0] ?? '')
    await stage.db.owner.query(
      "update dead_letters set handled_at = clock_timestamp() - interval '8 days', failed_at = now() - interval '99 days' where handled_at is not null",
    )
    expect(await forgetHandled(stage.db.engine, 7, 10)).toBe(1)
    expect((await open()).map(({ runId }) => runId)).toEqual([ids[1]])
  })
})

it('open runs of a filter are cancelled by an operation; those that ended meanwhile are left alone', async () => {
  const later = new Date(Date.now() + 3_600_000)
  const [waiting, scheduled] = await stage.accept({ queue: 'bulk' }, { queue: 'bulk', dueAt: later }, { dueAt: later })
  const operation = await start('runs.cancel', { filter: { queue: 'bulk' } })
  expect(operation.total).toBe(2)
  await stage.end(await stage.claim(await stage.admit()))
  expect(await finish(operation)).toMatchObject({ done: 1, unchanged: 1, canUndo: false })
  expect(await stage.whereIs(waiting?.id ?? '')).toEqual(['succeeded'])
  expect(await stage.whereIs(scheduled?.id ?? '')).toEqual(['cancelled'])
  expect((await start('runs.cancel', { filter: { status: ['running'], dueTo: later } })).total).toBe(0)
})

it('a queue may want none, whatever its jobs say', async () => {
  const { id } = await createQueue(stage.ctx, { name: 'carefree', deadLetters: 'drop' })
  await stage.accept({ queue: 'carefree' }, {})
  await failAll()
  expect((await open()).map(({ queueName }) => queueName)).toEqual(['default'])
  await updateQueue(stage.ctx, id, { deadLetters: 'keep' })
  await stage.accept({ queue: 'carefree' })
  await failAll()
  expect(await open()).toHaveLength(2)
})
