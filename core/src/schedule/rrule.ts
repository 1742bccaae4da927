import { dateOf, dayMs, dayOf, dayOfWall, daysInMonth, modulo, weekdayOf } from './civil.ts'
import { explicitRule, ruleDays, searchedDaysMax } from './rrule-days.ts'
import { isSubDaily, type RecurrenceRule } from './rrule-text.ts'
import { choosePositions, combinations, intervalTimes, timesOf } from './rrule-times.ts'
import { timesOnDays } from './times-of-day.ts'
import type { WallRule } from './wall-rule.ts'

/** The wall-clock times of a rule, without its COUNT and UNTIL: these end it in real time. */
export function recurrenceRule(written: RecurrenceRule, dtstartWall: number): WallRule {
  const rule = explicitRule(written, dtstartWall)
  const nextDay = ruleDays(rule, dayOfWall(dtstartWall))
  if (isSubDaily(rule)) return intervalTimes(rule, dtstartWall, nextDay)
  const positions = rule.by.BYSETPOS
  const times = positions.length > 0 ? chosenTimes(rule, dtstartWall) : timesOnDays(nextDay, timesOf(rule, dtstartWall))
  return { next: (afterWall) => times.next(Math.max(afterWall, dtstartWall - 1)) }
}

/** The wall-clock times of a rule with BYSETPOS: some of the times of each period, chosen by their place. */
function chosenTimes(rule: RecurrenceRule, dtstartWall: number): WallRule {
  const slots = combinations(timesOf(rule, dtstartWall))
  const startDay = dayOfWall(dtstartWall)
  // Places count from the start of a period, also of the one that DTSTART cuts in two.
  const nextDay = ruleDays(rule, startDay, periodOf(rule, startDay).start)
  const nearest = Math.min(...rule.by.BYSETPOS.map(Math.abs))
  if (nearest > slots.length * daysAPeriod[rule.frequency]) return { next: () => Infinity }

  function chosenIn({ start, end }: Period): number[] {
    const set: number[] = []
    for (let day = nextDay(start); day < end; day = nextDay(day + 1))
      for (const slot of slots) set.push(day * dayMs + slot * 1000)
    return choosePositions(set, rule.by.BYSETPOS)
  }

  return {
    next(afterWall) {
      const from = dayOfWall(afterWall + 1)
      for (let day = nextDay(periodOf(rule, from).start); day - from < searchedDaysMax; ) {
        const period = periodOf(rule, day)
        const found = chosenIn(period).find((wall) => wall > afterWall)
        if (found !== undefined) return found
        day = nextDay(period.end)
      }
      return Infinity
    },
  }
}

/** Days from `start` up to, not including, `end`. */
interface Period {
  readonly start: number
  readonly end: number
}

function periodOf({ frequency, weekStart }: RecurrenceRule, day: number): Period {
  const { year, month } = dateOf(day)
  switch (frequency) {
    case 'YEARLY':
      return { start: dayOf({ year, month: 1, day: 1 }), end: dayOf({ year: year + 1, month: 1, day: 1 }) }
    case 'MONTHLY': {
      const start = dayOf({ year, month, day: 1 })
      return { start, end: start + daysInMonth(year, month) }
    }
    case 'WEEKLY': {
      const start = day - modulo(weekdayOf(day) - weekStart, 7)
      return { start, end: start + 7 }
    }
    default:
      return { start: day, end: day + 1 }
  }
}

// Every time of a period has to be written out to choose from them.
const setSizeMax = 10_000
const daysAPeriod = { YEARLY: 366, MONTHLY: 31, WEEKLY: 7, DAILY: 1, HOURLY: 0, MINUTELY: 0, SECONDLY: 0 } as const

/** Why a rule is refused although each of its parts is right; `undefined` for a good one. */
export function ruleRefusal(rule: RecurrenceRule, dtstartWall: number): string | undefined {
  if (rule.by.BYSETPOS.length > 0) {
    const size = combinations(timesOf(rule, dtstartWall)).length * daysAPeriod[rule.frequency]
    if (size > setSizeMax) return `BYSETPOS: it would choose among ${size} times of a period, at most ${setSizeMax}`
  }
  if (recurrenceRule(rule, dtstartWall).next(dtstartWall - 1) < Infinity) return undefined
  return 'no date and time matches all of its parts, so it never runs'
}
