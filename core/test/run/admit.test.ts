import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import type { Ctx } from '../../src/db/context.ts'
import { createLimit } from '../../src/flow/limits.ts'
import { createQueue, pauseQueue, resumeQueue, updateQueue } from '../../src/flow/queues.ts'
import { nilUuid } from '../../src/kernel/ids.ts'
import { type Admitted, admitRuns, lookAhead } from '../../src/run/admit.ts'
import { getRun } from '../../src/run/get.ts'
import { httpTargetValue } from '../../src/run/target.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { createStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())

// Admission looks at a whole pool, so every test begins with an empty one, and a tenant that is new to it.
beforeEach(async () => {
  stage.ctx = await tenantOf()
})
afterEach(async () => {
  await stage.db.owner.query('delete from due')
  await stage.db.owner.query('delete from ready')
  await stage.db.owner.query('delete from held')
})

const many = (count: number, queue?: string) =>
  Array.from({ length: count }, () => (queue === undefined ? {} : { queue }))
const tenantOf = async (plan: { concurrency?: number } = {}): Promise<Ctx> =>
  testCtx(stage.db, await createTenant(stage.db, plan))
const weigh = (ctx: Ctx, weight: number) =>
  stage.db.owner.query('update limits set weight = $2 where tenant_id = $1 and queue_id = $3', [
    ctx.tenantId,
    weight,
    nilUuid,
  ])
const byTenant = (admitted: Admitted[], ...tenants: Ctx[]): number[] =>
  tenants.map((tenant) => admitted.filter((run) => run[0] === tenant.tenantId).length)
const held = (ctx: Ctx): Promise<number> =>
  stage.value<number>('select count(*)::int as value from held where tenant_id = $1', ctx.tenantId)

describe('what is admitted', () => {
  it('what is due, in the order of due instants, never beyond the capacity; the rest waits', async () => {
    const at = Date.now() - 60_000
    const runs = await stage.accept(
      ...Array.from({ length: 12 }, (_, index) => ({ dueAt: new Date(at - index * 1_000) })),
    )
    const admitted = await stage.admit({ capacity: 8 })
    expect(admitted).toHaveLength(8)
    expect(admitted.map((run) => run[4])).toEqual(admitted.map((run) => run[4]).toSorted((a, b) => a - b))
    expect(admitted.map((run) => run[2]).toSorted()).toEqual(
      runs
        .slice(4)
        .map((run) => run.id)
        .toSorted(),
    )
    expect(await stage.admit({ capacity: 8 })).toEqual([])
    expect(await stage.admit({ capacity: 10 })).toHaveLength(2)
    expect(await getRun(stage.ctx, admitted[0]?.[2] ?? '')).toMatchObject({ status: 'queued', attempt: 0, fence: 1 })
  })

  it('what is due within the look-ahead, and nothing later', async () => {
    const [soon, later] = await stage.accept(
      { dueAt: new Date(Date.now() + 500) },
      { dueAt: new Date(Date.now() + 60_000) },
    )
    expect(await stage.admit({ aheadMs: 0 })).toEqual([])
    const admitted = await stage.admit({ aheadMs: 2_000 })
    expect(admitted.map((run) => run.slice(0, 5))).toEqual([
      [stage.ctx.tenantId, soon?.queueId, soon?.id, 1, soon?.dueAt.getTime()],
    ])
    expect(await stage.whereIs(later?.id ?? '')).toEqual(['due'])
  })

  it('priority decides within a queue, then the due instant', async () => {
    const at = Date.now() - 10_000
    const changes = [5, 3, 1, 4, 2, 1].map((priority, index) => ({ priority, dueAt: new Date(at - index * 100) }))
    const runs = await stage.accept(...changes)
    const order: (string | undefined)[] = []
    for (let slots = 1; slots <= 6; slots++) order.push((await stage.admit({ capacity: slots }))[0]?.[2])
    expect(order).toEqual([5, 2, 4, 1, 3, 0].map((index) => runs[index]?.id))
  })

  it('what is less urgent goes first once it has waited ten minutes longer for each step', async () => {
    const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000)
    const runs = await stage.accept(
      { priority: 1, dueAt: minutesAgo(0.5) },
      { priority: 5, dueAt: minutesAgo(41) },
      { priority: 5, dueAt: minutesAgo(39) },
      { priority: 3, dueAt: minutesAgo(20) },
    )
    const order: (string | undefined)[] = []
    for (let slots = 1; slots <= 4; slots++) order.push((await stage.admit({ capacity: slots }))[0]?.[2])
    expect(order).toEqual([1, 0, 3, 2].map((index) => runs[index]?.id))
  })

  it('with less room than is worth it nothing is, and all of it is once there is enough', async () => {
    await stage.accept(...many(10))
    const admit = (capacity: number) =>
      admitRuns(stage.db.engine, { pool: 1, batch: 10, capacity, aheadMs: 25, queuedSeconds: 5, roomMin: 4 })
    expect(await admit(3)).toEqual([])
    expect(await admit(4)).toHaveLength(4)
  })

  it('no executor, no slot: a capacity of zero admits nothing', async () => {
    await stage.accept(...many(3))
    expect(await stage.admit({ capacity: 0 })).toEqual([])
    expect(await stage.value('select count(*)::int as value from ready')).toBe(3)
  })
})

describe('fairness', () => {
  let others: Promise<Ctx[]> | undefined
  /** More tenants than one look considers. */
  const crowd = (): Promise<Ctx[]> => (others ??= Promise.all(Array.from({ length: 99 }, () => tenantOf())))

  it('two tenants share the slots evenly, however long their backlogs are', async () => {
    const other = await tenantOf()
    await stage.accept(...many(200))
    await stage.acceptAs(other, ...many(20))
    expect(byTenant(await stage.admit({ capacity: 30 }), stage.ctx, other)).toEqual([15, 15])
  })

  it('slots in use count: who has few goes first, until all have the same', async () => {
    const other = await tenantOf()
    await stage.accept(...many(60))
    await stage.admit({ capacity: 20 })
    await stage.acceptAs(other, ...many(60))
    expect(byTenant(await stage.admit({ capacity: 30 }), stage.ctx, other)[1]).toBeGreaterThan(7)
    await stage.admit({ capacity: 60 })
    expect(await Promise.all([stage.ctx, other].map(held))).toEqual([30, 30])
  })

  it('weights divide the slots', async () => {
    const heavy = await tenantOf()
    await weigh(heavy, 3)
    await stage.accept(...many(100))
    await stage.acceptAs(heavy, ...many(100))
    expect(byTenant(await stage.admit({ capacity: 40 }), stage.ctx, heavy)).toEqual([10, 30])
  })

  it('a hundred tenants get one slot each before anybody gets two', async () => {
    const tenants = await crowd()
    await stage.accept(...many(500))
    for (const tenant of tenants) await stage.acceptAs(tenant, ...many(3))
    for (let round = 0; round < 10; round++) await stage.admit({ batch: 10, capacity: 100 })
    const counts = await Promise.all([stage.ctx, ...tenants].map(held))
    expect(counts).toEqual(counts.map(() => 1))
  })

  it('many queues give a tenant no more than one would', async () => {
    const other = await tenantOf()
    const queues = Array.from({ length: 100 }, (_, index) => `q${index}`)
    for (const queue of queues) await stage.accept(...many(3, queue))
    await stage.acceptAs(other, ...many(50))
    expect(byTenant(await stage.admit({ batch: 20, capacity: 20 }), stage.ctx, other)).toEqual([10, 10])
  })

  it('weights divide what a tenant gets among its queues, and change nothing for others', async () => {
    const other = await tenantOf()
    await createQueue(stage.ctx, { name: 'heavy', weight: 3 })
    await stage.accept(...many(50, 'heavy'), ...many(50, 'light'))
    await stage.acceptAs(other, ...many(50))
    const admitted = await stage.admit({ capacity: 40 })
    expect(byTenant(admitted, stage.ctx, other)).toEqual([20, 20])
    const heavy = await stage.value<string>("select id as value from queues where name = 'heavy'")
    expect(admitted.filter((run) => run[1] === heavy)).toHaveLength(15)
  })

  it('keys of a queue share alike, however long their backlogs are', async () => {
    await createLimit(stage.ctx, {
      ...{ name: 'each', scope: { type: 'project' }, key: 'body.customer', concurrency: 100 },
      ...{ cost: null, rate: null, backlog: null },
    })
    const of = (customer: string) => ({
      target: httpTargetValue.parse({ type: 'http', url: 'https://a.example.com/', body: { customer } }),
    })
    await stage.accept(
      ...Array.from({ length: 50 }, () => of('large')),
      ...Array.from({ length: 50 }, () => of('small')),
    )
    await stage.admit({ capacity: 20 })
    const counts = 'select array_agg(n)::int[] as value from (select count(*) as n from held group by lane) x'
    expect(await stage.value<number[]>(counts)).toEqual([10, 10])
    await stage.db.owner.query('delete from flow_limits')
  })

  it('what some do not want others get, in the same look', async () => {
    const others = await Promise.all([1, 2, 3].map(() => tenantOf()))
    await stage.accept(...many(100))
    for (const other of others) await stage.acceptAs(other, ...many(2))
    expect(byTenant(await stage.admit({ capacity: 40 }), stage.ctx, ...others)).toEqual([34, 2, 2, 2])
  })

  it('many who want little are all served in one look', async () => {
    const tenants = await crowd()
    await stage.accept(...many(300))
    for (const tenant of tenants) await stage.acceptAs(tenant, ...many(1))
    const admitted = await stage.admit({ capacity: 250 })
    expect(byTenant(admitted, ...tenants)).toEqual(tenants.map(() => 1))
    expect(admitted).toHaveLength(250)
  })

  it('where others have filled the road, those that have little on it are let in, and only they', async () => {
    const [one, two] = [await tenantOf(), await tenantOf()]
    await stage.accept(...many(100))
    await stage.admit({ capacity: 30 })
    expect(await stage.admit({ capacity: 32, roomMin: 4 })).toEqual([])
    await stage.acceptAs(one, ...many(2))
    expect(byTenant(await stage.admit({ capacity: 32, roomMin: 4 }), stage.ctx, one)).toEqual([0, 2])
    await stage.acceptAs(one, ...many(1))
    await stage.acceptAs(two, ...many(200))
    const admitted = await stage.admit({ capacity: 32, roomMin: 4 })
    expect(byTenant(admitted, stage.ctx, one)).toEqual([0, 1])
    // What is beyond the capacity has an end, too.
    for (let look = 0; look < 5; look++) await stage.admit({ capacity: 32, roomMin: 4 })
    expect(await stage.value<number>('select count(*)::int as value from held')).toBeLessThanOrEqual(32 + 64)
  })

  it('a tenant of little weight is served in its turn where there is one slot', async () => {
    const light = await tenantOf()
    await weigh(stage.ctx, 4)
    await stage.accept(...many(20))
    await stage.acceptAs(light, ...many(20))
    const owed = new Map<string, number>()
    const turns: number[][] = []
    for (let turn = 0; turn < 10; turn++) {
      const admitted = await stage.admit({ capacity: 1, owed })
      turns.push(byTenant(admitted, stage.ctx, light))
      await stage.end(await stage.claim(admitted))
    }
    expect(turns.reduce(([a = 0, b = 0], [c = 0, d = 0]) => [a + c, b + d], [0, 0])).toEqual([8, 2])
  })

  it('no queue of a tenant is forgotten while its others are refilled', async () => {
    for (const tenant of await crowd()) await stage.acceptAs(tenant, ...many(30))
    await stage.accept(...many(30, 'busy'), ...many(1, 'forgotten'))
    const forgotten = await stage.value<string>("select id as value from queues where name = 'forgotten'")
    let isServed = false
    for (let round = 0; round < 30 && !isServed; round++) {
      const admitted = await stage.admit({ batch: 100, capacity: 100 })
      if (admitted.some((run) => run[1] === forgotten)) isServed = true
      await stage.end(await stage.claim(admitted))
    }
    expect(isServed).toBe(true)
  })
})

describe('limits', () => {
  it('a queue never holds more than its concurrency, a tenant never more than its own', async () => {
    const ctx = await tenantOf({ concurrency: 7 })
    await createQueue(ctx, { name: 'narrow', concurrency: 3 })
    await createQueue(ctx, { name: 'wide', concurrency: 100 })
    await stage.acceptAs(ctx, ...many(50, 'narrow'), ...many(50, 'wide'))
    const admitted = await stage.admit({ capacity: 100 })
    expect(admitted).toHaveLength(7)
    const narrow = await stage.value<number>(
      "select count(*)::int as value from held h join queues q on q.id = h.queue_id where q.name = 'narrow'",
    )
    expect(narrow).toBeLessThanOrEqual(3)
    expect(await stage.admit({ capacity: 100 })).toEqual([])
  })

  it('they hold by one while four dispatchers admit, executors claim, and runs end', async () => {
    const ctx = await tenantOf({ concurrency: 5 })
    await createQueue(ctx, { name: 'narrow', concurrency: 2 })
    await stage.acceptAs(ctx, ...many(25, 'narrow'), ...many(25))
    const most = `select array[count(*), count(*) filter (where q.name = 'narrow')]::int[] as value
      from held h join queues q on q.tenant_id = h.tenant_id and q.id = h.queue_id where h.tenant_id = $1`
    let ended = 0
    const dispatch = async (): Promise<void> => {
      while (ended < 50) {
        const claimed = await stage.claim(await stage.admit({ batch: 4, capacity: 50 }))
        const [all = 99, narrow = 99] = await stage.value<number[]>(most, ctx.tenantId)
        expect(all).toBeLessThanOrEqual(5)
        expect(narrow).toBeLessThanOrEqual(2)
        const { size } = await stage.end(claimed)
        ended += size
      }
    }
    await Promise.all(Array.from({ length: 4 }, dispatch))
    expect(
      await stage.value('select count(distinct id)::int as value from runs where tenant_id = $1', ctx.tenantId),
    ).toBe(50)
  })

  it('while one dispatcher admits, a second does nothing and does not wait', async () => {
    await stage.accept(...many(5))
    const client = await stage.db.engine.connect()
    await client.query('begin')
    await client.query('select pg_advisory_xact_lock(42, 1)')
    expect(await stage.admit()).toEqual([])
    await client.query('commit')
    client.release()
    expect(await stage.admit()).toHaveLength(5)
  })

  it('a limit that is lowered below what is in use admits nothing until enough has ended', async () => {
    const queue = await createQueue(stage.ctx, { name: 'shrinking', concurrency: 6 })
    await stage.accept(...many(20, 'shrinking'))
    const claimed = await stage.claim(await stage.admit())
    expect(claimed).toHaveLength(6)
    await updateQueue(stage.ctx, queue.id, { concurrency: 2 })
    await stage.end(claimed.slice(0, 4))
    expect(await stage.admit()).toEqual([])
    await stage.end(claimed.slice(4, 5))
    expect(await stage.admit()).toHaveLength(1)
  })

  it('a paused queue gives nothing out, what is on its way goes on, and it resumes', async () => {
    const queue = await createQueue(stage.ctx, { name: 'paused' })
    await stage.accept(...many(4, 'paused'))
    const admitted = await stage.admit({ capacity: 2 })
    await pauseQueue(stage.ctx, queue.id, 'maintenance')
    await stage.accept(...many(1))
    expect((await stage.admit()).map((run) => run[1])).not.toContain(queue.id)
    expect(await stage.end(await stage.claim(admitted))).toHaveLength(2)
    expect(await stage.admit()).toEqual([])
    await resumeQueue(stage.ctx, queue.id)
    expect(await stage.admit()).toHaveLength(2)
  })

  it('a paused tenant gives nothing out', async () => {
    const other = await tenantOf()
    await stage.db.owner.query('update limits set paused = true where tenant_id = $1 and queue_id = $2', [
      stage.ctx.tenantId,
      nilUuid,
    ])
    await stage.accept(...many(3))
    await stage.acceptAs(other, ...many(3))
    expect(byTenant(await stage.admit(), stage.ctx, other)).toEqual([0, 3])
  })
})

describe('looking ahead', () => {
  it("tells the database's clock, the next due instant and whether runs wait", async () => {
    expect(await lookAhead(stage.db.engine, 1)).toMatchObject({ nextDueMs: null, waiting: false })
    const dueAt = new Date('2039-06-01T00:00:00.123Z')
    await stage.accept({ dueAt }, { dueAt: new Date(dueAt.getTime() + 1) })
    expect(await lookAhead(stage.db.engine, 1)).toMatchObject({ nextDueMs: dueAt.getTime(), waiting: false })
    await stage.accept({})
    const outlook = await lookAhead(stage.db.engine, 1)
    expect(outlook.waiting).toBe(true)
    expect(Math.abs(outlook.nowMs - Date.now())).toBeLessThan(5_000)
    expect(await lookAhead(stage.db.engine, 2)).toMatchObject({ nextDueMs: null, waiting: false })
  })

  it('tells whether somebody who waited at the last look still does', async () => {
    const first = await lookAhead(stage.db.engine, 1)
    await stage.accept({})
    expect(await lookAhead(stage.db.engine, 1, first.nowMs)).toMatchObject({ waiting: true, stillWaiting: false })
    const later = await lookAhead(stage.db.engine, 1)
    expect(await lookAhead(stage.db.engine, 1, later.nowMs)).toMatchObject({ waiting: true, stillWaiting: true })
  })
})
