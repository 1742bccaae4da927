import fc from 'fast-check'
import { expect, test } from 'vitest'
import { durationMs, durationValue, toDuration } from './duration.ts'

test.each([
  ['PT0.1S', 100],
  ['PT30S', 30_000],
  ['PT1,5S', 1_500],
  ['PT15M', 900_000],
  ['PT1H30M', 5_400_000],
  ['PT0S', 0],
])('%s is %d ms', (text, ms) => expect(durationMs(text)).toBe(ms))

test.each(['', 'P', 'PT', '30', 'PT1.S', 'PT-1S', 'P1D', 'P1M', 'pt1s', 'PT1S ', 'PT0.0001S', 'PT1M1H'])(
  '%j is no duration of hours, minutes and seconds',
  (text) => expect(durationMs(text)).toBeNull(),
)

test('every whole number of milliseconds survives the way to text and back', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 400 * 86_400_000 }), (ms) => {
      expect(durationMs(toDuration(ms))).toBe(ms)
    }),
  )
})

test('a duration value keeps its bounds, both included', () => {
  const value = durationValue('PT0.1S', 'PT15M')
  for (const text of ['PT0.1S', 'PT15M', 'PT900S']) expect(value.safeParse(text).success).toBe(true)
  for (const text of ['PT0.099S', 'PT15M0.001S', 'soon', 'PT0S']) expect(value.safeParse(text).success).toBe(false)
})
