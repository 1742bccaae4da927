import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Claimant, exactShare, fairShare, jainIndex, owedAfter } from './fair-share.ts'

const weight = fc.oneof(fc.constantFrom(1, 2, 3, 0.5), fc.double({ min: 0.01, max: 1_000, noNaN: true }))
const count = fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 200 }))
const claimantsOf = (owed: fc.Arbitrary<number>) =>
  fc
    .array(fc.record({ weight, used: count, wants: fc.oneof(count, fc.constant(Number.POSITIVE_INFINITY)), owed }), {
      maxLength: 12,
    })
    .map((rows) => rows.map((row, index): Claimant => ({ ...row, key: `k${index}` })))
const plain = claimantsOf(fc.constant(0))
const any = claimantsOf(fc.double({ min: -1, max: 1, noNaN: true }))
const slots = fc.oneof(fc.integer({ min: 0, max: 10 }), fc.integer({ min: 0, max: 1_000 }))
const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0)

describe('a fair share', () => {
  test('is whole, and never more than was wanted; no slot is idle while somebody waits', () => {
    fc.assert(
      fc.property(any, slots, (claimants, free) => {
        const shares = fairShare(claimants, free)
        expect(
          shares.every(
            (share, index) => Number.isInteger(share) && share >= 0 && share <= (claimants[index]?.wants ?? 0),
          ),
        ).toBe(true)
        expect(sum(shares)).toBe(Math.min(free, sum(claimants.map(({ wants }) => wants))))
      }),
    )
  })

  test('gives nobody a slot that another would have less with, for its weight (max-min)', () => {
    fc.assert(
      fc.property(plain, slots, (claimants, free) => {
        const shares = fairShare(claimants, free)
        for (const [from, giver] of claimants.entries()) {
          if (shares[from] === 0) continue
          for (const [to, taker] of claimants.entries()) {
            if (from === to || (shares[to] ?? 0) >= taker.wants) continue
            const given = (giver.used + (shares[from] ?? 0)) / giver.weight
            expect((taker.used + (shares[to] ?? 0) + 1) / taker.weight).toBeGreaterThanOrEqual(given)
          }
        }
      }),
    )
  })

  test('does not depend on the order of who asks', () => {
    const shuffled = any.chain((claimants) =>
      fc.tuple(
        fc.constant(claimants),
        fc.shuffledSubarray(claimants, { minLength: claimants.length, maxLength: claimants.length }),
      ),
    )
    const byKey = (claimants: Claimant[], shares: number[]) =>
      new Map(claimants.map(({ key }, index) => [key, shares[index]]))
    fc.assert(
      fc.property(shuffled, slots, ([one, other], free) => {
        const first = byKey(one, fairShare(one, free))
        const second = byKey(other, fairShare(other, free))
        expect([...second].every(([key, share]) => first.get(key) === share)).toBe(true)
      }),
    )
  })

  test('is never less with a slot more, nor with more weight, nor when another leaves', () => {
    fc.assert(
      fc.property(any, slots, (claimants, free) => {
        const shares = fairShare(claimants, free)
        const most = fairShare(claimants, free + 1)
        expect(shares.every((share, index) => share <= (most[index] ?? 0))).toBe(true)
        const [first, ...others] = claimants
        if (first === undefined) return
        const heavier = fairShare([{ ...first, owed: 0, weight: first.weight * 2 }, ...others], free)
        const before = fairShare([{ ...first, owed: 0 }, ...others], free)
        expect(heavier[0]).toBeGreaterThanOrEqual(before[0] ?? 0)
        const alone = fairShare(others, free)
        expect(alone.every((share, index) => share >= (shares[index + 1] ?? 0))).toBe(true)
      }),
    )
  })

  test('is less than a slot away from the exact one, where weights are alike', () => {
    const alike = plain.map((claimants) => claimants.map((claimant) => ({ ...claimant, weight: 1 })))
    fc.assert(
      fc.property(alike, slots, (claimants, free) => {
        const exact = exactShare(claimants, free)
        expect(sum(exact)).toBeCloseTo(Math.min(free, sum(claimants.map(({ wants }) => wants))), 6)
        for (const [index, share] of fairShare(claimants, free).entries()) {
          expect(Math.abs(share - (exact[index] ?? 0))).toBeLessThan(1 + 1e-9)
        }
      }),
    )
  })
})

describe('what is owed', () => {
  const waiting = (weights: number[]): Claimant[] =>
    weights.map((each, index) => ({ key: `k${index}`, weight: each, used: 0, wants: Number.POSITIVE_INFINITY }))

  /** Divides `free` slots so many times, each of them free again by the next. */
  function divideOften(claimants: Claimant[], free: number, times: number): number[] {
    const got = claimants.map(() => 0)
    let now = claimants
    for (let time = 0; time < times; time++) {
      const shares = fairShare(now, free)
      const owed = owedAfter(now, shares)
      now = now.map((claimant, index) => ({ ...claimant, owed: owed[index] ?? 0 }))
      for (const [index, share] of shares.entries()) got[index] = (got[index] ?? 0) + share
    }
    return got
  }

  test('brings everybody its share in time, were it less than one slot', () => {
    expect(divideOften(waiting([3, 1]), 1, 400)).toEqual([300, 100])
    expect(divideOften(waiting([1, 1, 1]), 1, 300)).toEqual([100, 100, 100])
    const [heavy = 0, light = 0] = divideOften(waiting([1, 0.01]), 1, 1_010)
    expect(heavy + light).toBe(1_010)
    expect(Math.abs(light - 10)).toBeLessThanOrEqual(1)
  })

  test('starves nobody, whatever the weights and however few the slots', () => {
    const weights = fc.array(fc.double({ min: 0.05, max: 20, noNaN: true }), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(weights, fc.integer({ min: 1, max: 8 }), (each, free) => {
        const times = Math.ceil((3 * sum(each)) / (Math.min(...each) * free)) + 3
        expect(divideOften(waiting(each), free, times).every((got) => got > 0)).toBe(true)
      }),
      { numRuns: 50 },
    )
  })
})

describe('the index of Jain', () => {
  test('is 1 where all have alike, and 1/n where one has everything', () => {
    expect(jainIndex([])).toBe(1)
    expect(jainIndex([2, 2, 2])).toBeCloseTo(1)
    expect(jainIndex([5, 0, 0, 0])).toBeCloseTo(0.25)
  })
})
