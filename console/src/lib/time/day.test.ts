import { describe, expect, it } from 'vitest'
import { addDays, instantAt, startOfDay } from './day.ts'

const start = (day: string, zone: string) => new Date(startOfDay(day, zone)).toISOString()

describe('the start of a day', () => {
  it('is midnight of the zone, before and after a clock change', () => {
    expect(start('2026-03-29', 'Europe/London')).toBe('2026-03-29T00:00:00.000Z')
    expect(start('2026-03-30', 'Europe/London')).toBe('2026-03-29T23:00:00.000Z')
    expect(start('2026-01-01', 'America/New_York')).toBe('2026-01-01T05:00:00.000Z')
    expect(start('2026-01-01', 'Pacific/Kiritimati')).toBe('2025-12-31T10:00:00.000Z')
    expect(start('2026-01-01', 'Asia/Kathmandu')).toBe('2025-12-31T18:15:00.000Z')
  })

  it('is next to midnight where there is none', () => {
    // Beirut goes from 00:00 to 01:00.
    const at = startOfDay('2026-03-29', 'Asia/Beirut')
    expect(Math.abs(at - Date.parse('2026-03-28T22:00:00Z'))).toBeLessThanOrEqual(3_600_000)
  })
})

describe('a time of a day', () => {
  it('is found for a year that is still being typed', () => {
    expect(new Date(instantAt('0002-01-03', '22:00', 'UTC')).toISOString()).toBe('0002-01-03T22:00:00.000Z')
  })
})

describe('days later', () => {
  it('goes over months and leap days', () => {
    expect(addDays('2028-02-28', 1)).toBe('2028-02-29')
    expect(addDays('2026-12-31', 1)).toBe('2027-01-01')
    expect(addDays('2026-03-01', -1)).toBe('2026-02-28')
  })
})
