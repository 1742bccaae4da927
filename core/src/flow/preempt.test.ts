import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { reservedFor, roomOf, spareOf, usualShares } from './classes.ts'
import { choosePreempted } from './preempt.ts'

const count = fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 60 }))
const running = fc
  .array(fc.record({ sinceMs: fc.integer({ min: 0, max: 20 }) }), { maxLength: 40 })
  .map((rows) => rows.map((row, index) => ({ ...row, id: `r${index}` })))
const waits = fc.record({ critical: fc.boolean(), standard: fc.boolean(), bulk: fc.boolean() })
const standing = fc
  .record({
    slots: fc.integer({ min: 1, max: 100 }),
    road: count,
    critical: count,
    standard: count,
    bulk: count,
    waits,
  })
  .map(({ slots, road, waits: waiting, ...held }) => ({
    ...{ spare: spareOf(slots), capacity: slots + road, reserved: usualShares.reserved },
    ...{ held, waits: waiting },
  }))
const waiting = fc.oneof(count, fc.constant(Number.POSITIVE_INFINITY))

describe('pre-emption', () => {
  test('puts back no more than wait, and than critical runs are short of what is reserved for them; each once', () => {
    fc.assert(
      fc.property(running, standing, waiting, (runs, pool, most) => {
        const chosen = choosePreempted(runs, pool, most)
        expect(chosen.length).toBeLessThanOrEqual(Math.min(most, reservedFor('critical', pool)))
        expect(new Set(chosen).size).toBe(chosen.length)
      }),
    )
  })

  test('puts nothing back while there is a slot, or nobody critical waits; else as many as it may', () => {
    fc.assert(
      fc.property(running, standing, waiting, (runs, pool, most) => {
        const chosen = choosePreempted(runs, pool, most)
        const { critical, bulk } = pool.held
        if (!pool.waits.critical || roomOf('critical', pool) > 0) expect(chosen).toEqual([])
        else {
          const short = Math.max(0, Math.floor(pool.capacity / 4) - critical)
          expect(chosen).toHaveLength(Math.min(runs.length, most, short, bulk))
        }
      }),
    )
  })

  test('takes the youngest first, in whatever order they are told of', () => {
    fc.assert(
      fc.property(running, standing, waiting, (runs, pool, most) => {
        const chosen = choosePreempted(runs, pool, most)
        const eldest = Math.min(...chosen.map(({ sinceMs }) => sinceMs))
        expect(runs.every((run) => chosen.includes(run) || run.sinceMs <= eldest)).toBe(true)
        expect(choosePreempted(runs.toReversed(), pool, most)).toEqual(chosen)
      }),
    )
  })
})
