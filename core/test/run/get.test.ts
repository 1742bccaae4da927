import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createPool } from '../../src/db/client.ts'
import type { Ctx } from '../../src/db/context.ts'
import { cancelRun } from '../../src/run/cancel.ts'
import { getRun, getRunRequest, getRunResponse, getRunResponseBody, listAttempts } from '../../src/run/get.ts'
import { listRuns } from '../../src/run/list.ts'
import { appendRunLog, listRunLogs } from '../../src/run/logs.ts'
import { recordEnds, recordRetries } from '../../src/run/record.ts'
import { encodeResponse } from '../../src/run/response-codec.ts'
import { KeyRing } from '../../src/secret/key-ring.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { unknownId } from '../../src/testing/job-samples.ts'
import { createStage, endOf, retryOf, type Stage, target } from './stage.ts'

let stage: Stage
let stranger: Ctx
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
  stranger = testCtx(stage.db, await createTenant(stage.db))
})
afterAll(() => stage.db.close())

const encoded = (httpStatus: number, body: Buffer, headers: Record<string, string> = {}) =>
  encodeResponse({ httpStatus, headers, truncated: false, redirectedTo: null, body })
const one = async () => {
  const [run] = await stage.running(1)
  if (run === undefined) throw new Error('nothing is running')
  return run
}

describe('one run', () => {
  it('is told as it stands at every step', async () => {
    const [{ id } = { id: '' }] = await stage.accept({ dueAt: new Date(Date.now() + 200) })
    const status = async (): Promise<string> => (await getRun(stage.ctx, id)).status
    expect(await status()).toBe('scheduled')
    await stage.admit({ capacity: 0, aheadMs: 2_000 })
    expect(await status()).toBe('ready')
    const parcel = await stage.admit()
    expect(await status()).toBe('queued')
    const claimed = await stage.claim(parcel)
    const running = await getRun(stage.ctx, id)
    expect(running).toMatchObject({ status: 'running', attempt: 1, attemptsMax: 6, finishedAt: null })
    expect(running.latenessMs).toBe((running.startedAt?.getTime() ?? 0) - running.dueAt.getTime())
    await stage.end(claimed)
    expect(await getRun(stage.ctx, id)).toMatchObject({ status: 'succeeded', attemptsMax: null, fence: 1 })
  })

  it('of another tenant or project is as unknown as none', async () => {
    const run = await one()
    for (const read of [getRun, getRunRequest, getRunResponse, listAttempts] as ((
      ctx: Ctx,
      id: string,
    ) => Promise<unknown>)[]) {
      await expect(read(stranger, run.id)).rejects.toMatchObject({ code: 'not-found' })
      await expect(read({ ...stage.ctx, projectId: stranger.projectId }, run.id)).rejects.toMatchObject({
        code: 'not-found',
      })
      await expect(read(stage.ctx, unknownId())).rejects.toMatchObject({ code: 'not-found' })
    }
  })

  it('whose end is in another week than its beginning, or whose instant is far ahead, is found', async () => {
    const run = await one()
    await stage.end([run])
    const far = new Date('2039-01-01T00:00:00Z')
    const [later] = await stage.accept({ dueAt: far })
    // As if a month had passed since.
    await stage.db.owner.query("update runs set ended_at = ended_at + interval '28 days' where id = $1", [run.id])
    expect(await getRun(stage.ctx, run.id)).toMatchObject({ status: 'succeeded' })
    expect(await getRun(stage.ctx, later?.id ?? '')).toMatchObject({ status: 'scheduled', dueAt: far })
  })

  it('that ended by a clock behind the one it was created by is still ended', async () => {
    const run = await one()
    await stage.end([run])
    await stage.db.owner.query("update runs set ended_at = ended_at - interval '5 minutes' where id = $1", [run.id])
    expect(await getRun(stage.ctx, run.id)).toMatchObject({ status: 'succeeded' })
    expect((await listRuns(stage.ctx, {}, { limit: 200 })).items.find((each) => each.id === run.id)?.status).toBe(
      'succeeded',
    )
  })

  it('whose history was dropped is gone, not scheduled again', async () => {
    const [run, other] = await stage.accept(
      { dueAt: new Date(Date.now() + 20 * 86_400_000) },
      { dueAt: new Date('2039-01-01T00:00:00Z') },
    )
    const ids = [run?.id ?? '', other?.id ?? '']
    for (const id of ids) await cancelRun(stage.ctx, id)
    const before = await listRuns(stage.ctx, {}, { limit: 200 })
    await stage.db.owner.query('delete from runs where id = any($1)', [ids])
    for (const id of ids) await expect(getRun(stage.ctx, id)).rejects.toMatchObject({ code: 'not-found' })
    // A page may be shorter for it, but the list goes on behind it.
    const first = await listRuns(stage.ctx, {}, { limit: 1 })
    expect(first).toMatchObject({ items: [] })
    const rest = await listRuns(stage.ctx, {}, { limit: 200, cursor: first.nextCursor ?? '' })
    expect(rest.items.map((each) => each.id)).toEqual(
      before.items.map((each) => each.id).filter((id) => !ids.includes(id)),
    )
  })
})

describe('request and response', () => {
  it('take payloads:read', async () => {
    const run = await one()
    const blind = testCtx(stage.db, stage.tenant, { scopes: ['runs:read', 'runs:write'] })
    for (const read of [
      getRunRequest,
      getRunResponse,
      (ctx: Ctx, id: string) => listRunLogs(ctx, id, { limit: 1 }),
      (ctx: Ctx, id: string) => getRunResponseBody(ctx, null, id),
    ]) {
      await expect(read(blind, run.id)).rejects.toMatchObject({ code: 'forbidden' })
    }
  })

  it('come back as they were, text as text and bytes as base64', async () => {
    const run = await one()
    expect(await getRunRequest(stage.ctx, run.id)).toEqual({
      method: 'POST',
      url: target.url,
      headers: target.headers,
      timeoutMs: 30_000,
      body: '{"a":1}',
      bodyEncoding: 'utf8',
    })
    expect(await getRunResponse(stage.ctx, run.id)).toBeNull()
    const response = encoded(200, Buffer.from([0, 255]), { 'content-type': 'image/x' })
    await recordEnds(stage.means, [{ ...endOf(run), response }])
    expect(await getRunResponse(stage.ctx, run.id)).toMatchObject({
      httpStatus: 200,
      body: 'AP8=',
      bodyEncoding: 'base64',
      objectKey: null,
    })
    expect(await getRunResponseBody(stage.ctx, null, run.id)).toEqual({
      body: Buffer.from([0, 255]),
      contentType: 'image/x',
    })
  })

  it('of an end that kept no body say the status', async () => {
    const run = await one()
    await stage.end([run])
    expect(await getRunResponse(stage.ctx, run.id)).toMatchObject({ httpStatus: 200, body: null, headers: {} })
    await expect(getRunResponseBody(stage.ctx, null, run.id)).rejects.toMatchObject({ code: 'not-found' })
  })

  it('of earlier attempts stay beside the last', async () => {
    const run = await one()
    await recordRetries(stage.means, [{ ...retryOf(run), response: encoded(503, Buffer.from('busy')) }])
    const [again] = await stage.claim(await stage.admit())
    if (again === undefined) throw new Error('nothing to claim')
    await recordEnds(stage.means, [{ ...endOf(again), response: encoded(200, Buffer.from('fine')) }])
    expect(await getRunResponse(stage.ctx, run.id)).toMatchObject({ body: 'fine' })
    expect(await getRunResponse(stage.ctx, run.id, 2)).toMatchObject({ body: 'fine' })
    expect(await getRunResponse(stage.ctx, run.id, 1)).toMatchObject({ body: 'busy', httpStatus: 503 })
    await expect(getRunResponse(stage.ctx, run.id, 3)).rejects.toMatchObject({ code: 'not-found' })
  })

  it('of runs that were recorded together are each its own, whatever their sizes and tenants', async () => {
    const other = testCtx(stage.db, await createTenant(stage.db))
    const others = await Promise.all(Array.from({ length: 3 }, () => stage.acceptAs(other, {})))
    const mine = await stage.running(40)
    const theirs = others.flat()
    const claimed = [...mine, ...(await stage.claim(await stage.admit()))]
    const bodyOf = (index: number) => Buffer.alloc(index * 997, 33 + index)
    await recordEnds(
      stage.means,
      claimed.map((run, index) => ({ ...endOf(run), response: index === 7 ? null : encoded(200, bodyOf(index)) })),
    )
    for (const [index, run] of claimed.entries()) {
      const ctx = theirs.some(({ id }) => id === run.id) ? other : stage.ctx
      if (index === 7) expect(await getRunResponse(ctx, run.id)).toMatchObject({ body: null })
      else if (index > 0) {
        expect((await getRunResponseBody(ctx, null, run.id)).body.equals(bodyOf(index)), String(index)).toBe(true)
      }
    }
    const blocks = await stage.value<number>('select count(distinct response_block)::int as value from runs')
    expect(blocks).toBeLessThan(claimed.length)
  })

  it('a body in the object store comes from there', async () => {
    const run = await one()
    await recordEnds(stage.means, [
      {
        ...endOf(run),
        response: encoded(200, Buffer.from('the begin')),
        responseObject: 'responses/1',
      },
    ])
    expect(await getRunResponse(stage.ctx, run.id)).toMatchObject({ body: 'the begin', objectKey: 'responses/1' })
    const store = {
      put: async () => '',
      get: async (_tenant: string, _run: string, key: string) =>
        key === 'responses/1' ? Buffer.from('the beginning and the end') : null,
      close: () => undefined,
    }
    expect((await getRunResponseBody(stage.ctx, store, run.id)).body.toString()).toBe('the beginning and the end')
    await expect(getRunResponseBody(stage.ctx, null, run.id)).rejects.toMatchObject({ code: 'not-found' })
  })

  it('are readable by many at once when no key is in memory and the pool is small', async () => {
    const run = await one()
    const pool = createPool({ url: stage.db.appUrl, max: 2, applicationName: 'small', waitMs: 3_000 })
    const cold = (): Ctx => ({
      ...stage.ctx,
      pool,
      keyRing: new KeyRing(pool, {
        name: 'local-file',
        wrap: async (key) => key,
        unwrap: async (wrapped) => wrapped.subarray(0, 32),
      }),
    })
    const fail = (error: unknown): unknown => (error as { code?: string }).code
    // Another provider's key opens nothing; what matters is that nobody waits for a connection for ever.
    const reads = Array.from({ length: 6 }, () => getRunRequest(cold(), run.id).catch(fail))
    const answers = await Promise.all([
      ...reads,
      appendRunLog(cold(), run.id, [{ level: 'info', message: 'x' }]).catch(fail),
      listRunLogs(cold(), run.id, { limit: 1 }).catch(fail),
    ])
    expect(answers).not.toContain('dependency-unavailable')
    expect(pool.waitingCount).toBe(0)
    await pool.end()
  })
})
