import { type CivilDate, dateOf, dayOf, dayOfWall, daysInMonth, daysInYear, modulo, weekdayOf } from './civil.ts'
import { isSubDaily, type RecurrenceRule } from './rrule-text.ts'
import type { NextDay } from './times-of-day.ts'

/** A rule without a day for so many years has ended: nobody waits for it, and nothing may search for ever. */
const horizonYears = 60
export const searchedDaysMax = horizonYears * 366
const lastYear = 9999

/**
 * The rule with everything written down that RFC 5545 takes from DTSTART: the day of a month or week, the month of a
 * year.
 */
export function explicitRule(rule: RecurrenceRule, dtstartWall: number): RecurrenceRule {
  const { frequency, by, byDay } = rule
  const start = dateOf(dayOfWall(dtstartWall))
  const weekday = [{ weekday: weekdayOf(dayOfWall(dtstartWall)) }]
  const hasDays = byDay.length + by.BYMONTHDAY.length + by.BYYEARDAY.length > 0
  if (hasDays || isSubDaily(rule) || frequency === 'DAILY') return rule
  if (frequency === 'WEEKLY' || by.BYWEEKNO.length > 0) return { ...rule, byDay: weekday }
  if (frequency === 'MONTHLY') return { ...rule, by: { ...by, BYMONTHDAY: [start.day] } }
  const BYMONTH = by.BYMONTH.length > 0 ? by.BYMONTH : [start.month]
  return { ...rule, by: { ...by, BYMONTH, BYMONTHDAY: [start.day] } }
}

/**
 * The days of an explicit rule from the day of DTSTART on, by whole-number arithmetic: the parts that expand a period
 * to days are the same that limit days to a period (RFC 5545, 3.3.10), so a day is in the rule when all of them hold.
 * What is finer than a day, and BYSETPOS, is not looked at. `Infinity` when there is no day within 60 years.
 * Intervals count from `startDay`; the days begin there, or at `firstDay`.
 */
export function ruleDays(rule: RecurrenceRule, startDay: number, firstDay = startDay): NextDay {
  const { by, byDay, frequency, interval, weekStart } = rule
  const start = dateOf(startDay)
  const startWeek = startDay - modulo(weekdayOf(startDay) - weekStart, 7)

  function monthFits(year: number, month: number): boolean {
    if (by.BYMONTH.length > 0 && !by.BYMONTH.includes(month)) return false
    if (frequency === 'YEARLY') return (year - start.year) % interval === 0
    return frequency !== 'MONTHLY' || ((year - start.year) * 12 + month - start.month) % interval === 0
  }

  function dayFits(date: CivilDate, day: number): boolean {
    if (frequency === 'DAILY' && (day - startDay) % interval !== 0) return false
    if (frequency === 'WEEKLY' && Math.floor((day - startWeek) / 7) % interval !== 0) return false
    const length = daysInMonth(date.year, date.month)
    if (by.BYMONTHDAY.length > 0 && !hasPlace(by.BYMONTHDAY, date.day, length)) return false
    if (byDay.length > 0 && !weekdayFits(date, day)) return false
    if (by.BYYEARDAY.length > 0 && !hasPlace(by.BYYEARDAY, dayOfYear(date, day), daysInYear(date.year))) return false
    return by.BYWEEKNO.length === 0 || weekFits(day)
  }

  function weekdayFits(date: CivilDate, day: number): boolean {
    const weekday = weekdayOf(day)
    const inMonth = frequency === 'MONTHLY' || by.BYMONTH.length > 0
    return byDay.some(({ weekday: asked, nth }) => {
      if (asked !== weekday) return false
      if (nth === undefined) return true
      const place = inMonth ? date.day : dayOfYear(date, day)
      const length = inMonth ? daysInMonth(date.year, date.month) : daysInYear(date.year)
      return nth > 0 ? Math.ceil(place / 7) === nth : Math.ceil((length - place + 1) / 7) === -nth
    })
  }

  function weekFits(day: number): boolean {
    const week = day - modulo(weekdayOf(day) - weekStart, 7)
    const { year } = dateOf(week + 3)
    const length = (firstWeek(year + 1, weekStart) - firstWeek(year, weekStart)) / 7
    return hasPlace(by.BYWEEKNO, (week - firstWeek(year, weekStart)) / 7 + 1, length)
  }

  return (from) => {
    let { year, month, day } = dateOf(Math.max(from, firstDay))
    for (const last = Math.min(year + horizonYears, lastYear); year <= last; ) {
      const length = daysInMonth(year, month)
      if (monthFits(year, month))
        for (let number = dayOf({ year, month, day }); day <= length; day++, number++)
          if (dayFits({ year, month, day }, number)) return number
      day = 1
      month = month === 12 ? 1 : month + 1
      if (month === 1) year++
    }
    return Infinity
  }
}

const dayOfYear = ({ year }: CivilDate, day: number): number => day - dayOf({ year, month: 1, day: 1 }) + 1

/** Whether a place, counted from 1, is one of these; negative ones count from the end. */
function hasPlace(places: readonly number[], place: number, length: number): boolean {
  return places.includes(place) || places.includes(place - length - 1)
}

/** The first day of a year's first week: the one that has at least four days in it. */
function firstWeek(year: number, weekStart: number): number {
  const fourth = dayOf({ year, month: 1, day: 4 })
  return fourth - modulo(weekdayOf(fourth) - weekStart, 7)
}
