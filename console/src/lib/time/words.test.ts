import { describe, expect, it } from 'vitest'
import { clockWords, dayWords, exactWords, isZone, momentWords, offsetWords, relativeWords } from './words.ts'

const at = (text: string) => Date.parse(text)
const now = at('2026-11-29T12:00:00Z')

describe('relativeWords', () => {
  it.each([
    ['2026-11-29T12:00:00.400Z', 'now'],
    ['2026-11-29T12:00:42Z', 'in 42 s'],
    ['2026-11-29T11:59:18Z', '42 s ago'],
    ['2026-11-29T12:09:59Z', 'in 9 min 59 s'],
    ['2026-11-29T12:10:59Z', 'in 10 min'],
    ['2026-11-29T16:12:30Z', 'in 4 h 12 min'],
    ['2026-11-26T12:00:00Z', '3 d ago'],
  ])('%s is %s', (text, words) => {
    expect(relativeWords(at(text), now)).toBe(words)
  })
})

describe('a moment in a zone', () => {
  it('shows the wall clock of the zone', () => {
    expect(clockWords(at('2026-03-29T05:25:00Z'), 'Europe/London')).toBe('06:25')
    expect(clockWords(at('2026-01-29T05:25:07Z'), 'Asia/Kolkata')).toBe('10:55:07')
    expect(clockWords(at('2026-01-29T00:00:00Z'), 'UTC')).toBe('00:00')
  })

  it('names near days by the calendar of the zone, not by 24 hours', () => {
    expect(momentWords(at('2026-11-29T23:30:00Z'), 'UTC', now)).toBe('today 23:30')
    expect(momentWords(at('2026-11-29T23:30:00Z'), 'Europe/Berlin', now)).toBe('tomorrow 00:30')
    expect(momentWords(at('2026-11-28T23:30:00Z'), 'UTC', now)).toBe('yesterday 23:30')
    expect(momentWords(at('2026-12-05T06:25:00Z'), 'UTC', now)).toBe('Sat 5 Dec 06:25')
    expect(momentWords(at('2027-01-01T06:25:00Z'), 'UTC', now)).toBe('Fri 1 Jan 2027 06:25')
  })

  it('keeps September to three letters', () => {
    expect(dayWords(at('2026-09-01T00:00:00Z'), 'UTC', now)).toBe('1 Sep')
  })

  it('gives the whole instant with its offset', () => {
    expect(exactWords(at('2026-11-29T05:25:00.120Z'), 'Europe/Berlin')).toBe('Sun 29 Nov 2026, 06:25:00.120 +01:00')
    expect(offsetWords(at('2026-11-29T05:25:00Z'), 'UTC')).toBe('UTC')
    expect(offsetWords(at('2026-07-29T05:25:00Z'), 'America/St_Johns')).toBe('-02:30')
  })

  it('knows real zones only', () => {
    expect(isZone('Europe/London')).toBe(true)
    expect(isZone('Mars/Olympus')).toBe(false)
    expect(isZone(undefined)).toBe(false)
  })
})
