import { dateOf, dayMs, dayOf, daysInMonth } from './civil.ts'
import { lastMs, type WallRule } from './wall-rule.ts'

/** The step of an `every` schedule: exact time, or calendar units that keep the wall clock. */
export type Step =
  | { readonly kind: 'exact'; readonly everyMs: number }
  | { readonly kind: 'calendar'; readonly months: number; readonly days: number }

export type ParsedEvery = { readonly ok: true; readonly step: Step } | { readonly ok: false; readonly detail: string }

const exactDuration = /^PT(?=[0-9])(?:([0-9]{1,9})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,9})(?:\.([0-9]{1,3}))?S)?$/
const calendarDuration = /^P(?=[0-9])(?:([0-9]{1,5})Y)?(?:([0-9]{1,5})M)?(?:([0-9]{1,5})W)?(?:([0-9]{1,5})D)?$/
const shortestMs = 1_000
const longestMs = 10 * 366 * dayMs

const fail = (detail: string): ParsedEvery => ({ ok: false, detail })

/**
 * Parses an ISO 8601 duration of exact time (hours, minutes, seconds) or of calendar units (years, months, weeks,
 * days), from 1 second to 10 years.
 */
export function parseEvery(text: string): ParsedEvery {
  const short = text.length <= 40 ? text : ''
  const exact = exactDuration.exec(short)
  if (exact) return parseExact(exact)
  const calendar = calendarDuration.exec(short)
  if (calendar) return parseCalendar(calendar)
  if (/^P[0-9]{1,9}[YMWD].*T/.test(short))
    return fail('Calendar units and exact time cannot be mixed: use P1D or PT24H, not both')
  return fail('Not an ISO 8601 duration such as PT15M, PT1H30M, P1D or P1M')
}

function parseExact([, hours = '0', minutes = '0', seconds = '0', fraction = '']: RegExpExecArray): ParsedEvery {
  const everyMs =
    (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000 + Number(fraction.padEnd(3, '0'))
  if (everyMs < shortestMs) return fail('The shortest interval is 1 second (PT1S)')
  if (everyMs > longestMs) return fail('The longest interval is 10 years (PT87840H)')
  return { ok: true, step: { kind: 'exact', everyMs } }
}

function parseCalendar([, years = '0', months = '0', weeks = '0', days = '0']: RegExpExecArray): ParsedEvery {
  const step = { months: Number(years) * 12 + Number(months), days: Number(weeks) * 7 + Number(days) }
  const roughDays = step.months * 30.5 + step.days
  if (roughDays === 0) return fail('The shortest interval of calendar units is 1 day (P1D)')
  if (roughDays > longestMs / dayMs) return fail('The longest interval is 10 years (P10Y)')
  return { ok: true, step: { kind: 'calendar', ...step } }
}

/** The first of `anchor`, `anchor + every`, `anchor + 2 every`... strictly after `afterMs`. */
export function nextEvery(anchorMs: number, everyMs: number, afterMs: number): number {
  return anchorMs + Math.max(0, Math.floor((afterMs - anchorMs) / everyMs) + 1) * everyMs
}

/**
 * The wall-clock times of an interval in calendar units. The nth is the anchor's date plus n times the months, on the
 * last day of the month where it is too short for the anchor's day, plus n times the days. Each is counted from the
 * anchor itself: from 31 January, `P1M` goes to 28 February and then to 31 March.
 */
export function calendarRule({ months, days }: { months: number; days: number }, anchorWall: number): WallRule {
  const anchorDay = Math.floor(anchorWall / dayMs)
  const anchor = dateOf(anchorDay)
  const nth = (n: number): number => {
    const monthIndex = anchor.year * 12 + anchor.month - 1 + n * months
    const year = Math.floor(monthIndex / 12)
    const month = (monthIndex % 12) + 1
    const day = dayOf({ year, month, day: Math.min(anchor.day, daysInMonth(year, month)) })
    return (day + n * days - anchorDay) * dayMs + anchorWall
  }
  const roughMs = (months * 30.436875 + days) * dayMs
  return {
    next(afterWall) {
      // Months are uneven, but n of them are never more than a few days off their average.
      let n = Math.max(0, Math.floor((afterWall - anchorWall) / roughMs) - 2)
      while (nth(n) <= afterWall) n++
      const wall = nth(n)
      return wall > lastMs ? Infinity : wall
    },
  }
}
