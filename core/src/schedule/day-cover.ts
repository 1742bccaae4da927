import { dayMs } from './civil.ts'

/** A stretch of one day in milliseconds since its midnight on the wall clock; `until` is exclusive. */
export interface DayRange {
  readonly from: number
  readonly until: number
}

/** A set of moments on the wall clock, told day by day: sorted, and no two ranges touch. */
export interface DayCover {
  rangesOn(day: number): readonly DayRange[]
}

export const wholeDay: readonly DayRange[] = [{ from: 0, until: dayMs }]

/** Sorted ranges with those that meet or overlap made one. */
export function joinRanges(ranges: readonly DayRange[]): DayRange[] {
  const joined: DayRange[] = []
  for (const range of [...ranges].sort((a, b) => a.from - b.from)) {
    const last = joined.at(-1)
    if (last === undefined || range.from > last.until) joined.push(range)
    else if (range.until > last.until) joined[joined.length - 1] = { from: last.from, until: range.until }
  }
  return joined
}

/** What is in both. */
export function commonRanges(one: readonly DayRange[], other: readonly DayRange[]): DayRange[] {
  return one.flatMap((a) =>
    other.flatMap((b) => {
      const [from, until] = [Math.max(a.from, b.from), Math.min(a.until, b.until)]
      return from < until ? [{ from, until }] : []
    }),
  )
}

/** The rest of the day. */
export function otherRanges(ranges: readonly DayRange[]): DayRange[] {
  const others: DayRange[] = []
  let from = 0
  for (const range of ranges) {
    if (range.from > from) others.push({ from, until: range.from })
    from = range.until
  }
  return from < dayMs ? [...others, { from, until: dayMs }] : others
}
