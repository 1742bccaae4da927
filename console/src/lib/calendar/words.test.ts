import { describe, expect, it } from 'vitest'
import { contentsWords, daysWords, dayWords, hoursWords, placeWords, stretchWords } from './words.ts'

const wholeDay = [{ from: '00:00', until: '24:00' }]
const nothing = { dates: [], ranges: [], weekly: [], holidays: [] }

describe('words of a calendar', () => {
  it('draw days in a row together', () => {
    expect(daysWords(['FRI', 'MON', 'TUE', 'WED', 'THU'])).toBe('Mon–Fri')
    expect(daysWords(['SUN', 'SAT'])).toBe('Sat, Sun')
    expect(daysWords(['MON', 'WED', 'FRI'])).toBe('Mon, Wed, Fri')
    expect(daysWords(['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN'])).toBe('every day')
  })

  it('name hours only where a day is not whole', () => {
    expect(hoursWords({ days: ['MON'], from: '09:00', until: '17:30' })).toBe('Mon 09:00–17:30')
    expect(hoursWords({ days: ['SAT', 'SUN'], from: '00:00', until: '24:00' })).toBe('Sat, Sun')
  })

  it('say what it is made of in one line', () => {
    expect(contentsWords(nothing)).toBe('Holds no day yet')
    const weekly = [{ days: ['SAT' as const], from: '00:00', until: '24:00' }]
    const holidays = [{ country: 'DE', state: 'BY' }, { country: 'FR' }]
    expect(contentsWords({ ...nothing, weekly, holidays, dates: ['2026-12-24'] })).toBe(
      'Sat · holidays of Germany, BY and France · 1 date',
    )
    const many = { ...nothing, weekly: [...weekly, ...weekly, ...weekly, ...weekly] }
    expect(contentsWords({ ...many, ranges: [{ from: '2026-12-27', until: '2026-12-30' }] })).toBe(
      '4 weekly stretches · 1 range',
    )
  })

  it('say what a day is', () => {
    expect(dayWords('2026-12-25', { date: '2026-12-25', hours: wholeDay, holiday: 'Christmas Day' })).toBe(
      'Fri 25 Dec 2026: whole day, Christmas Day',
    )
    const hours = [
      { from: '09:00', until: '12:00' },
      { from: '13:00', until: '17:00' },
    ]
    expect(dayWords('2026-12-23', { date: '2026-12-23', hours, holiday: null })).toBe(
      'Wed 23 Dec 2026: 09:00–12:00, 13:00–17:00',
    )
    expect(dayWords('2026-12-22', undefined)).toBe('Tue 22 Dec 2026: not in')
  })

  it('name places and stretches', () => {
    expect(placeWords({ country: 'GB', state: 'ENG' })).toBe('United Kingdom, ENG')
    expect(stretchWords({ from: '2026-12-27', until: '2026-12-30' })).toBe('Sun 27 Dec 2026 to Wed 30 Dec 2026')
    expect(stretchWords({ from: '2026-12-27', until: '2026-12-27' })).toBe('Sun 27 Dec 2026')
    expect(stretchWords({ from: '2027-01-04T12:00', until: '2027-01-04T18:00' })).toBe(
      'Mon 4 Jan 2027 12:00 to Mon 4 Jan 2027 18:00',
    )
  })
})
