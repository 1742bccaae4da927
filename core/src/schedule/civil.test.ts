import { expect, test } from 'vitest'
import { dateOf, dayOf, daysInMonth, daysInYear, weekdayOf } from './civil.ts'

test('agree with Temporal on every day of five centuries, and around the year 0', () => {
  for (const [start, end] of [
    ['1690-01-01', '2210-01-01'],
    ['-000402-01-01', '+000402-01-01'],
  ] as const) {
    const last = Temporal.PlainDate.from(end)
    for (let date = Temporal.PlainDate.from(start); !date.equals(last); date = date.add({ days: 1 })) {
      const { year, month, day } = date
      const number = dayOf({ year, month, day })
      if (weekdayOf(number) !== date.dayOfWeek % 7 || daysInMonth(year, month) !== date.daysInMonth)
        expect.fail(date.toString())
      if (daysInYear(year) !== date.daysInYear) expect.fail(date.toString())
      const back = dateOf(number)
      if (back.year !== year || back.month !== month || back.day !== day) expect.fail(date.toString())
    }
  }
  expect(dayOf({ year: 1970, month: 1, day: 1 })).toBe(0)
  expect(dayOf({ year: 2026, month: 11, day: 29 }) * 86_400_000).toBe(Date.UTC(2026, 10, 29))
})
