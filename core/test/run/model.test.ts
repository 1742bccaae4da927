import fc from 'fast-check'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { createQueue } from '../../src/flow/queues.ts'
import type { Admitted } from '../../src/run/admit.ts'
import { cancelRun } from '../../src/run/cancel.ts'
import { type Claimed, handBack, renewLeases } from '../../src/run/claim.ts'
import { rescueRuns, returnQueued } from '../../src/run/rescue.ts'
import { retryPolicyValue, toRetryPolicy } from '../../src/run/retry-policy.ts'
import { isFinal, mayMove, moves, type RunStatus, statusOf } from '../../src/run/run.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { createStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())

const tenantLimit = 6
const queueLimit = 3
const capacity = 9
const retry = toRetryPolicy(retryPolicyValue.parse({ limit: 2 }))

interface Standing {
  id: string
  place: 'due' | 'ready' | 'held' | 'runs'
  state: number | null
  attempt: number
  fence: number
}

/** Everything that dispatchers, executors and people still hold in their hands, however old. */
interface Hands {
  ids: string[]
  parcels: Admitted[]
  claims: Claimed[]
}

const picked = <T>(items: T[], seed: number, count: number): T[] =>
  items.length === 0
    ? []
    : Array.from(
        { length: Math.min(count, items.length) },
        (_, index) => items[(seed + index * 7) % items.length],
      ).filter((item) => item !== undefined)

type Act = (hands: Hands, seed: number, count: number) => Promise<void>
const acts: Record<string, Act> = {
  accept: async (hands, seed, count) => {
    const changes = Array.from({ length: count }, (_, index) => ({
      queue: (seed + index) % 2 === 0 ? 'narrow' : 'default',
      retry,
      ...((seed + index) % 3 === 0 ? { dueAt: new Date(Date.now() + 5) } : {}),
    }))
    hands.ids.push(...(await stage.accept(...changes)).map((run) => run.id))
  },
  admit: async (hands, _seed, count) => void hands.parcels.push(...(await stage.admit({ batch: count, capacity }))),
  claim: async (hands, seed, count) =>
    void hands.claims.push(...(await stage.claim(picked(hands.parcels, seed, count)))),
  end: async (hands, seed, count) =>
    void (await stage.end(picked(hands.claims, seed, count), seed % 2 === 0 ? 'succeeded' : 'failed')),
  retry: async (hands, seed, count) => {
    // As an executor does it: the last try is not tried again.
    await stage.retry(picked(hands.claims, seed, count).filter((run) => run.attempt < run.attemptsMax))
  },
  renew: async (hands, seed, count) => void (await renewLeases(stage.db.engine, 1, picked(hands.claims, seed, count))),
  handBack: async (hands, seed, count) => void (await handBack(stage.db.engine, 1, picked(hands.claims, seed, count))),
  returnQueued: async (hands, seed, count) =>
    void (await returnQueued(stage.db.engine, 1, picked(hands.parcels, seed, count))),
  rescue: async (_hands, seed, count) => {
    if (seed % 2 === 0) await stage.expireLeases()
    await rescueRuns(stage.db.engine, 1, count)
  },
  cancel: async (hands, seed, count) => {
    for (const id of picked(hands.ids, seed, Math.ceil(count / 4))) {
      await cancelRun(stage.ctx, id).catch((error: { code: string }) => expect(error.code).toBe('invalid-transition'))
    }
  },
}

const standings = `
  select id::text, 'due' as place, null::int as state, attempt::int, fence from due where tenant_id = $1
  union all select id::text, 'ready', null, attempt, fence from ready where tenant_id = $1
  union all select id::text, 'held', state, attempt, fence from held where tenant_id = $1
  union all select id::text, 'runs', state, attempt, fence from runs where tenant_id = $1`
const statusAt = ({ place, state }: Standing): RunStatus =>
  place === 'due' ? 'scheduled' : place === 'ready' ? 'ready' : statusOf(state ?? 0)

/** Whether the table of moves leads from one state to another, in any number of steps. */
function leadsTo(from: RunStatus, to: RunStatus): boolean {
  const seen = new Set<RunStatus>([from])
  for (const status of seen) for (const next of moves[status]) seen.add(next)
  return seen.has(to)
}

it('no sequence of acts, in whatever order and with whatever old hands, loses or doubles a run, leaves a final state, or exceeds a limit', async () => {
  const act = fc.record({
    name: fc.constantFrom(...Object.keys(acts)),
    seed: fc.nat(10_000),
    count: fc.integer({ min: 1, max: 8 }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 10, maxLength: 45 }), async (sequence) => {
      stage.ctx = testCtx(stage.db, await createTenant(stage.db, { concurrency: tenantLimit }))
      for (const table of ['due', 'ready', 'held']) await stage.db.owner.query(`delete from ${table}`)
      await createQueue(stage.ctx, { name: 'narrow', concurrency: queueLimit })
      const hands: Hands = { ids: [], parcels: [], claims: [] }
      let before = new Map<string, Standing>()
      // A fair amount to begin with, so that the rest has something to happen to.
      await acts['accept']?.(hands, 0, 8)
      for (const { name, seed, count } of sequence) {
        await acts[name]?.(hands, seed, count)
        const { rows } = await stage.db.owner.query<Standing>(standings, [stage.ctx.tenantId])
        const now = new Map(rows.map((row) => [row.id, row]))
        expect(rows.length, `${name}: each run is in one place`).toBe(now.size)
        expect([...now.keys()].toSorted(), `${name}: none is lost`).toEqual(hands.ids.toSorted())
        for (const [id, after] of now) {
          const earlier = before.get(id)
          if (earlier === undefined) continue
          const [from, to] = [statusAt(earlier), statusAt(after)]
          if (isFinal(from)) expect(after, `${name}: final is final`).toEqual(earlier)
          else expect(from === to || leadsTo(from, to), `${name}: ${from} -> ${to}`).toBe(true)
          expect(after.fence, `${name}: fences only rise`).toBeGreaterThanOrEqual(earlier.fence)
          expect(after.attempt).toBeLessThanOrEqual(retry.limit + 1)
          if (name !== 'handBack')
            expect(after.attempt, `${name}: attempts are not forgotten`).toBeGreaterThanOrEqual(earlier.attempt)
        }
        const held = rows.filter((row) => row.place === 'held')
        expect(held.length).toBeLessThanOrEqual(Math.min(tenantLimit, capacity))
        const narrow = await stage.value<number>(
          "select count(*)::int as value from held h join queues q on q.id = h.queue_id where h.tenant_id = $1 and q.name = 'narrow'",
          stage.ctx.tenantId,
        )
        expect(narrow).toBeLessThanOrEqual(queueLimit)
        before = now
      }
      const ends = await stage.db.owner.query<{ subject: string; types: string[] }>(
        "select subject::text, array_agg(type) as types from events where tenant_id = $1 and type in ('run.succeeded', 'run.failed', 'run.cancelled') group by 1",
        [stage.ctx.tenantId],
      )
      const final = [...before.values()].filter((run) => isFinal(statusAt(run)))
      expect(ends.rows.map((row) => [row.subject, ...row.types].join()).toSorted()).toEqual(
        final.map((run) => `${run.id},run.${statusAt(run)}`).toSorted(),
      )
    }),
    { numRuns: 12 },
  )
}, 90_000)

it('the table of moves is what its words say', () => {
  expect(mayMove('running', 'succeeded')).toBe(true)
  expect(mayMove('queued', 'succeeded')).toBe(false)
  for (const status of Object.keys(moves) as RunStatus[]) {
    for (const next of Object.keys(moves) as RunStatus[]) if (isFinal(status)) expect(mayMove(status, next)).toBe(false)
  }
  expect(() => statusOf(9)).toThrow('no run state')
})
