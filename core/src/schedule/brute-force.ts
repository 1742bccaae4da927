import type { ClockRule } from './zone.ts'

/** A generated cron expression that carries its own meaning, so that nothing has to parse it. */
export interface CronSample {
  readonly dialect: 'vixie' | 'quartz' | 'kubernetes'
  readonly text: string
  readonly seconds: readonly number[]
  readonly minutes: ReadonlySet<number>
  readonly hours: ReadonlySet<number>
  readonly months: ReadonlySet<number>
  readonly followsRealTime: boolean
  matchesDay(date: Temporal.PlainDate): boolean
}

const margin = { hours: 4 }
const minutesOfDay = Array.from({ length: 1440 }, (_, minute) => minute)

/**
 * What the occurrences in (after, until] should be, found by looking at every minute of the wall clock and
 * asking Temporal about each that matches. Slow and simple on purpose: it shares no code with the engine.
 */
export function bruteForce(
  sample: CronSample,
  timezone: string,
  rule: ClockRule,
  { after, until, count }: { after: Temporal.Instant; until: Temporal.Instant; count: number },
): string[] {
  const found = new Set<bigint>()
  const start = after.toZonedDateTimeISO(timezone).toPlainDateTime().subtract(margin).round('minute')
  const end = until.toZonedDateTimeISO(timezone).toPlainDateTime().add(margin)
  const minutes = minutesOfDay.filter(
    (minute) => sample.hours.has(Math.floor(minute / 60)) && sample.minutes.has(minute % 60),
  )
  let enough = end
  for (let date = start.toPlainDate(); Temporal.PlainDate.compare(date, enough.toPlainDate()) <= 0; ) {
    if (sample.months.has(date.month) && sample.matchesDay(date))
      for (const minute of minutes) {
        const wall = date.toPlainDateTime({ hour: Math.floor(minute / 60), minute: minute % 60 })
        if (Temporal.PlainDateTime.compare(wall, start) < 0 || Temporal.PlainDateTime.compare(wall, enough) > 0)
          continue
        for (const second of sample.seconds)
          for (const at of toInstants(
            wall.add({ seconds: second }),
            timezone,
            sample.followsRealTime ? realTime : rule,
          ))
            if (at > after.epochNanoseconds && at <= until.epochNanoseconds) found.add(at)
        if (found.size >= count && enough === end) enough = wall.add(margin)
      }
    date = date.add({ days: 1 })
  }
  return [...found]
    .sort((a, b) => (a < b ? -1 : 1))
    .slice(0, count)
    .map((at) => new Temporal.Instant(at).toString())
}

/** Every time that exists, as often as it exists. */
export const realTime: ClockRule = { gap: 'skip', fold: 'both' }

/** The instants of one wall-clock time under a rule, by asking Temporal. */
export function toInstants(wall: Temporal.PlainDateTime, timezone: string, { gap, fold }: ClockRule): bigint[] {
  const earlier = wall.toZonedDateTime(timezone, { disambiguation: 'earlier' })
  const later = wall.toZonedDateTime(timezone, { disambiguation: 'later' })
  if (exists(wall, earlier)) {
    if (fold === 'both') return [earlier.epochNanoseconds, later.epochNanoseconds]
    return [(fold === 'first' ? earlier : later).epochNanoseconds]
  }
  if (gap === 'skip') return []
  if (gap === 'shift') return [later.epochNanoseconds]
  for (let next = wall.round({ smallestUnit: 'minute', roundingMode: 'ceil' }); ; next = next.add({ minutes: 1 })) {
    const valid = next.toZonedDateTime(timezone, { disambiguation: 'earlier' })
    if (exists(next, valid)) return [valid.epochNanoseconds]
  }
}

function exists(wall: Temporal.PlainDateTime, zoned: Temporal.ZonedDateTime): boolean {
  return zoned.toPlainDateTime().equals(wall)
}
