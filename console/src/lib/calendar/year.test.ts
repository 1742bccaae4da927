import { describe, expect, it } from 'vitest'
import { dayAfterKey, monthsOf } from './year.ts'

describe('monthsOf', () => {
  it('has every day of a year once, each under its weekday', () => {
    for (const year of [2024, 2026]) {
      const months = monthsOf(year)
      expect(months).toHaveLength(12)
      const days = months.flatMap(({ weeks }) => weeks.flat()).filter((day) => day !== undefined)
      expect(days).toHaveLength(year === 2024 ? 366 : 365)
      expect(days).toEqual([...new Set(days)].sort())
      for (const { weeks } of months)
        for (const week of weeks)
          for (const [place, day] of week.entries()) if (day) expect((new Date(day).getUTCDay() + 6) % 7).toBe(place)
    }
  })
})

describe('dayAfterKey', () => {
  it('goes by days and weeks, over the ends of months and not over those of the year', () => {
    expect(dayAfterKey('2026-01-31', 'ArrowRight')).toBe('2026-02-01')
    expect(dayAfterKey('2026-03-03', 'ArrowUp')).toBe('2026-02-24')
    expect(dayAfterKey('2026-12-31', 'ArrowRight')).toBe('2026-12-31')
    expect(dayAfterKey('2026-01-03', 'ArrowUp')).toBe('2026-01-03')
    expect(dayAfterKey('2026-01-03', 'a')).toBeUndefined()
  })
})
