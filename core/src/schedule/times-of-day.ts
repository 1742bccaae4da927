import { dayMs, dayOfWall } from './civil.ts'
import type { WallRule } from './wall-rule.ts'

/** Every combination of these is a time of day. Sorted, none of the lists empty. */
export interface TimesOfDay {
  readonly hours: readonly number[]
  readonly minutes: readonly number[]
  readonly seconds: readonly number[]
}

/** Whatever knows the days of a rule: the first one from `day` on, `Infinity` when there is none. */
export type NextDay = (day: number) => number

/** Finds the first time of day from a second of the day on; -1 when the rest of the day has none. */
export function timeFinder({ hours, minutes, seconds }: TimesOfDay): (fromSecond: number) => number {
  const [hourFrom, minuteFrom, secondFrom] = [ceilings(hours), ceilings(minutes), ceilings(seconds)]
  const [firstMinute, firstSecond] = [minutes[0] ?? 0, seconds[0] ?? 0]
  return (from) => {
    const [hour, minute] = [Math.floor(from / 3600), Math.floor(from / 60) % 60]
    const [atHour, atMinute, atSecond] = [hourFrom[hour] ?? -1, minuteFrom[minute] ?? -1, secondFrom[from % 60] ?? -1]
    if (atHour === hour) {
      if (atMinute === minute && atSecond >= 0) return hour * 3600 + minute * 60 + atSecond
      const laterMinute = minuteFrom[minute + 1] ?? -1
      if (laterMinute >= 0) return hour * 3600 + laterMinute * 60 + firstSecond
    }
    const laterHour = atHour > hour ? atHour : (hourFrom[hour + 1] ?? -1)
    return laterHour < 0 ? -1 : laterHour * 3600 + firstMinute * 60 + firstSecond
  }
}

/** For each number up to 60 the smallest value that is not below it; -1 when there is none. */
function ceilings(values: readonly number[]): Int8Array {
  return Int8Array.from({ length: 61 }, (_, at) => values.find((value) => value >= at) ?? -1)
}

/** The wall-clock times of a rule that has the same times of day on each of its days. */
export function timesOnDays(nextDay: NextDay, times: TimesOfDay): WallRule {
  const nextTime = timeFinder(times)
  const first = nextTime(0)
  let asked = Infinity
  let answered = -Infinity
  const dayFrom: NextDay = (day) => {
    if (asked <= day && day <= answered) return answered
    answered = nextDay(day)
    asked = day
    return answered
  }
  return {
    next(afterWall) {
      const from = Math.floor(afterWall / 1000) + 1
      const today = dayOfWall(from * 1000)
      let day = dayFrom(today)
      if (day === today) {
        const time = nextTime(from - today * 86_400)
        if (time >= 0) return today * dayMs + time * 1000
        day = dayFrom(today + 1)
      }
      return day === Infinity ? Infinity : day * dayMs + first * 1000
    },
  }
}
