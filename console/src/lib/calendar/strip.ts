import type { CalendarDay } from '@meridian/sdk'
import { addDays } from '#lib/time/day.ts'
import { isWhole } from './words.ts'

export type StripMark = 'whole' | 'part' | 'out'

/** Consecutive days for a small picture: whether each is in, in part, or not. */
export function stripMarks(days: readonly CalendarDay[], from: string, length: number): StripMark[] {
  const known = new Map(days.map((day) => [day.date, day]))
  return Array.from({ length }, (_, index) => {
    const day = known.get(addDays(from, index))
    return day === undefined ? 'out' : isWhole(day) ? 'whole' : 'part'
  })
}

const clockMinutes = (text: string): number => Number(text.slice(0, 2)) * 60 + Number(text.slice(3))

/** Where the hours of a day lie in it, as shares of its length. */
export const hourShares = ({ hours }: CalendarDay): { from: number; length: number }[] =>
  hours.map(({ from, until }) => ({
    from: clockMinutes(from) / 1440,
    length: (clockMinutes(until) - clockMinutes(from)) / 1440,
  }))
