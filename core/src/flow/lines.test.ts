import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Line, linesAfter, rememberOwed, shareLines } from './lines.ts'

const small = fc.integer({ min: 0, max: 20 })
const weight = fc.constantFrom(0.5, 1, 1, 2, 5)

/** Lines as admission tells of them: what they say of one tenant or queue is the same in all. */
const lines = fc
  .array(
    fc.record({
      tenantWeight: weight,
      tenantMax: small,
      elsewhere: small,
      queues: fc.array(
        fc.record({
          queueWeight: weight,
          queueMax: small,
          lanes: fc.array(fc.record({ used: small, wants: small }), { minLength: 1, maxLength: 3 }),
        }),
        { minLength: 1, maxLength: 3 },
      ),
    }),
    { maxLength: 4 },
  )
  .map((tenants) =>
    tenants.flatMap(({ queues, elsewhere, ...tenant }, t) => {
      const used = queues.map(({ lanes }) => lanes.reduce((sum, lane) => sum + lane.used, 0))
      const tenantUsed = elsewhere + used.reduce((sum, each) => sum + each, 0)
      return queues.flatMap(({ lanes, ...queue }, q) =>
        lanes.map((lane, l): Line => {
          const ids = { tenantId: `t${t}`, queueId: `t${t}q${q}`, laneId: l === 0 ? null : `l${l}` }
          return { ...ids, ...tenant, ...queue, ...lane, tenantUsed, queueUsed: used[q] ?? 0 }
        }),
      )
    }),
  )
const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0)

describe('sharing slots among lines', () => {
  test('no line gets more than waits there, no queue and no tenant more than its concurrency; none is idle without need', () => {
    fc.assert(
      fc.property(lines, fc.integer({ min: 0, max: 60 }), (before, slots) => {
        const shares = shareLines(before, slots, new Map())
        expect(sum(shares)).toBeLessThanOrEqual(slots)
        expect(shares.every((share, index) => share <= (before[index]?.wants ?? 0))).toBe(true)
        const after = linesAfter(before, shares, shares)
        for (const [index, line] of after.entries()) {
          if (shares[index] === 0) continue
          expect(line.queueUsed).toBeLessThanOrEqual(line.queueMax)
          expect(line.tenantUsed).toBeLessThanOrEqual(line.tenantMax)
        }
        if (sum(shares) === slots) return
        for (const { wants, queueUsed, queueMax, tenantUsed, tenantMax } of after)
          expect(wants === 0 || queueUsed >= queueMax || tenantUsed >= tenantMax).toBe(true)
      }),
    )
  })

  test('what was owed counts, and is forgotten once nobody waits', () => {
    const line = (id: string, wants: number): Line => ({
      ...{ tenantId: id, queueId: `${id}q`, laneId: null, tenantWeight: 1, queueWeight: 1, wants },
      ...{ tenantUsed: 0, tenantMax: 9, queueUsed: 0, queueMax: 9, used: 0 },
    })
    const owed = new Map<string, number>()
    const divide = (before: Line[]): number[] => {
      const shares = shareLines(before, 1, owed)
      rememberOwed(before, linesAfter(before, shares, shares), owed)
      return shares
    }
    const both = [line('a', 5), line('b', 5)]
    expect(sum(divide(both).map((share, index) => share * (index + 1)))).toBe(1)
    expect(divide(both)).toEqual([0, 1])
    expect(divide([line('a', 1)])).toEqual([1])
    expect([...owed.keys()]).toEqual(['b'])
  })
})
