import { addDays, startOfDay } from '#lib/time/day.ts'
import { clockWords, wallClock } from '#lib/time/words.ts'
import type { View } from './view.ts'

/** One line of the timeline: a day with its 24 hours, or, of a single day, an hour with its 60 minutes. */
export interface Lane {
  from: number
  /** Exclusive. */
  to: number
  /** `Sun 29`, or `06:00`. */
  label: string
  /** `Nov`, of a day. */
  month?: string
  isWeekend: boolean
}

const hourMs = 3_600_000
const monthFormat = new Intl.DateTimeFormat('en-GB', { month: 'short', timeZone: 'UTC' })
const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

/** The lines of a view, first to last. A day on which the clocks change has 23 or 25 hours. */
export function lanesOf({ first, days }: Pick<View, 'first' | 'days'>, zone: string): Lane[] {
  if (days === 1) return hoursOf(first, zone)
  return Array.from({ length: days }, (_, index): Lane => {
    const day = addDays(first, index)
    const date = new Date(`${day}T00:00Z`)
    return {
      from: startOfDay(day, zone),
      to: startOfDay(addDays(day, 1), zone),
      label: `${weekdays[date.getUTCDay()]} ${date.getUTCDate()}`,
      month: monthFormat.format(date).slice(0, 3),
      isWeekend: date.getUTCDay() % 6 === 0,
    }
  })
}

function hoursOf(day: string, zone: string): Lane[] {
  const [begin, end] = [startOfDay(day, zone), startOfDay(addDays(day, 1), zone)]
  return Array.from({ length: Math.ceil((end - begin) / hourMs) }, (_, index): Lane => {
    const from = begin + index * hourMs
    return { from, to: Math.min(from + hourMs, end), label: clockWords(from, zone), isWeekend: false }
  })
}

/**
 * Where an instant stands in its lane, in percent. In a day it is where the clock on the wall shows it, so that the
 * same time of day stands in one column also when the clocks change.
 */
export function placeIn(lane: Lane, at: number, zone: string): number {
  if (lane.to - lane.from <= hourMs) return ((at - lane.from) / (lane.to - lane.from)) * 100
  const [hours, minutes, seconds] = wallClock(at, zone).slice(11).split(':').map(Number)
  return (((hours ?? 0) * 3_600 + (minutes ?? 0) * 60 + (seconds ?? 0)) / 86_400) * 100
}

/** The lane that holds an instant. */
export const laneAt = (lanes: readonly Lane[], at: number): Lane | undefined =>
  lanes.find((lane) => lane.from <= at && at < lane.to)

/** A stretch of time as far as it lies in a lane, in percent; undefined when none of it does. */
export function bandIn(
  lane: Lane,
  { from, until }: { from: number; until: number },
  zone: string,
): { left: number; width: number } | undefined {
  if (until < lane.from || from >= lane.to) return undefined
  const left = from <= lane.from ? 0 : placeIn(lane, from, zone)
  const right = until >= lane.to - 1 ? 100 : placeIn(lane, until, zone)
  return { left, width: Math.max(right - left, 0.4) }
}

/** Full hours of the day, or every ten minutes of the hour, to label the axis with. */
export const axisOf = (days: number): { at: number; label: string }[] =>
  days === 1
    ? [0, 10, 20, 30, 40, 50].map((minute) => ({
        at: (minute / 60) * 100,
        label: `:${String(minute).padStart(2, '0')}`,
      }))
    : [0, 3, 6, 9, 12, 15, 18, 21].map((hour) => ({
        at: (hour / 24) * 100,
        label: `${String(hour).padStart(2, '0')}:00`,
      }))

/** The weeks of a month, Monday first; undefined where a week reaches out of it. */
export function weeksOf({ first, days }: Pick<View, 'first' | 'days'>): (string | undefined)[][] {
  const before = (new Date(`${first}T00:00Z`).getUTCDay() + 6) % 7
  return Array.from({ length: Math.ceil((before + days) / 7) }, (_, week) =>
    Array.from({ length: 7 }, (_, weekday) => {
      const index = week * 7 + weekday - before
      return index >= 0 && index < days ? addDays(first, index) : undefined
    }),
  )
}

/** `Sun 29 Nov`, or `06:00–07:00`. */
export const laneWords = (lane: Lane, zone: string): string =>
  lane.month ? `${lane.label} ${lane.month}` : `${lane.label}–${clockWords(lane.to, zone)}`
