import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isoInstant } from './instant.ts'

it('an instant is written as the language writes it, whatever was written before', () => {
  fc.assert(
    fc.property(fc.array(fc.date({ noInvalidDate: true }), { minLength: 1 }), (dates) => {
      expect(dates.map((date) => isoInstant(date.getTime()))).toEqual(dates.map((date) => date.toISOString()))
    }),
  )
  expect(isoInstant(1_764_432_000_001.9)).toBe('2025-11-29T16:00:00.001Z')
  expect(() => isoInstant(Number.NaN)).toThrow(RangeError)
})
