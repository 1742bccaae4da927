import { addDays, startOfDay } from '#lib/time/day.ts'

/** The lengths that are offered, in days. The API certifies at most 366. */
export const lengths = [7, 30, 90, 366] as const

/** Whole days of the job's zone, both inclusive. */
export interface DayRange {
  first: string
  last: string
}

const isDay = (text: string | null): text is string => text !== null && /^\d{4}-\d{2}-\d{2}$/.test(text)

/** Reads `?last=30` or `?from=2026-11-01&to=2026-11-30`; anything else is the last 30 days. */
export function readDays(
  params: Pick<URLSearchParams, 'get'>,
  today: string,
): DayRange & { length: number | undefined } {
  const [from, to] = [params.get('from'), params.get('to')]
  if (isDay(from) && isDay(to)) return { first: from, last: to, length: undefined }
  const length = lengths.find((days) => String(days) === params.get('last')) ?? 30
  return { first: addDays(today, 1 - length), last: today, length }
}

/** From the first instant of the first day up to the end of the last, as the API takes it. */
export const instantsOf = ({ first, last }: DayRange, zone: string): { from: string; to: string } => ({
  from: new Date(startOfDay(first, zone)).toISOString(),
  to: new Date(startOfDay(addDays(last, 1), zone)).toISOString(),
})
