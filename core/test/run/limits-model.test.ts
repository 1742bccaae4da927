import fc from 'fast-check'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import type { NewLimit } from '../../src/flow/limit.ts'
import { createLimit, pauseLimit, resumeLimit } from '../../src/flow/limits.ts'
import type { Uuid } from '../../src/kernel/ids.ts'
import { acceptRuns } from '../../src/run/accept.ts'
import type { Admitted } from '../../src/run/admit.ts'
import { cancelRun } from '../../src/run/cancel.ts'
import { type Claimed, handBack } from '../../src/run/claim.ts'
import { batchValue } from '../../src/run/create-key.ts'
import { prepareRun } from '../../src/run/prepare.ts'
import { rescueRuns, returnQueued } from '../../src/run/rescue.ts'
import { httpTargetValue } from '../../src/run/target.ts'
import { prepareReplay } from '../../src/run/trigger.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { createStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())

const none = { key: null, cost: null, concurrency: null, rate: null, backlog: null }
const project = { type: 'project' } as const
const limits: NewLimit[] = [
  { ...none, name: 'by key', scope: project, key: 'body.customer', concurrency: 2 },
  { ...none, name: 'by cost', scope: { type: 'host', host: 'hooks.example.com' }, cost: 'body.size', concurrency: 7 },
  { ...none, name: 'whole', scope: project, concurrency: 5 },
  { ...none, name: 'rate', scope: project, key: 'body.customer', rate: { count: 1, perMs: 3_600_000, burst: 6 } },
  { ...none, name: 'backlog', scope: project, key: 'body.customer', backlog: { max: 4, whenFull: 'reject' } },
]

/** Everything that dispatchers, executors and people still hold in their hands, however old. */
interface Hands {
  ids: Uuid[]
  parcels: Admitted[]
  claims: Claimed[]
  limitIds: Uuid[]
}
const picked = <T>(items: readonly T[], seed: number, count: number): T[] =>
  items.length === 0
    ? []
    : Array.from(
        { length: Math.min(count, items.length) },
        (_, index) => items[(seed + index * 7) % items.length],
      ).filter((item) => item !== undefined)
const targetOf = (seed: number) =>
  httpTargetValue.parse({
    type: 'http',
    url: 'https://hooks.example.com/in',
    body: { customer: ['a', 'b', 'c'][seed % 3], size: 1 + (seed % 4) },
  })
const accept = async (hands: Hands, rows: Parameters<typeof acceptRuns>[1]): Promise<void> => {
  for (const result of await acceptRuns(stage.intake, rows, false))
    if (result.outcome !== 'refused') hands.ids.push(result.run.id)
}

type Act = (hands: Hands, seed: number, count: number) => Promise<unknown>
const acts: Record<string, Act> = {
  accept: async (hands, seed, count) => {
    const runs = Array.from({ length: count }, (_, index) => prepareRun(stage.ctx, { target: targetOf(seed + index) }))
    await accept(hands, await Promise.all(runs))
  },
  acceptTogether: async (hands, seed) => {
    const batch = batchValue.parse({ key: `k${seed % 2}`, maxSize: 2 })
    await accept(hands, [await prepareRun(stage.ctx, { target: targetOf(seed), batch })])
  },
  replay: async (hands, seed) => {
    const ended = await stage.value<Uuid[] | null>(
      'select array_agg(id order by id) as value from runs where tenant_id = $1',
      stage.ctx.tenantId,
    )
    for (const id of picked(ended ?? [], seed, 1)) await accept(hands, [await prepareReplay(stage.ctx, id, {})])
  },
  admit: async (hands, _seed, count) => hands.parcels.push(...(await stage.admit({ batch: count * 2 }))),
  claim: async (hands, seed, count) => hands.claims.push(...(await stage.claim(picked(hands.parcels, seed, count)))),
  end: (hands, seed, count) => stage.end(picked(hands.claims, seed, count), seed % 2 === 0 ? 'succeeded' : 'failed'),
  retry: (hands, seed, count) =>
    stage.retry(picked(hands.claims, seed, count).filter(({ attempt, attemptsMax }) => attempt < attemptsMax)),
  handBack: (hands, seed, count) => handBack(stage.db.engine, 1, picked(hands.claims, seed, count)),
  returnQueued: (hands, seed, count) => returnQueued(stage.db.engine, 1, picked(hands.parcels, seed, count)),
  rescue: async (_hands, seed, count) => {
    if (seed % 2 === 0) await stage.expireLeases()
    await rescueRuns(stage.db.engine, 1, count)
  },
  cancel: async (hands, seed) => {
    for (const id of picked(hands.ids, seed, 1))
      await cancelRun(stage.ctx, id).catch((error: { code: string }) => expect(error.code).toBe('invalid-transition'))
  },
  pause: async ({ limitIds }, seed) => pauseLimit(stage.ctx, limitIds[seed % limitIds.length] ?? '', null),
  resume: async ({ limitIds }) => Promise.all(limitIds.map((id) => resumeLimit(stage.ctx, id))),
}

// Counted apart from what admission counts with: by the bodies' own facts, as their gates have them.
const excess = `
  select array_agg(what) as value from (
    select 'key ' || g.key as what from held h join lane_gates lg on lg.lane_id = h.lane join gates g on g.id = lg.gate_id
      join flow_limits f on f.id = g.limit_id where h.tenant_id = $1 and f.name = 'by key' group by g.key having count(*) > 2
    union all
    select 'cost' from held h join lane_gates lg on lg.lane_id = h.lane join flow_limits f on f.id = lg.gate_id
      where h.tenant_id = $1 and f.name = 'by cost' having sum(lg.cost) > 7
    union all
    select 'whole' from held h where h.tenant_id = $1 having count(*) > 5
    union all
    select 'lane' from held h where h.tenant_id = $1 and h.lane is null
    union all
    select 'rate ' || g.key from gates g join flow_limits f on f.id = g.limit_id
      where g.tenant_id = $1 and f.name = 'rate' and tokens_at(clock_timestamp(), g.full_at, f.rate_count, f.rate_ms, f.rate_burst) < -0.001) x`
const endsOf = `select coalesce(jsonb_object_agg(id, jsonb_build_array(state, attempt, fence, ended_at)), '{}') as value
  from runs where tenant_id = $1`

it('no sequence of acts, in whatever order and with whatever old hands, exceeds a limit by one, or leaves a final state', async () => {
  const act = fc.record({
    name: fc.constantFrom(...Object.keys(acts)),
    seed: fc.nat(10_000),
    count: fc.integer({ min: 1, max: 6 }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 10, maxLength: 30 }), async (sequence) => {
      stage.ctx = testCtx(stage.db, await createTenant(stage.db))
      for (const table of ['due', 'ready', 'held']) await stage.db.owner.query(`delete from ${table}`)
      const hands: Hands = { ids: [], parcels: [], claims: [], limitIds: [] }
      for (const limit of limits) hands.limitIds.push((await createLimit(stage.ctx, limit)).id)
      await acts['accept']?.(hands, 0, 6)
      let before: Record<string, unknown> = {}
      for (const { name, seed, count } of sequence) {
        const paused = await stage.value<boolean>(
          'select exists (select from flow_limits where tenant_id = $1 and paused_at is not null and not is_whole and key_expression is null) as value',
          stage.ctx.tenantId,
        )
        const admitted = hands.parcels.length
        await acts[name]?.(hands, seed, count)
        expect(await stage.value(excess, stage.ctx.tenantId), name).toBeNull()
        // The limit of the host holds for each of them.
        if (paused) expect(hands.parcels.length, name).toBe(admitted)
        const now = await stage.value<Record<string, unknown>>(endsOf, stage.ctx.tenantId)
        expect(now, `${name}: final is final`).toMatchObject(before)
        before = now
      }
    }),
    { numRuns: 8 },
  )
}, 90_000)
