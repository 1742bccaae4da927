import { describe, expect, test } from 'vitest'
import { askedDelayMs, forbidsRetry, retryAfterMs } from './retry.ts'

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

describe('a limit that is used up asks for the rest of its window', () => {
  test.each<[string, number, Record<string, string>, number | null]>([
    ['by t', 429, { ratelimit: '"default";r=0;t=30' }, 30_000],
    ['by t, whatever the status', 503, { ratelimit: '"default"; r=0; t=30' }, 30_000],
    [
      'by the longest of several',
      429,
      { ratelimit: '"burst";r=0;t=2, "daily";r=0;t=600, "other";r=5;t=9000' },
      600_000,
    ],
    ['not while something is left', 500, { ratelimit: '"default";r=7;t=30' }, null],
    ['by reset, as the drafts before had it', 429, { ratelimit: 'limit=10, remaining=0, reset=50' }, 50_000],
    ['without saying what is left, after a 429', 429, { ratelimit: '"default";t=30' }, 30_000],
    ['in seconds from now', 429, { 'x-ratelimit-reset': '17' }, 17_000],
    ['in seconds of the epoch', 429, { 'x-ratelimit-reset': String(now / 1_000 + 90) }, 90_000],
    ['in milliseconds of the epoch', 429, { 'x-ratelimit-reset': String(now + 1_500) }, 1_500],
    ['in the past: now', 429, { 'x-ratelimit-reset': String(now / 1_000 - 90) }, 0],
    ['with nothing left, whatever the status', 403, { 'x-ratelimit-reset': '9', 'x-ratelimit-remaining': '0' }, 9_000],
    ['not with something left', 429, { 'x-ratelimit-reset': '9', 'x-ratelimit-remaining': '4' }, null],
    ['not after a failure of another kind', 500, { 'x-ratelimit-reset': '9' }, null],
    ['not in words', 429, { 'x-ratelimit-reset': 'soon', ratelimit: 'later' }, null],
    ['unless Retry-After says otherwise', 429, { 'retry-after': '3', ratelimit: '"default";r=0;t=30' }, 3_000],
  ])('%s', (_case, status, headers, ms) => expect(askedDelayMs(status, headers, now)).toBe(ms))
})

test.each([
  ['no', true],
  [' No ', true],
  ['yes', false],
  ['', false],
])('Meridian-Retry: %j forbids a further try: %s', (text, forbids) => {
  expect(forbidsRetry({ 'meridian-retry': text })).toBe(forbids)
})
