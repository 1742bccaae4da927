import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import type { Ctx } from '../../src/db/context.ts'
import { queueClasses, spareOf, usualShares } from '../../src/flow/classes.ts'
import { createQueue, getQueue, updateQueue } from '../../src/flow/queues.ts'
import { sampleShares } from '../../src/flow/sample-shares.ts'
import { readCapacity } from '../../src/run/admit.ts'
import { admitByClass, type ClassOptions } from '../../src/run/admit-by-class.ts'
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
  for (const of of queueClasses) {
    await createQueue(stage.ctx, { name: of, class: of })
    await createQueue(other, { name: of, class: of })
  }
})
afterEach(async () => {
  for (const table of ['due', 'ready', 'held', 'limits', 'share_minutes', 'pool_minutes'])
    await stage.db.owner.query(`delete from ${table}`)
})

const many = (count: number, queue: string) => Array.from({ length: count }, () => ({ queue }))
const admit = (slots: number, options: Partial<ClassOptions> = {}) =>
  admitByClass(stage.db.engine, {
    ...{ pool: 1, batch: 1_000, capacity: slots, aheadMs: 25, queuedSeconds: 5 },
    ...{ spare: spareOf(slots), reserved: usualShares.reserved },
    ...options,
  })
const held = (queue: string): Promise<number> =>
  stage.value('select count(*)::int as value from held h join queues q on q.id = h.queue_id where q.name = $1', queue)

describe('slots of a pool', () => {
  it('are divided among classes first: each has what is reserved for it, and bulk what is left', async () => {
    await stage.accept(...many(100, 'critical'), ...many(100, 'standard'), ...many(100, 'bulk'))
    const { critical, others, criticalWaits } = await admit(40)
    expect([critical.length, others.length, criticalWaits]).toEqual([16, 24, true])
    expect([await held('critical'), await held('standard'), await held('bulk')]).toEqual([16, 20, 4])
  })

  it('go to whoever has work, but for a few that are kept for critical runs', async () => {
    await stage.accept(...many(100, 'bulk'))
    expect((await admit(40)).others).toHaveLength(38)
    await stage.accept(...many(2, 'critical'))
    expect((await admit(40)).critical).toHaveLength(2)
  })

  it('a critical run finds one though the pool is overfull', async () => {
    await stage.accept(...many(100, 'bulk'))
    await admit(100)
    await stage.accept(...many(5, 'critical'))
    const { critical, criticalWaits } = await admit(40)
    expect([critical.length, criticalWaits]).toEqual([2, true])
  })

  it('those that come free go first to a class that has less than what is reserved for it', async () => {
    await stage.accept(...many(100, 'bulk'))
    const bulk = await stage.claim((await admit(40)).others)
    await stage.accept(...many(100, 'standard'), ...many(100, 'bulk'))
    await stage.end(bulk.slice(0, 12))
    await admit(40)
    expect([await held('standard'), await held('bulk')]).toEqual([12, 26])
  })

  it('are shared among tenants class by class: what one has of bulk is not held against its critical runs', async () => {
    await stage.accept(...many(100, 'bulk'))
    await admit(40)
    await stage.accept(...many(20, 'critical'))
    await stage.acceptAs(other, ...many(20, 'critical'))
    const { critical } = await admit(120, { batch: 10 })
    expect(critical.filter(([tenantId]) => tenantId === other.tenantId)).toHaveLength(5)
  })

  it('no queue and no tenant gets more than its concurrency, in all classes together', async () => {
    const setMost = (queueName: string | null, most: number) =>
      stage.db.owner.query(
        `update limits l set concurrency = $2 where l.tenant_id = $1
           and l.queue_id = coalesce((select id from queues q where q.tenant_id = $1 and q.name = $3), '00000000-0000-0000-0000-000000000000')`,
        [stage.ctx.tenantId, most, queueName],
      )
    await setMost(null, 7)
    await setMost('critical', 3)
    await stage.accept(...many(10, 'critical'), ...many(10, 'standard'), ...many(10, 'bulk'))
    for (let look = 0; look < 3; look++) await admit(100)
    expect(await held('critical')).toBe(3)
    expect(await stage.value('select count(*)::int as value from held')).toBe(7)
  })

  it('what a tenant should have is told class by class', async () => {
    await stage.accept(...many(100, 'bulk'), ...many(4, 'critical'))
    await admit(40)
    await stage.acceptAs(other, ...many(100, 'bulk'))
    await sampleShares(stage.db.engine, 1)
    const entitled = (ctx: Ctx) =>
      stage.value('select entitled as value from share_minutes where tenant_id = $1', ctx.tenantId)
    expect([await entitled(stage.ctx), await entitled(other)]).toEqual([22, 18])
  })
})

describe('a class', () => {
  it('is known to dispatchers while a queue has one', async () => {
    expect((await readCapacity(stage.db.engine, 1)).usesClasses).toBe(true)
    await stage.db.owner.query('update limits set class = 1')
    expect((await readCapacity(stage.db.engine, 1)).usesClasses).toBe(false)
  })

  it('decides whether a queue may be preemptible: bulk alone may', async () => {
    const { id } = await createQueue(stage.ctx, { name: 'reports', class: 'bulk', preemptible: true })
    expect(await getQueue(stage.ctx, id)).toMatchObject({ class: 'bulk', preemptible: true })
    expect(await updateQueue(stage.ctx, id, { class: 'standard' })).toMatchObject({ preemptible: false })
    await expect(updateQueue(stage.ctx, id, { preemptible: true })).rejects.toMatchObject({
      code: 'validation-failed',
    })
  })
})
