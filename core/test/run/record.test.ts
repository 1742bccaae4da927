import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { cancelRun } from '../../src/run/cancel.ts'
import { getRun, getRunResponse, listAttempts } from '../../src/run/get.ts'
import { recordEnds, recordRetries } from '../../src/run/record.ts'
import { rescueRuns } from '../../src/run/rescue.ts'
import { encodeResponse } from '../../src/run/response-codec.ts'
import { createStage, endOf, executorId, retryOf, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())

const one = async () => {
  const [run] = await stage.running(1)
  if (run === undefined) throw new Error('nothing is running')
  return run
}
const nothing = new Set<string>()

describe('an end', () => {
  it('moves the run to the history with its facts, and tells it once', async () => {
    const run = await one()
    const startedAtMs = Date.now()
    const response = encodeResponse({
      httpStatus: 201,
      headers: { a: 'b' },
      truncated: false,
      redirectedTo: null,
      body: Buffer.from('done'),
    })
    const ended = await recordEnds(stage.means, [
      { ...endOf(run), startedAtMs, durationMs: 7, httpStatus: 201, response, responseObject: 'responses/x' },
    ])
    expect(ended).toEqual(new Set([run.id]))
    expect(await getRun(stage.ctx, run.id)).toMatchObject({
      status: 'succeeded',
      attempt: 1,
      attemptsMax: null,
      fence: 1,
      durationMs: 7,
      httpStatus: 201,
      error: null,
      startedAt: new Date(startedAtMs),
    })
    expect(await getRunResponse(stage.ctx, run.id)).toMatchObject({
      httpStatus: 201,
      headers: { a: 'b' },
      body: 'done',
      objectKey: 'responses/x',
    })
    expect(await stage.eventsOf(run.id)).toEqual(['run.created', 'run.succeeded'])
    expect(await stage.value('select executor_id as value from runs where id = $1', run.id)).toBe(executorId)
  })

  it('recorded twice happens once', async () => {
    const run = await one()
    expect((await stage.end([run])).size).toBe(1)
    expect(await stage.end([run], 'failed')).toEqual(nothing)
    expect(await stage.whereIs(run.id)).toEqual(['succeeded'])
    expect(await stage.eventsOf(run.id)).toEqual(['run.created', 'run.succeeded'])
  })

  it("recorded by twenty callers at once is one caller's", async () => {
    const runs = await stage.running(20)
    const answers = await Promise.all(Array.from({ length: 20 }, () => stage.end(runs)))
    const winners = answers.flatMap((answer) => [...answer])
    expect(winners.toSorted()).toEqual(runs.map((run) => run.id).toSorted())
    for (const run of runs) expect(await stage.eventsOf(run.id)).toEqual(['run.created', 'run.succeeded'])
  })

  it('named twice in one batch is one', async () => {
    const run = await one()
    await stage.end([run, run])
    expect(await stage.whereIs(run.id)).toEqual(['succeeded'])
  })

  it('with a stale fence is refused, and the newer attempt goes on', async () => {
    const stale = await one()
    await stage.expireLeases()
    await rescueRuns(stage.db.engine, 1, 100)
    const [fresh] = await stage.claim(await stage.admit())
    expect(fresh).toMatchObject({ id: stale.id, fence: 2, attempt: 2 })
    expect(await stage.end([stale])).toEqual(nothing)
    expect(await stage.retry([stale])).toEqual(nothing)
    expect(await stage.whereIs(stale.id)).toEqual(['running'])
    expect((await stage.end(fresh === undefined ? [] : [fresh])).size).toBe(1)
    expect(await stage.eventsOf(stale.id)).toEqual(['run.created', 'run.rescued', 'run.succeeded'])
  })

  it('of a run that is only queued is refused: it was never claimed', async () => {
    const [run] = await stage.accept({})
    const [parcel] = await stage.admit()
    if (run === undefined || parcel === undefined) throw new Error('nothing was admitted')
    const [tenantId, queueId, id, fence] = parcel
    const lease = {
      tenantId,
      projectId: run.projectId,
      queueId,
      id,
      fence,
      attempt: 1,
      attemptsMax: 6,
      dueAtMs: 0,
      nominalAtMs: null,
      jobId: null,
      jobVersion: null,
      source: 'api' as const,
      request: null,
      keepWeek: '',
    }
    expect(await recordEnds(stage.means, [endOf(lease)])).toEqual(nothing)
    expect(await stage.whereIs(id)).toEqual(['queued'])
  })

  it('of a cancelled run is refused', async () => {
    const run = await one()
    await cancelRun(stage.ctx, run.id)
    expect(await stage.end([run])).toEqual(nothing)
    expect(await stage.whereIs(run.id)).toEqual(['cancelled'])
  })

  it('that meets a heartbeat of the same rows is not lost', async () => {
    const runs = await stage.running(5)
    const client = await stage.db.owner.connect()
    await client.query('begin')
    await client.query("update held set lease_until = lease_until + interval '15 seconds' where state = 3")
    const ending = stage.end(runs.slice(0, 3))
    const retrying = stage.retry(runs.slice(3))
    const waiting =
      "select count(*)::int as value from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    while ((await stage.value<number>(waiting)) < 2) await new Promise(setImmediate)
    await client.query('commit')
    client.release()
    expect((await ending).size).toBe(3)
    expect((await retrying).size).toBe(2)
  })

  it('the ends of one batch are independent of each other', async () => {
    const [good, gone, bad] = await stage.running(3)
    if (good === undefined || gone === undefined || bad === undefined) throw new Error('nothing is running')
    await cancelRun(stage.ctx, gone.id)
    expect(await recordEnds(stage.means, [endOf(good), endOf(gone), endOf(bad, 'failed')])).toEqual(
      new Set([good.id, bad.id]),
    )
    expect(await getRun(stage.ctx, bad.id)).toMatchObject({ status: 'failed', error: 'http-status' })
    expect(
      await stage.value(
        "select data->>'error' as value from events where subject = $1 and type = 'run.failed'",
        bad.id,
      ),
    ).toBe('http-status')
  })
})

describe('a retry', () => {
  it('keeps the attempt, comes due after its delay and never before, and raises the fence', async () => {
    const run = await one()
    const before = await stage.value<Date>('select clock_timestamp() as value')
    expect(await stage.retry([run], 60_000)).toEqual(new Set([run.id]))
    const waiting = await getRun(stage.ctx, run.id)
    expect(waiting).toMatchObject({ status: 'scheduled', attempt: 1, attemptsMax: 6, startedAt: null })
    expect(waiting.dueAt.getTime() - before.getTime()).toBeGreaterThanOrEqual(60_000)
    expect(await stage.admit()).toEqual([])
    const [attempt] = await listAttempts(stage.ctx, run.id)
    expect(attempt).toMatchObject({
      attempt: 1,
      fence: 1,
      status: 'failed',
      httpStatus: 503,
      error: 'http-status',
      retryAt: waiting.dueAt,
    })
    await stage.db.owner.query('update due set due_at = clock_timestamp() where id = $1', [run.id])
    const [again] = await stage.claim(await stage.admit())
    expect(again).toMatchObject({ id: run.id, attempt: 2, fence: 2 })
    expect((await listAttempts(stage.ctx, run.id)).map((each) => [each.attempt, each.status])).toEqual([
      [1, 'failed'],
      [2, 'running'],
    ])
    expect(await stage.eventsOf(run.id)).toEqual(['run.created', 'run.retrying'])
  })

  it('keeps the response of the attempt', async () => {
    const run = await one()
    const response = encodeResponse({
      httpStatus: 503,
      headers: {},
      truncated: true,
      redirectedTo: null,
      body: Buffer.from([0xff, 0xfe]),
    })
    await recordRetries(stage.means, [{ ...retryOf(run, 60_000), response }])
    const expected = { httpStatus: 503, body: '//4=', bodyEncoding: 'base64', truncated: true }
    expect(await getRunResponse(stage.ctx, run.id, 1)).toMatchObject(expected)
    expect(await getRunResponse(stage.ctx, run.id)).toMatchObject(expected)
    await expect(getRunResponse(stage.ctx, run.id, 2)).rejects.toMatchObject({ code: 'not-found' })
  })

  it('recorded twice happens once', async () => {
    const run = await one()
    expect((await stage.retry([run], 60_000)).size).toBe(1)
    expect(await stage.retry([run], 60_000)).toEqual(nothing)
    expect(await stage.end([run])).toEqual(nothing)
    expect(await listAttempts(stage.ctx, run.id)).toHaveLength(1)
  })
})
