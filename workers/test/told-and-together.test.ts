import { listDeadLetters } from '@meridian/core/dead-letter/list'
import { readEvents } from '@meridian/core/event/read'
import { createJob } from '@meridian/core/job/create'
import { toWireId } from '@meridian/core/kernel/ids'
import { acceptRuns } from '@meridian/core/run/accept'
import { startCallbacks } from '@meridian/core/run/callbacks'
import { cancelRun } from '@meridian/core/run/cancel'
import { batchValue } from '@meridian/core/run/create-key'
import { getRun, getRunRequest, getRunResponse } from '@meridian/core/run/get'
import { listRuns } from '@meridian/core/run/list'
import type { NewRun } from '@meridian/core/run/prepare'
import { retryPolicyValue, toRetryPolicy } from '@meridian/core/run/retry-policy'
import { settleBatches } from '@meridian/core/run/settle-batches'
import { prepareJobRun, prepareReplay } from '@meridian/core/run/trigger'
import { sampleJob } from '@meridian/core/testing/job-samples'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from './scene.ts'
import { startTarget, type Target } from './target.ts'
import { type Bench, createBench, ended, targetOf } from './workers.ts'

let bench: Bench
let target: Target
/** How the target answers a path. */
let answers: Map<string, { status?: number; body?: string }>

beforeEach(async () => {
  answers = new Map()
  target = await startTarget(({ path }, response) => {
    const { status = 200, body = 'ok' } = answers.get(path) ?? {}
    response.writeHead(status).end(body)
  })
  bench = await createBench({ environment: { LEASE_SECONDS: '2' } })
})
afterEach(async () => {
  await bench.close()
  await target.close()
})

const workers = () => bench.startWorkers('dispatcher', 'executor', 'relay', 'reaper')
const requestsTo = (path: string) => target.received.filter((request) => request.path === path)
const bodiesOf = (path: string) => requestsTo(path).map(({ body }) => JSON.parse(body.toString()) as unknown)
const once = toRetryPolicy(retryPolicyValue.parse({ limit: 0 }))

describe('callbacks', () => {
  const telling = (path: string) =>
    targetOf(`${target.url}${path}`, {
      callbacks: {
        success: { url: `${target.url}${path}/done`, headers: { 'x-told': 'yes' } },
        failure: { url: `${target.url}${path}/failed` },
      },
    })

  it('tell how a run ended, once, by a run of its own that names it and has none itself', async () => {
    answers.set('/bad', { status: 400 })
    await workers()
    const [good] = await bench.accept(
      { target: telling('/good'), retry: once, tags: ['t'], metadata: { n: 1 } },
      { target: telling('/bad'), retry: once },
    )
    await until(() => requestsTo('/good/done').length > 0 && requestsTo('/bad/failed').length > 0)
    expect(bodiesOf('/good/done')).toMatchObject([
      {
        type: 'run.succeeded',
        run: { id: toWireId('run', good?.id ?? ''), tags: ['t'], metadata: { n: 1 }, httpStatus: 200 },
      },
    ])
    expect(bodiesOf('/bad/failed')).toMatchObject([
      { type: 'run.failed', run: { error: 'http-status', httpStatus: 400 } },
    ])
    expect(requestsTo('/good/done')[0]?.headers['x-told']).toBe('yes')
    const { items } = await listRuns(bench.ctx, { callbackOf: good?.id }, { limit: 10 })
    expect(items).toMatchObject([{ source: 'callback', callbackOf: good?.id, queueName: 'callbacks', jobId: null }])
    await ended(bench.ctx, items[0]?.id ?? '')
    expect((await listRuns(bench.ctx, { source: 'callback' }, { limit: 10 })).items).toHaveLength(2)
    // What is kept of the wish to be told is gone with the telling.
    await until(async () => (await bench.db.owner.query('select from run_callbacks')).rowCount === 0)
  })

  it("a job's callbacks tell of its runs, with another body too, of replays, and not of what is cancelled", async () => {
    await workers()
    const job = await createJob(bench.ctx, sampleJob({ target: telling('/job') }))
    const rows = [await prepareJobRun(bench.ctx, job.id, {}), await prepareJobRun(bench.ctx, job.id, { body: 2 })]
    const later = await prepareJobRun(bench.ctx, job.id, { dueAt: new Date(Date.now() + 3_600_000) })
    await acceptRuns({ pool: bench.db.app, keyRing: bench.ctx.keyRing }, [...rows, later], false)
    await cancelRun(bench.ctx, later.id)
    await until(() => requestsTo('/job/done').length === 2)
    const replay = await prepareReplay(bench.ctx, rows[0]?.id ?? '', {})
    await acceptRuns({ pool: bench.db.app, keyRing: bench.ctx.keyRing }, [replay], false)
    await until(() => requestsTo('/job/done').length === 3)
    expect((await listRuns(bench.ctx, { callbackOf: later.id }, { limit: 10 })).items).toEqual([])
  })

  it('a relay that dies after it has started them starts none twice', async () => {
    const stop = await bench.startWorkers('dispatcher', 'executor')
    const [run] = await bench.accept({ target: telling('/twice') })
    await ended(bench.ctx, run?.id ?? '')
    const events = await readEvents(bench.db.engine, '0-0', 1_000)
    const lost: unknown[] = []
    const tell = () => startCallbacks(bench.db.engine, bench.ctx.keyRing, events, (error) => lost.push(error))
    expect(await tell()).toBe(1)
    await bench.db.owner.query(
      'insert into run_callbacks select tenant_id, id, project_id, true, true from runs where id = $1',
      [run?.id],
    )
    await tell()
    expect(lost).toEqual([])
    await workers()
    await until(() => requestsTo('/twice/done').length > 0)
    const { items } = await listRuns(bench.ctx, { callbackOf: run?.id }, { limit: 10 })
    expect(items).toHaveLength(1)
    await ended(bench.ctx, items[0]?.id ?? '')
    await stop.stop()
  })
})

describe('batches', () => {
  const together = (path: string, body: unknown, more: Partial<NewRun> = {}, rule = {}): NewRun => ({
    target: targetOf(`${target.url}${path}`, { body }),
    batch: batchValue.parse({ key: path, maxWait: 'PT0.3S', ...rule }),
    ...more,
  })
  const idOf = (id: string | undefined) => toWireId('run', id ?? '')

  it('runs of one key are one call with an array, and each ends by itself with that response', async () => {
    await workers()
    const rule = { maxSize: 3, maxWait: 'PT24H' }
    const runs = await bench.accept(together('/all', { n: 1 }, {}, rule))
    runs.push(...(await bench.accept(together('/all', { n: 2 }, { tags: ['two'] }, rule))))
    const [third] = await bench.accept(together('/all', 'three', {}, rule))
    const all = await Promise.all([...runs, third].map((run) => ended(bench.ctx, run?.id ?? '')))
    expect(all.map(({ status, httpStatus }) => [status, httpStatus])).toEqual(Array(3).fill(['succeeded', 200]))
    expect(bodiesOf('/all')).toEqual([
      [
        { runId: idOf(runs[0]?.id), body: { n: 1 } },
        { runId: idOf(runs[1]?.id), body: { n: 2 } },
        { runId: idOf(third?.id), body: 'three' },
      ],
    ])
    const [batchId, ...others] = new Set(all.map(({ batchRunId }) => batchRunId))
    expect(others).toEqual([])
    expect(await getRun(bench.ctx, batchId ?? '')).toMatchObject({ source: 'batch', status: 'succeeded' })
    expect(JSON.parse((await getRunRequest(bench.ctx, batchId ?? '')).body ?? '')).toHaveLength(3)
    expect((await getRunResponse(bench.ctx, third?.id ?? ''))?.body).toBe('ok')
    expect((await listRuns(bench.ctx, { batchRunId: batchId ?? '' }, { limit: 10 })).items).toHaveLength(3)
    const told = await bench.db.owner.query('select from events where subject = any($1) and type = $2', [
      all.map(({ id }) => id),
      'run.succeeded',
    ])
    expect(told.rowCount).toBe(3)
  })

  it('as many as may go at once, in one flush and in several; the rest waits for others', async () => {
    await workers()
    const rule = { maxSize: 3, maxWait: 'PT24H' }
    const runs = await bench.accept(...[1, 2, 3].map((n) => together('/full', n, {}, rule)))
    runs.push(...(await bench.accept(together('/full', 4, {}, rule))))
    await Promise.all(runs.slice(0, 3).map((run) => ended(bench.ctx, run.id)))
    expect(await getRun(bench.ctx, runs[3]?.id ?? '')).toMatchObject({ status: 'scheduled' })
    const more = [
      ...(await bench.accept(together('/full', 5, {}, rule))),
      ...(await bench.accept(together('/full', 6, {}, rule))),
    ]
    await Promise.all([runs[3], ...more].map((run) => ended(bench.ctx, run?.id ?? '')))
    const sent = bodiesOf('/full').map((body) =>
      (body as { body: number }[]).map((item) => item.body).toSorted((a, b) => a - b),
    )
    expect(sent).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ])
  })

  it('one that was cancelled is not sent, those that the target names fail, and only they are dead letters', async () => {
    const runs = await bench.accept(...[1, 2, 3].map((n) => together('/some', n, { retry: once })))
    await cancelRun(bench.ctx, runs[0]?.id ?? '')
    answers.set('/some', { body: JSON.stringify({ failed: [idOf(runs[1]?.id)] }) })
    await workers()
    const all = await Promise.all(runs.map((run) => ended(bench.ctx, run.id)))
    expect(all.map(({ status }) => status)).toEqual(['cancelled', 'failed', 'succeeded'])
    expect(bodiesOf('/some')).toHaveLength(1)
    expect(bodiesOf('/some')[0]).toHaveLength(2)
    await until(async () => (await listDeadLetters(bench.ctx, { state: 'open' }, { limit: 10 })).items.length === 1)
  })

  it('a call that fails for good fails them all, and the batch itself is no dead letter', async () => {
    answers.set('/down', { status: 400 })
    await workers()
    const runs = await bench.accept(together('/down', 1, { retry: once }), together('/down', 2, { retry: once }))
    const all = await Promise.all(runs.map((run) => ended(bench.ctx, run.id)))
    expect(all).toMatchObject([
      { status: 'failed', error: 'http-status', httpStatus: 400 },
      { status: 'failed', error: 'http-status', httpStatus: 400 },
    ])
    await until(async () => (await listDeadLetters(bench.ctx, { state: 'open' }, { limit: 10 })).items.length === 2)
  })

  it('creates of many flushes at once lose nobody', async () => {
    await workers()
    const runs = await Promise.all(
      Array.from({ length: 30 }, async (_, n) => (await bench.accept(together('/race', n, {}, { maxSize: 7 })))[0]),
    )
    const all = await Promise.all(runs.map((run) => ended(bench.ctx, run?.id ?? '')))
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set(['succeeded']))
    const sent = bodiesOf('/race').flatMap((body) => (body as { body: number }[]).map((item) => item.body))
    expect(sent.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, n) => n))
    expect(bodiesOf('/race').every((body) => (body as unknown[]).length <= 7)).toBe(true)
  })

  it('a relay that dies before it has ended them is made up for by the next, once', async () => {
    const first = await bench.startWorkers('dispatcher', 'executor')
    const [run] = await bench.accept(together('/late', 1))
    await until(() => requestsTo('/late').length === 1)
    const batchId = (await getRun(bench.ctx, run?.id ?? '')).batchRunId ?? ''
    await ended(bench.ctx, batchId)
    expect(await getRun(bench.ctx, run?.id ?? '')).toMatchObject({ status: 'scheduled' })
    const events = await readEvents(bench.db.engine, '0-0', 1_000)
    expect(await settleBatches(bench.db.engine, bench.ctx.keyRing, events)).toBe(1)
    expect(await settleBatches(bench.db.engine, bench.ctx.keyRing, events)).toBe(0)
    await workers()
    expect(await ended(bench.ctx, run?.id ?? '')).toMatchObject({ status: 'succeeded' })
    await first.stop()
    const told = await bench.db.owner.query("select from events where subject = $1 and type = 'run.succeeded'", [
      run?.id,
    ])
    expect(told.rowCount).toBe(1)
  })
})
