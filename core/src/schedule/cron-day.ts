import { type CivilDate, dateOf, daysInMonth, weekdayOf } from './civil.ts'
import type { CronExpression } from './cron.ts'
import { type CronItem, fieldRules, fieldValues } from './cron-field.ts'

/**
 * Whether a day is one of an expression that counts days from the end of the month (`L-3`, `L-3W`). croner does not
 * know these: it is given every day that they can be, and this keeps the right ones. `undefined` when it is not needed.
 */
export function cronDayFilter(cron: CronExpression): ((day: number) => boolean) | undefined {
  const { dayOfMonth, dayOfWeek } = cron.fields
  if (!dayOfMonth.items.some((item) => 'before' in item && item.before > 0)) return undefined
  const monthDays = new Set(fieldValues(dayOfMonth, fieldRules.dayOfMonth))
  const weekdays = new Set(fieldValues(dayOfWeek, fieldRules.dayOfWeek))
  return (day) => {
    const date = dateOf(day)
    const weekday = weekdayOf(day)
    const inMonth = monthDays.has(date.day) || dayOfMonth.items.some((item) => isMonthDay(item, date, weekday))
    const inWeek = weekdays.has(weekday) || dayOfWeek.items.some((item) => isWeekday(item, date, weekday))
    return cron.days === 'both' ? inMonth && inWeek : inMonth || inWeek
  }
}

function isMonthDay(item: CronItem, date: CivilDate, weekday: number): boolean {
  const last = daysInMonth(date.year, date.month)
  switch (item.kind) {
    case 'last':
      return date.day === last - item.before
    case 'last-weekday':
      return item.before < last && date.day === nearestWeekday(date, weekday, last - item.before)
    case 'nearest-weekday':
      return item.day <= last && date.day === nearestWeekday(date, weekday, item.day)
    default:
      return false
  }
}

/** The day from Monday to Friday that is nearest to a day of the date's month, without leaving the month. */
function nearestWeekday(date: CivilDate, weekday: number, day: number): number {
  const own = (((weekday + day - date.day) % 7) + 7) % 7
  if (own === 6) return day > 1 ? day - 1 : day + 2
  if (own === 0) return day < daysInMonth(date.year, date.month) ? day + 1 : day - 2
  return day
}

function isWeekday(item: CronItem, date: CivilDate, weekday: number): boolean {
  if (
    item.kind !== 'nth' ||
    !fieldValues({ text: '', items: [{ ...item, kind: 'range', step: 1 }] }, fieldRules.dayOfWeek).includes(weekday)
  )
    return false
  if (item.nth === 'last') return date.day + 7 > daysInMonth(date.year, date.month)
  return Math.ceil(date.day / 7) === item.nth
}
