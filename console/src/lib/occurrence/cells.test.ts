import { expect, it } from 'vitest'
import { cellsOf } from './cells.ts'

const hour = 3_600_000
const iso = (at: number) => new Date(at).toISOString()
const counts = [
  { from: new Date(0).toISOString(), pending: 0, run: 60, failed: 2, skipped: 0, missed: 0 },
  { from: new Date(hour).toISOString(), pending: 1, run: 0, failed: 0, skipped: 14, missed: 0 },
]

it('puts what was and what comes into the same slices', () => {
  const ahead = [
    { from: iso(hour), coming: 1, skipped: 1 },
    { from: iso(2 * hour), coming: 1, skipped: 0 },
  ]
  expect(cellsOf(counts, ahead)).toEqual([
    {
      from: 0,
      count: 60,
      height: 1,
      parts: [
        { kind: 'failed', count: 2 },
        { kind: 'succeeded', count: 58 },
      ],
    },
    {
      from: hour,
      count: 17,
      height: Math.sqrt(17 / 60),
      parts: [
        { kind: 'skipped', count: 15 },
        { kind: 'pending', count: 1 },
        { kind: 'coming', count: 1 },
      ],
    },
    { from: 2 * hour, count: 1, height: 0.15, parts: [{ kind: 'coming', count: 1 }] },
  ])
})

it('is empty when nothing was and nothing comes', () => {
  expect(cellsOf([], [])).toEqual([])
})
