import { describe, expect, it } from 'vitest'
import type { Ctx } from '../../src/db/context.ts'
import type { NewLimit } from '../../src/flow/limit.ts'
import { createLimit, pauseLimit } from '../../src/flow/limits.ts'
import { createQueue, pauseQueue } from '../../src/flow/queues.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import type { Why } from '../../src/why/why.ts'
import { codesOf, setWhyStage } from './stage.ts'

const look = setWhyStage('limits')

describe('a run', () => {
  it('of a paused queue says who paused it, and why', async () => {
    const queue = await createQueue(look.stage.ctx, { name: 'held-up' })
    const id = await look.one({ queue: 'held-up' })
    await pauseQueue(look.stage.ctx, queue.id, 'moving house')
    expect((await look.whyRun(id)).reasons).toMatchObject([
      {
        code: 'queue-paused',
        evidence: { queue: 'held-up', reason: 'moving house', by: `key:${look.stage.tenant.apiKeyId}` },
      },
    ])
  })

  it('of a full queue names who holds the slots, and when one comes free', async () => {
    await createQueue(look.stage.ctx, { name: 'narrow', concurrency: 1 })
    const [holder] = await look.stage.running(1, { queue: 'narrow' })
    const id = await look.one({ queue: 'narrow' })
    const why = await look.whyRun(id)
    expect(why.reasons).toMatchObject([
      { code: 'queue-full', evidence: { queue: 'narrow', limit: 1, used: 1, ahead: 0, runIds: [holder?.id] } },
    ])
    expect(why.expectedAt).toBeNull()
    await look.stage.end(holder === undefined ? [] : [holder])
    await look.stage.running(0)
    await look.stage.end(await look.stage.claim(await look.stage.admit()))
    await look.stage.running(1, { queue: 'narrow' })
    expect((await look.whyRun(await look.one({ queue: 'narrow' }))).expectedAt).toBeInstanceOf(Date)
  })

  it('of an organisation that is paused or has all its slots in use says so', async () => {
    const tenant = await createTenant(look.stage.db, { concurrency: 1 })
    const ctx = testCtx(look.stage.db, tenant)
    const [holder] = await look.stage.acceptAs(ctx, {})
    await look.stage.admit()
    const [run] = await look.stage.acceptAs(ctx, {})
    expect((await look.whyRun(run?.id, ctx)).reasons).toMatchObject([
      { code: 'tenant-full', evidence: { limit: 1, used: 1, runIds: [holder?.id] } },
    ])
    await look.stage.db.owner.query(
      "update limits set paused = true where tenant_id = $1 and queue_id = '00000000-0000-0000-0000-000000000000'",
      [tenant.tenantId],
    )
    expect(codesOf(await look.whyRun(run?.id, ctx))).toEqual(['tenant-paused', 'tenant-full'])
  })

  const limit = (ctx: Ctx, changes: Partial<NewLimit>) => {
    const none = { key: null, cost: null, concurrency: null, rate: null, backlog: null }
    return createLimit(ctx, { name: 'fair', scope: { type: 'project' }, ...none, ...changes })
  }

  const someone = async (): Promise<Ctx> => testCtx(look.stage.db, await createTenant(look.stage.db))

  const next = async (ctx: Ctx): Promise<Why> => look.whyRun((await look.stage.acceptAs(ctx, {}))[0]?.id, ctx)

  it('that a paused limit stops says who paused it, and why', async () => {
    const ctx = await someone()
    const { id: limitId } = await limit(ctx, { concurrency: 5 })
    await pauseLimit(ctx, limitId, 'moving')
    expect((await next(ctx)).reasons).toMatchObject([
      {
        code: 'limit-paused',
        evidence: { limitId, name: 'fair', reason: 'moving', by: expect.stringMatching(/^key:/) },
      },
    ])
  })

  it('of a full limit names who holds it, of which value', async () => {
    const ctx = await someone()
    const { id: limitId } = await limit(ctx, { key: 'body.a', concurrency: 1 })
    const [holder] = await look.stage.acceptAs(ctx, {})
    await look.stage.admit()
    const evidence = { limitId, key: '1', limit: 1, used: 1, ahead: 0, runIds: [holder?.id] }
    expect(await next(ctx)).toMatchObject({ reasons: [{ code: 'limit-full', evidence }], isWaiting: true })
    expect((await next(ctx)).reasons).toMatchObject([{ code: 'limit-full', evidence: { ...evidence, ahead: 1 } }])
  })

  it('beyond a rate says until when, and when its own turn comes', async () => {
    const ctx = await someone()
    await limit(ctx, { key: 'body.a', rate: { count: 6, perMs: 3_600_000, burst: 1 } })
    await look.stage.acceptAs(ctx, {}, {})
    await look.stage.admit()
    const why = await next(ctx)
    expect(why.reasons).toMatchObject([{ code: 'limit-rate', evidence: { limit: 6, ahead: 1 } }])
    const until = why.reasons[0]?.evidence.until?.getTime() ?? 0
    expect(until).toBeGreaterThan(Date.now() + 500_000)
    expect(why.expectedAt?.getTime()).toBe(until + 600_000)
  })

  it('that a full backlog dropped says so', async () => {
    const ctx = await someone()
    await limit(ctx, { backlog: { max: 1, whenFull: 'drop-oldest' } })
    const [dropped] = await look.stage.acceptAs(ctx, {})
    await look.stage.acceptAs(ctx, {})
    expect((await look.whyRun(dropped?.id, ctx)).reasons).toMatchObject([
      { code: 'backlog-full', evidence: { error: 'backlog' } },
    ])
  })
})
