import { monthNames } from '#lib/time/months.ts'

/** One month: its weeks from Monday on, with undefined where a week reaches into another month. */
export interface Month {
  /** `2026-11`. */
  key: string
  name: string
  weeks: (string | undefined)[][]
}

const two = (value: number) => String(value).padStart(2, '0')

/** The twelve months of a year. */
export function monthsOf(year: number): Month[] {
  return monthNames.map((name, index) => {
    const first = new Date(Date.UTC(year, index, 1))
    const length = new Date(Date.UTC(year, index + 1, 0)).getUTCDate()
    const lead = (first.getUTCDay() + 6) % 7
    const key = `${year}-${two(index + 1)}`
    const cells = Array.from({ length: Math.ceil((lead + length) / 7) * 7 }, (_, cell) => {
      const day = cell - lead + 1
      return day >= 1 && day <= length ? `${key}-${two(day)}` : undefined
    })
    const weeks = Array.from({ length: cells.length / 7 }, (_, week) => cells.slice(week * 7, week * 7 + 7))
    return { key, name, weeks }
  })
}

/** The day that an arrow key leads to from a day; undefined for other keys. It stays within the year. */
export function dayAfterKey(day: string, key: string): string | undefined {
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 }[key]
  if (steps === undefined) return undefined
  const date = new Date(`${day}T00:00Z`)
  date.setUTCDate(date.getUTCDate() + steps)
  const next = date.toISOString().slice(0, 10)
  return next.slice(0, 4) === day.slice(0, 4) ? next : day
}
