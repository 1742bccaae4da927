import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { spareOf, usualShares } from '../../src/flow/classes.ts'
import { createQueue, updateQueue } from '../../src/flow/queues.ts'
import type { Uuid } from '../../src/kernel/ids.ts'
import type { Admitted } from '../../src/run/admit.ts'
import { type AdmittedByClass, admitByClass } from '../../src/run/admit-by-class.ts'
import { cancelRun } from '../../src/run/cancel.ts'
import { type Claimed, handBack } from '../../src/run/claim.ts'
import { rescueRuns } from '../../src/run/rescue.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { explainRun } from '../../src/why/run.ts'
import { createStage, type Stage } from './stage.ts'

let stage: Stage
let nightly: Uuid
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())
const begin = async (): Promise<void> => {
  for (const table of ['due', 'ready', 'held', 'limits']) await stage.db.owner.query(`delete from ${table}`)
  stage.ctx = testCtx(stage.db, await createTenant(stage.db))
  await createQueue(stage.ctx, { name: 'alarms', class: 'critical', concurrency: 4 })
  nightly = (await createQueue(stage.ctx, { name: 'nightly', class: 'bulk', preemptible: true })).id
}
beforeEach(begin)

const slots = 20
const many = (count: number, queue: string) => Array.from({ length: count }, () => ({ queue }))
const look = (batch = 100): Promise<AdmittedByClass> =>
  admitByClass(stage.db.engine, {
    ...{ pool: 1, batch, capacity: slots, aheadMs: 25, queuedSeconds: 5 },
    ...{ spare: spareOf(slots), reserved: usualShares.reserved },
  })
const fill = async (queue = 'nightly'): Promise<Claimed[]> => {
  await stage.accept(...many(30, queue))
  return stage.claim((await look()).others)
}

describe('a critical run that finds no slot', () => {
  it('gets that of a bulk run, which waits again: no attempt is spent, and its late report is refused', async () => {
    const bulk = await fill()
    expect(bulk).toHaveLength(19)
    const accepted = await stage.accept(...many(3, 'alarms'))
    const { critical, preempted } = await look()
    expect([critical.length, preempted.length]).toEqual([3, 2])
    expect(new Set(critical.map(([, , id]) => id))).toEqual(new Set(accepted.map(({ id }) => id)))
    expect(await stage.value('select count(*)::int as value from held')).toBe(slots)
    const [gone] = preempted
    const late = bulk.filter(({ id }) => preempted.some((run) => run.id === id))
    expect(late.map(({ attempt }) => attempt)).toEqual([1, 1])
    expect(await stage.end(late)).toEqual(new Set())
    expect(await stage.eventsOf(gone?.id ?? '')).toEqual(['run.created', 'run.preempted'])
    expect(await explainRun(stage.ctx, gone?.id ?? '')).toMatchObject({
      reasons: [{ code: 'no-executor' }, { code: 'preempted', evidence: { class: 'bulk', queue: 'nightly' } }],
    })
    await stage.end(await stage.claim(critical))
    const again = await stage.claim((await look()).others)
    expect(again.find(({ id }) => id === gone?.id)).toMatchObject({ attempt: 1 })
    await stage.end(again)
    expect(await stage.whereIs(gone?.id ?? '')).toEqual(['succeeded'])
  })

  it('gets it from the youngest', async () => {
    const bulk = await fill()
    const youngest = bulk[7]
    await stage.db.owner.query("update held set since = since + interval '1 second' where id = $1", [youngest?.id])
    await stage.accept(...many(2, 'alarms'))
    expect((await look()).preempted.map(({ id }) => id)).toEqual([youngest?.id])
  })

  it('gets none from queues that do not say so, from standard ones, and beyond what is reserved for it', async () => {
    await updateQueue(stage.ctx, nightly, { preemptible: false })
    const bulk = await fill()
    await stage.accept(...many(9, 'alarms'))
    expect(await look()).toMatchObject({ preempted: [], criticalWaits: true })
    await updateQueue(stage.ctx, nightly, { preemptible: true })
    // Its queue lets it have four, and one has the slot that was kept free.
    expect((await look()).preempted).toHaveLength(3)
    await createQueue(stage.ctx, { name: 'more-alarms', class: 'critical' })
    await stage.accept(...many(9, 'more-alarms'))
    // A quarter of twenty.
    expect((await look()).preempted).toHaveLength(1)
    expect((await look()).preempted).toHaveLength(0)
    expect(bulk).toHaveLength(19)
  })

  it('does so once, however many dispatchers see it', async () => {
    await fill()
    await stage.accept(...many(4, 'alarms'))
    const looks = await Promise.all([look(), look(), look()])
    const rest = await look()
    const all = [...looks, rest]
    expect(all.flatMap(({ critical }) => critical)).toHaveLength(4)
    expect(all.flatMap(({ preempted }) => preempted)).toHaveLength(3)
    expect(await stage.value('select count(*)::int as value from held')).toBe(slots)
  })
})

interface Hands {
  ids: Uuid[]
  parcels: Admitted[]
  claims: Claimed[]
}
const picked = <T>(items: readonly T[], seed: number, count: number): T[] =>
  Array.from({ length: Math.min(count, items.length) }, (_, index) => items[(seed + index * 7) % items.length]).filter(
    (item) => item !== undefined,
  )
const acts: Record<string, (hands: Hands, seed: number, count: number) => Promise<unknown>> = {
  flood: async (hands, seed, count) => {
    const queue = seed % 3 === 0 ? 'default' : 'nightly'
    hands.ids.push(...(await stage.accept(...many(count * 3, queue))).map(({ id }) => id))
  },
  alarm: async (hands, _seed, count) =>
    hands.ids.push(...(await stage.accept(...many(count, 'alarms'))).map(({ id }) => id)),
  look: async (hands, _seed, count) => {
    const before = await stage.value<number>('select count(*)::int as value from held')
    const { critical, others, preempted } = await look(count * 4)
    hands.parcels.push(...critical, ...others)
    expect(preempted.length).toBeLessThanOrEqual(critical.length)
    expect(await stage.value('select count(*)::int as value from held')).toBe(
      before + critical.length + others.length - preempted.length,
    )
  },
  claim: async (hands, seed, count) =>
    hands.claims.push(...(await stage.claim(picked(hands.parcels, seed, count * 4)))),
  end: (hands, seed, count) => stage.end(picked(hands.claims, seed, count)),
  retry: (hands, seed, count) =>
    stage.retry(picked(hands.claims, seed, count).filter(({ attempt, attemptsMax }) => attempt < attemptsMax)),
  handBack: (hands, seed, count) => handBack(stage.db.engine, 1, picked(hands.claims, seed, count)),
  rescue: async (_hands, seed, count) => {
    if (seed % 2 === 0) await stage.expireLeases()
    await rescueRuns(stage.db.engine, 1, count)
  },
  cancel: async (hands, seed) => {
    for (const id of picked(hands.ids, seed, 1))
      await cancelRun(stage.ctx, id).catch((error: { code: string }) => expect(error.code).toBe('invalid-transition'))
  },
  class: (_hands, seed) => updateQueue(stage.ctx, nightly, { preemptible: seed % 3 > 0 }),
}

it('no sequence of acts and pre-emptions loses or doubles a run, leaves a final state, or exceeds a limit by one', async () => {
  const names = Object.keys(acts)
  const act = fc.record({
    name: fc.constantFrom(...names, 'flood', 'alarm', 'look', 'claim', 'look', 'claim'),
    seed: fc.nat(10_000),
    count: fc.integer({ min: 1, max: 6 }),
  })
  let preempted = 0
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 15, maxLength: 40 }), async (sequence) => {
      await begin()
      const hands: Hands = { ids: [], parcels: [], claims: [] }
      for (const name of ['flood', 'flood', 'look', 'claim', 'alarm']) await acts[name]?.(hands, 1, 6)
      let before: Record<string, unknown> = {}
      for (const { name, seed, count } of sequence) {
        await acts[name]?.(hands, seed, count)
        const held = await stage.value<{ all: number; alarms: number }>(
          `select jsonb_build_object('all', count(*), 'alarms', count(*) filter (where q.name = 'alarms')) as value
           from held h join queues q on q.tenant_id = h.tenant_id and q.id = h.queue_id`,
        )
        expect(held.all, name).toBeLessThanOrEqual(slots)
        expect(held.alarms, name).toBeLessThanOrEqual(4)
        const places = await stage.value<Uuid[]>(
          `select array_agg(id) as value from (select tenant_id, id from due union all select tenant_id, id from ready
             union all select tenant_id, id from held union all select tenant_id, id from runs) x where tenant_id = $1`,
          stage.ctx.tenantId,
        )
        expect(places.toSorted(), name).toEqual(hands.ids.toSorted())
        const now = await stage.value<Record<string, unknown>>(
          `select coalesce(jsonb_object_agg(id, jsonb_build_array(state, attempt, fence, ended_at)), '{}') as value from runs where tenant_id = $1`,
          stage.ctx.tenantId,
        )
        expect(now, `${name}: final is final`).toMatchObject(before)
        before = now
      }
      preempted += await stage.value<number>(
        "select count(*)::int as value from events where tenant_id = $1 and type = 'run.preempted'",
        stage.ctx.tenantId,
      )
    }),
    { numRuns: 8 },
  )
  expect(preempted).toBeGreaterThan(0)
}, 90_000)
