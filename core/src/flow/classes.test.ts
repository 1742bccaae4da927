import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ClassStanding, perClass, queueClasses, reservedFor, roomOf, spareOf, usualShares } from './classes.ts'

const count = fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 600 }))
const three = <Value>(value: fc.Arbitrary<Value>) => fc.record({ critical: value, standard: value, bulk: value })
const percent = (max: number) => fc.integer({ min: 0, max })
/** As operators may set them: what is reserved is no more than there is, and what is spare a part of it. */
const shares = percent(100).chain((critical) =>
  fc.record({ spare: percent(critical), standard: percent(100 - critical), rest: percent(100) }).map((more) => ({
    spare: more.spare,
    reserved: { critical, standard: more.standard, bulk: Math.min(more.rest, 100 - critical - more.standard) },
  })),
)
const pool = fc
  .record({
    slots: fc.integer({ min: 1, max: 500 }),
    road: fc.integer({ min: 0, max: 100 }),
    wants: three(count),
    shares: fc.oneof(fc.constant(usualShares), shares),
  })
  .map(({ slots, road, wants, shares: { reserved, spare } }) => ({
    given: { spare: spareOf(slots, { spare }), capacity: slots + road, reserved },
    wants,
  }))

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
      fc.property(pool, three(count), ({ given, wants }, held) => {
        const { after } = look({ ...given, held, waits }, wants)
        const spare = Math.max(0, given.spare - held.critical)
        expect(total(after.held)).toBeLessThanOrEqual(Math.max(total(held), given.capacity) + spare)
        if (total(held) <= given.capacity - spare) expect(total(after.held)).toBeLessThanOrEqual(given.capacity)
      }),
    )
  })

  test('leave nothing idle that somebody wants, but for the spare', () => {
    fc.assert(
      fc.property(pool, ({ given, wants }) => {
        const { after } = look({ ...given, held: idle, waits }, wants)
        const { critical, standard, bulk } = after.waits
        const mayBeIdle = critical ? 0 : standard || bulk ? given.spare : given.capacity
        expect(given.capacity - total(after.held)).toBeLessThanOrEqual(mayBeIdle)
      }),
    )
  })

  test('give one that is alone all of it, but for the spare', () => {
    fc.assert(
      fc.property(pool, fc.constantFrom(...queueClasses), ({ given }, of) => {
        const { taken } = look({ ...given, held: idle, waits }, { ...idle, [of]: 10_000 })
        expect(taken[of]).toBe(of === 'critical' ? given.capacity : given.capacity - given.spare)
      }),
    )
  })

  test('one that waits has what is reserved for it as soon as so many slots have come free', () => {
    fc.assert(
      fc.property(pool, three(count), fc.constantFrom(...queueClasses), ({ given }, held, of) => {
        // All flood, and everything that was held ends, one by one.
        const floods = perClass(() => 100_000)
        let standing: ClassStanding = { ...given, held, waits }
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
      fc.property(pool, three(count), ({ given }, held) => {
        const { after } = look({ ...given, held, waits }, { critical: 10_000, standard: 0, bulk: 0 })
        expect(after.held.critical).toBeGreaterThanOrEqual(given.spare)
      }),
    )
  })
})
