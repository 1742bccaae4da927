import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import type { Ctx } from '../../src/db/context.ts'
import { createQueue, pauseQueue } from '../../src/flow/queues.ts'
import { sampleShares } from '../../src/flow/sample-shares.ts'
import { shareReport } from '../../src/flow/shares.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { createStage, type Stage } from './stage.ts'

let stage: Stage
let other: Ctx
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())
beforeEach(async () => {
  stage.ctx = testCtx(stage.db, await createTenant(stage.db))
  other = testCtx(stage.db, await createTenant(stage.db))
})
afterEach(async () => {
  for (const table of ['due', 'ready', 'held', 'share_minutes', 'queue_share_minutes', 'pool_minutes'])
    await stage.db.owner.query(`delete from ${table}`)
})

const many = (count: number, queue = 'default') => Array.from({ length: count }, () => ({ queue }))
const sample = () => sampleShares(stage.db.engine, 1)
const report = async (ctx: Ctx) => {
  const { pools, queues, waits } = await shareReport(ctx, {
    from: new Date(Date.now() - 120_000),
    to: new Date(Date.now() + 60_000),
  })
  return { ...pools[0], queues, waits }
}

describe('a sample of the shares', () => {
  it('tells what each has beside what it should have, and how even that is', async () => {
    await stage.accept(...many(40))
    await stage.admit({ capacity: 30 })
    await stage.acceptAs(other, ...many(50))
    expect(await sample()).toBeCloseTo(0.5)
    expect(await report(stage.ctx)).toMatchObject({
      pool: 'local',
      received: 30,
      entitled: 15,
      slots: 30,
      tenants: 2,
    })
    expect(await report(other)).toMatchObject({ received: 0, entitled: 15, slots: 30, tenants: 2, jain: 0.5 })
  })

  it('who wants less than its share should have no more than that', async () => {
    await stage.accept(...many(40))
    await stage.acceptAs(other, ...many(4))
    await stage.admit({ capacity: 30 })
    expect(await sample()).toBeCloseTo(1)
    expect(await report(stage.ctx)).toMatchObject({ received: 26, entitled: 26 })
    expect(await report(other)).toMatchObject({ received: 4, entitled: 4 })
  })

  it('what may not run is no want: a queue that is paused, or full', async () => {
    await stage.accept(...many(40))
    const paused = await createQueue(other, { name: 'paused' })
    await createQueue(other, { name: 'narrow', concurrency: 3 })
    await stage.acceptAs(other, ...many(9, 'paused'), ...many(9, 'narrow'))
    await pauseQueue(other, paused.id, null)
    await stage.admit({ capacity: 30 })
    expect(await sample()).toBeCloseTo(1)
    expect(await report(other)).toMatchObject({ received: 3, entitled: 3 })
  })

  it('weights count', async () => {
    await stage.db.owner.query('update limits set weight = 2 where tenant_id = $1', [stage.ctx.tenantId])
    await stage.accept(...many(40))
    await stage.acceptAs(other, ...many(40))
    await stage.admit({ capacity: 30 })
    expect(await sample()).toBeCloseTo(1)
    expect(await report(stage.ctx)).toMatchObject({ weight: 2, received: 20, entitled: 20 })
  })

  it('divides the share of an organisation among its queues, by weight and by what they want', async () => {
    for (const [name, weight] of [
      ['heavy', 3],
      ['light', 1],
    ] as const)
      await createQueue(stage.ctx, { name, weight })
    await createQueue(stage.ctx, { name: 'narrow', concurrency: 2 })
    await stage.accept(...many(30, 'light'))
    await stage.admit({ capacity: 30 })
    await stage.accept(...many(60, 'heavy'), ...many(9, 'narrow'))
    expect(await sample()).toBe(1)
    const { queues } = await report(stage.ctx)
    expect(queues).toMatchObject([
      { queue: 'heavy', weight: 3, received: 0, entitled: expect.closeTo(21) },
      { queue: 'light', weight: 1, received: 30, entitled: expect.closeTo(7) },
      { queue: 'narrow', received: 0, entitled: expect.closeTo(2) },
    ])
    expect((await report(other)).queues).toEqual([])
  })

  it('compares queues of one class alone', async () => {
    await createQueue(stage.ctx, { name: 'night', class: 'bulk' })
    await stage.accept(...many(6), ...many(3, 'night'))
    await stage.admit({ capacity: 30 })
    await stage.accept(...many(9, 'night'))
    await sample()
    expect((await report(stage.ctx)).queues).toMatchObject([
      { queue: 'default', class: 'standard', received: 6, entitled: 6 },
      { queue: 'night', class: 'bulk', received: 3, entitled: 3 },
    ])
  })

  it('is taken once a second by whoever comes first, and never of nothing', async () => {
    expect(await sample()).toBeNull()
    await stage.accept(...many(2))
    await stage.admit()
    expect(await sample()).toBe(1)
    expect(await sample()).toBeNull()
    expect(await stage.value('select sum(samples)::int as value from pool_minutes')).toBe(1)
  })
})

describe('waits', () => {
  it('are those of first attempts, of the own organisation alone', async () => {
    await stage.accept({ dueAt: new Date(Date.now() - 5_000) }, { dueAt: new Date(Date.now() - 5_000) })
    await stage.end(await stage.claim(await stage.admit()))
    const { waits, queues } = await report(stage.ctx)
    expect(queues).toMatchObject([{ queue: 'default', entitled: 0, waits }])
    expect(waits.runs).toBe(2)
    expect(waits.p50Ms).toBeGreaterThanOrEqual(5_000)
    expect((await report(other)).waits).toEqual({ runs: 0, p50Ms: null, p95Ms: null })
  })
})
