import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { rowWindow } from './window.ts'

describe('rowWindow', () => {
  it('draws the visible rows and some around them', () => {
    expect(rowWindow({ count: 10_000, rowHeight: 36, top: 36_000, viewport: 900 })).toEqual({
      first: 980,
      end: 1_045,
      before: 35_280,
      after: 322_380,
    })
  })

  it('draws a short list whole', () => {
    expect(rowWindow({ count: 12, rowHeight: 36, top: -200, viewport: 900 })).toEqual({
      first: 0,
      end: 12,
      before: 0,
      after: 0,
    })
  })

  it('keeps the height of the whole list wherever it is scrolled', () => {
    fc.assert(
      fc.property(
        fc.record({
          count: fc.integer({ min: 0, max: 20_000 }),
          rowHeight: fc.integer({ min: 20, max: 60 }),
          top: fc.integer({ min: -5_000, max: 2_000_000 }),
          viewport: fc.integer({ min: 0, max: 3_000 }),
        }),
        (list) => {
          const { first, end, before, after } = rowWindow(list)
          expect(before + (end - first) * list.rowHeight + after).toBe(list.count * list.rowHeight)
          expect(end).toBeGreaterThanOrEqual(first)
        },
      ),
    )
  })
})
