import { describe, expect, it } from 'vitest'
import { mergeRows } from './merge.ts'

const rows = (...ids: number[]) => ids.map((id) => ({ id: `run_${String(id).padStart(3, '0')}` }))

describe('mergeRows', () => {
  it('keeps rows that new ones pushed off the first page', () => {
    expect(mergeRows(rows(105, 104, 103), rows(102, 101, 100, 99), false)).toEqual(
      rows(105, 104, 103, 102, 101, 100, 99),
    )
  })

  it('drops rows that no longer match, within the first page', () => {
    expect(mergeRows(rows(105, 103), rows(105, 104, 103, 102), false)).toEqual(rows(105, 103, 102))
  })

  it('is the first page alone when there is no more', () => {
    expect(mergeRows(rows(3, 1), rows(4, 2, 1), true)).toEqual(rows(3, 1))
    expect(mergeRows([], rows(4, 2), false)).toEqual([])
  })

  it('shows no row twice', () => {
    expect(mergeRows(rows(5, 4), rows(5, 4, 3, 3), false)).toEqual(rows(5, 4, 3))
  })
})
