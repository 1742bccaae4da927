import { dayMs, dayOfWall, modulo } from './civil.ts'
import { searchedDaysMax } from './rrule-days.ts'
import type { RecurrenceRule } from './rrule-text.ts'
import { type NextDay, type TimesOfDay, timeFinder } from './times-of-day.ts'
import type { WallRule } from './wall-rule.ts'

const all = (count: number): number[] => Array.from({ length: count }, (_, value) => value)

/** The times of day that a rule names, the rest taken from DTSTART; an interval's own unit has all its values. */
export function timesOf({ frequency, by }: RecurrenceRule, dtstartWall: number): TimesOfDay {
  const second = Math.floor(dtstartWall / 1000) - dayOfWall(dtstartWall) * 86_400
  const isFine = frequency === 'MINUTELY' || frequency === 'SECONDLY'
  const or = (values: readonly number[], others: readonly number[]): readonly number[] =>
    values.length > 0 ? values : others
  return {
    hours: or(by.BYHOUR, isFine || frequency === 'HOURLY' ? all(24) : [Math.floor(second / 3600)]),
    minutes: or(by.BYMINUTE, isFine ? all(60) : [Math.floor(second / 60) % 60]),
    seconds: or(by.BYSECOND, frequency === 'SECONDLY' ? all(60) : [second % 60]),
  }
}

/** Every combination of the times, as seconds of the day, or of the hour or minute when what is coarser is left out. */
export function combinations({
  hours = [0],
  minutes = [0],
  seconds,
}: Partial<TimesOfDay> & Pick<TimesOfDay, 'seconds'>) {
  return hours.flatMap((hour) =>
    minutes.flatMap((minute) => seconds.map((second) => (hour * 60 + minute) * 60 + second)),
  )
}

/** What BYSETPOS chooses from a sorted set; everything when it is empty. */
export function choosePositions<Item>(set: readonly Item[], positions: readonly number[]): Item[] {
  if (positions.length === 0) return [...set]
  return set.filter((_, index) => positions.includes(index + 1) || positions.includes(index - set.length))
}

// An interval that falls in so few ways on a day is looked at for each of them, and never again.
const phasesMax = 3600

/** The wall-clock times of an HOURLY, MINUTELY or SECONDLY rule on the days that its other parts leave. */
export function intervalTimes(rule: RecurrenceRule, dtstartWall: number, nextDay: NextDay): WallRule {
  const { interval, frequency, by } = rule
  const { hours, minutes, seconds } = timesOf(rule, dtstartWall)
  const unit = frequency === 'HOURLY' ? 3600 : frequency === 'MINUTELY' ? 60 : 1
  const nextUnit = timeFinder({
    hours,
    minutes: unit === 3600 ? [0] : minutes,
    seconds: unit === 1 ? seconds : [0],
  })
  const slots = choosePositions(
    unit === 3600 ? combinations({ minutes, seconds }) : unit === 60 ? combinations({ seconds }) : [0],
    by.BYSETPOS,
  )
  const unitsADay = 86_400 / unit
  const startUnit = Math.floor(dtstartWall / 1000 / unit)
  const phaseOf = (day: number): number => modulo(startUnit - day * unitsADay, interval)

  /** The first time of a day from a second on; -1 when the rest of the day has none. */
  function timeOn(day: number, fromSecond: number): number {
    const phase = phaseOf(day)
    for (let index = Math.floor(fromSecond / unit); index < unitsADay; ) {
      const start = nextUnit(index * unit)
      if (start < 0) return -1
      index = start / unit
      const late = modulo(index - phase, interval)
      if (late > 0) {
        index += interval - late
        continue
      }
      const slot = slots.find((second) => start + second >= fromSecond)
      if (slot !== undefined) return start + slot
      index++
    }
    return -1
  }

  const phases = interval / greatestDivisor(interval, unitsADay)
  const firstTimes = new Map<number, number>()
  function firstTimeOn(day: number): number {
    if (phases > phasesMax) return timeOn(day, 0)
    const known = firstTimes.get(phaseOf(day))
    if (known !== undefined) return known
    const found = timeOn(day, 0)
    firstTimes.set(phaseOf(day), found)
    return found
  }
  const hasTimes = (): boolean => {
    if (slots.length === 0) return false
    for (let day = 0; day < phases && phases <= phasesMax; day++) if (firstTimeOn(day) >= 0) return true
    return phases > phasesMax
  }
  const isPossible = hasTimes()

  return {
    next(afterWall) {
      if (!isPossible) return Infinity
      const from = Math.floor(Math.max(afterWall + 1000, dtstartWall) / 1000)
      const today = dayOfWall(from * 1000)
      for (let day = nextDay(today); day - today < searchedDaysMax; day = nextDay(day + 1)) {
        const time = day === today ? timeOn(day, from - today * 86_400) : firstTimeOn(day)
        if (time >= 0) return day * dayMs + time * 1000
      }
      return Infinity
    },
  }
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b)
}
