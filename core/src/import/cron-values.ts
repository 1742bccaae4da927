const names: Readonly<Record<string, readonly string[]>> = {
  month: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  weekday: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'],
}

export interface ValueRange {
  readonly min: number
  readonly max: number
  readonly names?: 'month' | 'weekday'
  /** What the first name stands for. */
  readonly first?: number
}

export const ranges = {
  second: { min: 0, max: 59 },
  minute: { min: 0, max: 59 },
  hour: { min: 0, max: 23 },
  day: { min: 1, max: 31 },
  month: { min: 1, max: 12, names: 'month', first: 1 },
  weekday: { min: 0, max: 7, names: 'weekday', first: 0 },
  year: { min: 1970, max: 2199 },
} as const satisfies Record<string, ValueRange>

/**
 * The values of a field that is plain cron: `*`, numbers, names, ranges, steps (`5/15` goes to the end), lists. Null for
 * anything else. Written apart from the engine's parser, so that the two can be held against each other.
 */
export function valuesOf(text: string, range: ValueRange): Set<number> | null {
  const values = new Set<number>()
  for (const item of text.toLowerCase().split(',')) {
    const match = /^(?:(\*|\?)|([a-z]{3,9}|\d{1,4})(?:-([a-z]{3,9}|\d{1,4}))?)(?:\/(\d{1,4}))?$/.exec(item)
    if (match === null) return null
    const [, star, from = '', to, step] = match
    const start = star === undefined ? numberOf(from, range) : range.min
    // A weekday has two names for Sunday: a star counts it once.
    const last = range.names === 'weekday' ? range.min + 6 : range.max
    const end =
      star !== undefined || (to === undefined && step !== undefined)
        ? last
        : to === undefined
          ? start
          : numberOf(to, range)
    const by = Number(step ?? 1)
    if (!(start >= range.min && end <= range.max) || by === 0) return null
    if (start <= end) for (let value = start; value <= end; value += by) values.add(value)
    else {
      // Over the end of the field, as `fri-mon` and `22-2`.
      const size = last - range.min + 1
      for (let value = start; value <= end + size; value += by) values.add(((value - range.min) % size) + range.min)
    }
  }
  return values
}

function numberOf(text: string, range: ValueRange): number {
  if (/^\d+$/.test(text)) return Number(text)
  const index = range.names === undefined ? -1 : (names[range.names]?.indexOf(text.slice(0, 3)) ?? -1)
  return index < 0 ? Number.NaN : index + (range.first ?? 0)
}

/** Every value of a field once. */
export const allValues = ({ min, max, names: named }: ValueRange): Set<number> =>
  new Set(Array.from({ length: (named === 'weekday' ? 6 : max) - min + 1 }, (_, index) => min + index))

/** A set as short as cron can say it: `*`, a step, ranges, numbers. */
export function toField(values: Set<number>, range: ValueRange): string {
  const all = allValues(range)
  if (values.size === all.size) return '*'
  const numbers = [...values].sort((a, b) => a - b)
  const step = (numbers[1] ?? 0) - (numbers[0] ?? 0)
  const max = Math.max(...all)
  if (
    numbers.length > 2 &&
    step > 1 &&
    numbers[0] === range.min &&
    (numbers.at(-1) ?? 0) + step > max &&
    numbers.every((value, index) => value === range.min + index * step)
  )
    return `*/${step}`
  const parts: string[] = []
  for (let index = 0; index < numbers.length; ) {
    let end = index
    while (numbers[end + 1] === (numbers[end] ?? 0) + 1) end++
    parts.push(end - index > 1 ? `${numbers[index]}-${numbers[end]}` : numbers.slice(index, end + 1).join(','))
    index = end + 1
  }
  return parts.join(',')
}
