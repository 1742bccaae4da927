import { wallClock } from './words.ts'

const minuteMs = 60_000
const rounds = 3

/** The instant at which a calendar day (`2026-03-29`) begins in a zone; where a clock change leaves midnight out, next to it. */
export const startOfDay = (day: string, zone: string): number => instantAt(day, '00:00', zone)

/** The instant at which the clocks of a zone show a day and a time (`06:25`); what a clock change leaves out is next to it. */
export function instantAt(day: string, clock: string, zone: string): number {
  const wanted = Date.parse(`${day}T${clock}Z`)
  let at = wanted
  for (let round = 0; round < rounds; round += 1) {
    const shown = Date.parse(`${wallClock(at, zone).slice(0, 16)}Z`)
    if (shown === wanted) return at
    at -= Math.round((shown - wanted) / minuteMs) * minuteMs
  }
  return at
}

/** The calendar day that many days later. */
export function addDays(day: string, count: number): string {
  const date = new Date(`${day}T00:00Z`)
  date.setUTCDate(date.getUTCDate() + count)
  return date.toISOString().slice(0, 10)
}
