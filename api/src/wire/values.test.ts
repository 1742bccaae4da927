import fc from 'fast-check'
import { expect, it } from 'vitest'
import { toInstant } from './values.ts'

it('an instant is written as the language writes it, whatever was written before', () => {
  fc.assert(
    fc.property(fc.array(fc.date({ noInvalidDate: true }), { minLength: 1 }), (dates) => {
      expect(dates.map(toInstant)).toEqual(dates.map((date) => date.toISOString()))
    }),
  )
  expect(() => toInstant(new Date(Number.NaN))).toThrow(RangeError)
})
