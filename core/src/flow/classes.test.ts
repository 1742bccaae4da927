import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ClassStanding, perClass, queueClasses, reservedFor, roomOf, spareOf } from './classes.ts'

const count = fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 600 }))
const three = <Value>(value: fc.Arbitrary<Value>) => fc.record({ critical: value, standard: value, bulk: value })
const pool = fc
  .record({ slots: fc.integer({ min: 1, max: 500 }), road: fc.integer({ min: 0, max: 100 }), wants: three(count) })
  .map(({ slots, road, wants }) => ({ slots, capacity: slots + road, wants }))

/** One look: each class takes what it may and wants, and then what others did not want. */
function look(standing: ClassStanding, wants: Record<(typeof queueClasses)[number], number>) {
  let now = { ...standing, waits: perClass((of) => wants[of] > 0) }
  const taken = perClass(() => 0)
  for (const of of [...queueClasses, ...queueClasses]) {
    const more = Math.min(roomOf(of, now), wants[of] - taken[of])
    taken[of] += more
    now = { ...now, held: { ...now.held, [of]: now.held[of] + more } }
    now.waits = { ...now.waits, [of]: taken[of] < wants[of] }
  }
  return { taken, after: now }
}
const total = (held: ClassStanding['held']): number => held.critical + held.standard + held.bulk
const idle = { critical: 0, standard: 0, bulk: 0 }
const waits = perClass(() => false)

describe('the classes of a pool', () => {
  test('fill it never beyond what it holds, but for the spare slots of critical runs', () => {
    fc.assert(
      fc.property(pool, three(count), ({ slots, capacity, wants }, held) => {
        const { after } = look({ slots, capacity, held, waits }, wants)
        const spare = Math.max(0, spareOf(slots) - held.critical)
        expect(total(after.held)).toBeLessThanOrEqual(Math.max(total(held), capacity) + spare)
        if (total(held) <= capacity - spare) expect(total(after.held)).toBeLessThanOrEqual(capacity)
      }),
    )
  })

  test('leave nothing idle that somebody wants, but for the spare', () => {
    fc.assert(
      fc.property(pool, ({ slots, capacity, wants }) => {
        const { after } = look({ slots, capacity, held: idle, waits }, wants)
        const { critical, standard, bulk } = after.waits
        const mayBeIdle = critical ? 0 : standard || bulk ? spareOf(slots) : capacity
        expect(capacity - total(after.held)).toBeLessThanOrEqual(mayBeIdle)
      }),
    )
  })

  test('give one that is alone all of it, but for the spare', () => {
    fc.assert(
      fc.property(pool, fc.constantFrom(...queueClasses), ({ slots, capacity }, of) => {
        const { taken } = look({ slots, capacity, held: idle, waits }, { ...idle, [of]: 10_000 })
        expect(taken[of]).toBe(of === 'critical' ? capacity : capacity - spareOf(slots))
      }),
    )
  })

  test('one that waits has what is reserved for it as soon as so many slots have come free', () => {
    fc.assert(
      fc.property(pool, three(count), fc.constantFrom(...queueClasses), ({ slots, capacity }, held, of) => {
        // All flood, and everything that was held ends, one by one.
        const floods = perClass(() => 100_000)
        let standing: ClassStanding = { slots, capacity, held, waits }
        const old = { ...held }
        for (;;) {
          standing = look(standing, floods).after
          const ends = queueClasses.find((each) => old[each] > 0)
          if (ends === undefined) break
          old[ends]--
          standing = { ...standing, held: { ...standing.held, [ends]: standing.held[ends] - 1 } }
        }
        expect(reservedFor(of, standing)).toBe(0)
      }),
      { numRuns: 30 },
    )
  })

  test('critical runs find a slot however full the pool is, until the spare is theirs', () => {
    fc.assert(
      fc.property(pool, three(count), ({ slots, capacity }, held) => {
        const { after } = look({ slots, capacity, held, waits }, { critical: 10_000, standard: 0, bulk: 0 })
        expect(after.held.critical).toBeGreaterThanOrEqual(spareOf(slots))
      }),
    )
  })
})
