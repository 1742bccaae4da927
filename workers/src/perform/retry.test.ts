import { expect, test } from 'vitest'
import { retryAfterMs } from './retry.ts'

const now = Date.UTC(2026, 10, 6, 8, 49, 37)

test.each([
  ['120', 120_000],
  ['0', 0],
  [' 5 ', 5_000],
  ['9999999999', 9_999_999_999_000],
  ['Fri, 06 Nov 2026 08:51:37 GMT', 120_000],
  ['Friday, 06-Nov-26 08:51:37 GMT', 120_000],
  ['Fri Nov  6 08:51:37 2026', 120_000],
  ['Fri, 06 Nov 2026 08:00:00 GMT', 0],
])('%j asks for %d ms', (text, ms) => expect(retryAfterMs({ 'retry-after': text }, now)).toBe(ms))

test.each([
  '',
  'soon',
  '-1',
  '1.5',
  '1e3',
  '0x10',
  '5 minutes',
  'Fri, 06 Nov 2026 08:51:37',
  'Fri, 99 Nov 2026 08:51:37 GMT',
  '2026-11-06T08:51:37Z',
  '99999999999',
])('%j asks for nothing that can be read', (text) => expect(retryAfterMs({ 'retry-after': text }, now)).toBeNull())

test('a date is measured against the clock of the target, when it tells it', () => {
  const headers = { 'retry-after': 'Fri, 06 Nov 2026 10:02:00 GMT', date: 'Fri, 06 Nov 2026 10:00:00 GMT' }
  expect(retryAfterMs(headers, now)).toBe(120_000)
})

test('the first of several counts, and none is none', () => {
  expect(retryAfterMs({ 'retry-after': ['3', '9'] }, now)).toBe(3_000)
  expect(retryAfterMs({}, now)).toBeNull()
})
