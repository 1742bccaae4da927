import { bandTicks } from '#lib/draw/band.ts'
import { addDays, startOfDay } from '#lib/time/day.ts'
import { dayWords, wallClock } from '#lib/time/words.ts'

const day = 86_400_000

/** Where an axis is labelled: hours of a day, or days, as the clocks of a zone show them. */
export function ticksOf({ from, to }: { from: number; to: number }, zone: string): { at: number; label: string }[] {
  const days = (to - from) / day
  if (days < 2) return bandTicks(from, to, zone, 3)
  const step = days < 10 ? 1 : 3
  const ticks: { at: number; label: string }[] = []
  let date = addDays(wallClock(from, zone).slice(0, 10), 1)
  for (let at = startOfDay(date, zone); at < to; at = startOfDay(date, zone)) {
    ticks.push({ at, label: dayWords(at, zone, from) })
    date = addDays(date, step)
  }
  return ticks
}
