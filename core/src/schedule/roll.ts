import { dateOf, dayMs, dayOfWall } from './civil.ts'
import { commonRanges, type DayCover, type DayRange, otherRanges, wholeDay } from './day-cover.ts'
import type { Roll } from './extras.ts'

/** How far an occurrence is moved at most: further away it is skipped. */
const forwardDaysMax = 366
export const backwardDaysMax = 31
const daysKept = 400

/** The moments that all of `onlyOn` hold and none of `notOn`. */
export function combineCovers(onlyOn: readonly DayCover[], notOn: readonly DayCover[]): DayCover {
  const known = new Map<number, readonly DayRange[]>()
  const compute = (day: number): readonly DayRange[] => {
    let open: readonly DayRange[] = wholeDay
    for (const cover of onlyOn) open = commonRanges(open, cover.rangesOn(day))
    for (const cover of notOn) open = commonRanges(open, otherRanges(cover.rangesOn(day)))
    return open
  }
  return {
    rangesOn(day) {
      const kept = known.get(day)
      if (kept) return kept
      if (known.size >= daysKept) known.clear()
      const ranges = compute(day)
      known.set(day, ranges)
      return ranges
    },
  }
}

export function isOpenAt(cover: DayCover, wall: number): boolean {
  const day = dayOfWall(wall)
  return holds(cover.rangesOn(day), wall - day * dayMs)
}

const holds = (ranges: readonly DayRange[], time: number): boolean =>
  ranges.some(({ from, until }) => from <= time && time < until)

/**
 * Where a closed wall-clock time goes; `undefined` when it is skipped. On another day it keeps its time of day if that
 * is open, else it takes the start of the day's first opening, or the last whole minute of its last one.
 */
export function rollWall(cover: DayCover, wall: number, roll: Roll): number | undefined {
  switch (roll) {
    case 'skip':
      return undefined
    case 'next':
      return nextOpen(cover, wall)
    case 'previous':
      return previousOpen(cover, wall)
    case 'modified-following': {
      const next = nextOpen(cover, wall)
      return next !== undefined && isSameMonth(next, wall) ? next : previousOpen(cover, wall)
    }
  }
}

function nextOpen(cover: DayCover, wall: number): number | undefined {
  const today = dayOfWall(wall)
  const time = wall - today * dayMs
  for (let day = today; day <= today + forwardDaysMax; day++) {
    const ranges = cover.rangesOn(day)
    if (day > today && holds(ranges, time)) return day * dayMs + time
    const opening = ranges.find(({ from }) => day > today || from > time)
    if (opening) return day * dayMs + opening.from
  }
  return undefined
}

function previousOpen(cover: DayCover, wall: number): number | undefined {
  const today = dayOfWall(wall)
  const time = wall - today * dayMs
  for (let day = today; day >= today - backwardDaysMax; day--) {
    const ranges = cover.rangesOn(day)
    if (day < today && holds(ranges, time)) return day * dayMs + time
    const opening = ranges.findLast(({ until }) => day < today || until <= time)
    if (opening) return day * dayMs + Math.max(opening.from, opening.until - 60_000)
  }
  return undefined
}

/** The end of the last opening before a closed wall-clock time: from there on it has been closed. */
export function closedSince(cover: DayCover, wall: number): number {
  const today = dayOfWall(wall)
  for (let day = today; day >= today - forwardDaysMax; day--) {
    const opening = cover.rangesOn(day).findLast(({ until }) => day * dayMs + until <= wall)
    if (opening) return day * dayMs + opening.until
  }
  return wall
}

function isSameMonth(one: number, other: number): boolean {
  const [a, b] = [dateOf(dayOfWall(one)), dateOf(dayOfWall(other))]
  return a.year === b.year && a.month === b.month
}
