import type { Fairness } from '@meridian/sdk'
import { describe, expect, it } from 'vitest'
import { columnsOf, ratioWords, readSpan, slotWords, standingOf, verdictWords } from './share.ts'

const pool: Fairness['pools'][number] = {
  ...{ pool: 'local', weight: 1, received: 20, entitled: 25, ratio: 0.8, slots: 30, tenants: 2 },
  jainIndex: 0.98,
  series: [
    { at: '2026-11-30T12:00:00.000Z', received: 10, entitled: 10, slots: 12 },
    { at: '2026-11-30T12:10:00.000Z', received: 20, entitled: 40, slots: 60 },
  ],
}
const waits = { runs: 40, p50Ms: 5, p95Ms: 84 }
const none = { runs: 0, p50Ms: null, p95Ms: null }

describe('a share', () => {
  it('is whole, short, more than it, or not wanted', () => {
    expect([0.96, 0.5, 1.2, null].map((ratio) => standingOf({ ratio }))).toEqual(['whole', 'short', 'over', 'nothing'])
    expect([1, 0.5, 1.2, null].map((ratio) => ratioWords({ ratio }))).toEqual([
      'all of it',
      '50%',
      '120%',
      'wanted none',
    ])
    expect([0, 0.01, 12.34, 1234].map(slotWords)).toEqual(['0', 'under 0.1', '12.3', '1,234'])
  })

  it('comes to a line that names the pool in which it was shortest, where there are several', () => {
    const other = { ...pool, pool: 'elsewhere', ratio: 1 }
    expect(verdictWords({ pools: [other, pool], waits }, 'Acme')).toBe(
      'Acme got 80% of its share of the slots in local · 19 of 20 runs began within 84 ms',
    )
    expect(verdictWords({ pools: [pool], waits: none }, 'Acme')).toBe('Acme got 80% of its share of the slots')
    expect(verdictWords({ pools: [other], waits: none }, 'Acme')).toBe('Acme got its whole share of the slots')
    expect(verdictWords({ pools: [], waits }, 'Acme')).toBe('19 of 20 runs began within 84 ms')
    expect(verdictWords({ pools: [{ ...pool, ratio: null }], waits: none }, 'Acme')).toBeUndefined()
  })
})

it('is drawn step by step, with gaps where nothing ran', () => {
  const range = { from: '2026-11-30T12:00:40.000Z', to: '2026-11-30T12:15:40.000Z', step: 'PT5M' }
  expect(columnsOf(pool, { ...range, pools: [pool], queues: [], waits })).toEqual({
    from: Date.parse('2026-11-30T12:00Z'),
    stepMs: 300_000,
    received: [10, 0, 20, 0],
    entitled: [10, 0, 40, 0],
    slots: [12, 0, 60, 0],
    most: 40,
  })
})

it('is looked at an hour back, unless the address says otherwise', () => {
  expect(readSpan(new URLSearchParams('last=7d')).name).toBe('7d')
  expect(readSpan(new URLSearchParams('last=30d')).name).toBe('1h')
})
