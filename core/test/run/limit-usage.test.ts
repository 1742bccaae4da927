import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import type { NewLimit } from '../../src/flow/limit.ts'
import { createLimit, pauseLimit } from '../../src/flow/limits.ts'
import { createQueue } from '../../src/flow/queues.ts'
import { limitUsage, queueUsage } from '../../src/flow/usage.ts'
import type { Uuid } from '../../src/kernel/ids.ts'
import { httpTargetValue } from '../../src/run/target.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { unknownId } from '../../src/testing/job-samples.ts'
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

const limit = async (changes: Partial<NewLimit>): Promise<Uuid> => {
  const none = { key: null, cost: null, concurrency: null, rate: null, backlog: null }
  return (await createLimit(stage.ctx, { name: 'a limit', scope: { type: 'project' }, ...none, ...changes })).id
}
const of = (customer: string, change: Change = {}): Change => ({
  target: httpTargetValue.parse({ type: 'http', url: 'https://a.example.com/in', body: { customer, size: 3 } }),
  ...change,
})
const many = (count: number, change: Change = {}): Change[] => Array.from({ length: count }, () => change)
const hour = 3_600_000
const usageOf = async (id: Uuid, key?: string) => (await limitUsage(stage.ctx, id, { key, limit: 50 })).items

describe('the usage of a limit', () => {
  it('names who holds it and who waits, apart for each value of its key', async () => {
    const id = await limit({ key: 'body.customer', cost: 'body.size', concurrency: 6 })
    await stage.accept(...many(3, of('a')), of('b'))
    const held = await stage.admit()
    expect(held).toHaveLength(3)
    const all = await usageOf(id)
    expect(all.map(({ key, used, room, holding, waiting }) => ({ key, used, room, holding, waiting }))).toEqual(
      expect.arrayContaining([
        { key: 'a', used: 6, room: 0, holding: 2, waiting: 1 },
        { key: 'b', used: 3, room: 3, holding: 1, waiting: 0 },
      ]),
    )
    const [a] = await usageOf(id, 'a')
    expect(held.map(([, , runId]) => runId)).toEqual(expect.arrayContaining(a?.holders.map(({ runId }) => runId) ?? []))
    expect(a?.holders).toMatchObject([{ units: 3 }, { units: 3 }])
    expect(a?.waitingSince).toEqual(a?.firstWaiting[0]?.dueAt)
    expect(await usageOf(id, 'nobody')).toEqual([])
  })

  it('of the whole of a queue, a project or an organisation counts every run of it, with a lane and without', async () => {
    const queue = await createQueue(stage.ctx, { name: 'mail' })
    const ids = [
      await limit({ name: 'queue', scope: { type: 'queue', queueId: queue.id }, concurrency: 2 }),
      await limit({ name: 'project', scope: { type: 'project' }, concurrency: 9 }),
      await limit({ name: 'tenant', scope: { type: 'tenant' }, concurrency: 9 }),
    ]
    await stage.accept(...many(3, { queue: 'mail' }), ...many(2))
    await limit({ name: 'by key', key: 'body.customer', concurrency: 1 })
    await stage.accept(...many(2, of('a')))
    while ((await stage.admit()).length > 0);
    const counts = await Promise.all(ids.map(async (id) => (await usageOf(id))[0]))
    expect(counts).toMatchObject([
      { used: 2, holding: 2, waiting: 1, room: 0 },
      { used: 5, holding: 5, waiting: 2, room: 4 },
      { used: 5, holding: 5, waiting: 2, room: 4 },
    ])
  })

  it('says when the next token comes', async () => {
    const id = await limit({ rate: { count: 4, perMs: hour, burst: 2 } })
    expect(await usageOf(id)).toMatchObject([{ tokens: 2, room: 2, nextTokenAt: null }])
    await stage.accept(...many(3))
    await stage.admit()
    const [usage] = await usageOf(id)
    expect(usage).toMatchObject({ tokens: 0, room: 0, waiting: 1 })
    const inMs = (usage?.nextTokenAt?.getTime() ?? 0) - Date.now()
    expect(inMs).toBeGreaterThan(hour / 4 - 60_000)
    expect(inMs).toBeLessThanOrEqual(hour / 4 + 60_000)
  })

  it('counts what a backlog counts, and lets nothing through while it is paused', async () => {
    const id = await limit({ key: 'body.customer', concurrency: 5, backlog: { max: 5, whenFull: 'reject' } })
    await stage.accept(of('a'), of('a', { dueAt: new Date('2039-01-01') }))
    await pauseLimit(stage.ctx, id, null)
    expect(await usageOf(id)).toMatchObject([{ backlog: 2, waiting: 1, room: 0 }])
  })

  it('comes in pages that show each value once', async () => {
    const id = await limit({ key: 'body.customer', concurrency: 5 })
    await stage.accept(...['a', 'b', 'c'].map((customer) => of(customer)))
    const first = await limitUsage(stage.ctx, id, { limit: 2 })
    const second = await limitUsage(stage.ctx, id, { limit: 2, cursor: first.nextCursor ?? '' })
    expect([...first.items, ...second.items].map(({ key }) => key).toSorted()).toEqual(['a', 'b', 'c'])
    expect(second.nextCursor).toBeNull()
  })

  it('is told to nobody else', async () => {
    const id = await limit({ concurrency: 1 })
    const other = testCtx(stage.db, await createTenant(stage.db))
    await expect(limitUsage(other, id, { limit: 1 })).rejects.toMatchObject({ code: 'not-found' })
    await expect(limitUsage(stage.ctx, unknownId(), { limit: 1 })).rejects.toMatchObject({ code: 'not-found' })
  })
})

describe('the usage of a queue', () => {
  it('names who holds its slots and who waits, and counts its organisation', async () => {
    const { id } = await createQueue(stage.ctx, { name: 'mail', concurrency: 2 })
    await stage.accept(...many(3, { queue: 'mail' }), ...many(4))
    const held = await stage.admit()
    const { queue, tenant } = await queueUsage(stage.ctx, id)
    expect(queue).toMatchObject({ concurrency: 2, used: 2, holding: 2, waiting: 1, isLowerBound: false })
    expect(tenant).toMatchObject({ used: 6, waiting: 1 })
    expect(held.map(([, , runId]) => runId)).toEqual(expect.arrayContaining(queue.holders.map(({ runId }) => runId)))
    expect(queue.firstWaiting).toHaveLength(1)
    const other = testCtx(stage.db, await createTenant(stage.db))
    await expect(queueUsage(other, id)).rejects.toMatchObject({ code: 'not-found' })
  })
})
