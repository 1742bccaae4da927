import { parseIsoDuration, toIsoDuration } from '#lib/time/duration.ts'

const exactUnits = { second: 1_000, minute: 60_000, hour: 3_600_000 } as const
const calendarUnits = { day: 'D', week: 'W', month: 'M', year: 'Y' } as const

type ExactUnit = keyof typeof exactUnits
type CalendarUnit = keyof typeof calendarUnits
export type EveryUnit = ExactUnit | CalendarUnit

export const everyUnits = [...Object.keys(exactUnits), ...Object.keys(calendarUnits)] as EveryUnit[]

/** An interval of one unit. Days and longer keep the wall clock; shorter ones are exact time. */
export interface EveryParts {
  count: number
  unit: EveryUnit
}

/** Whether the unit keeps the wall clock, and so needs a zone and a day to count from. */
export const isCalendarUnit = (unit: EveryUnit): unit is CalendarUnit => unit in calendarUnits

/** The interval as it travels: `PT15M`, `P2D`. */
export function everyText({ count, unit }: EveryParts): string {
  return isCalendarUnit(unit) ? `P${count}${calendarUnits[unit]}` : toIsoDuration(count * exactUnits[unit])
}

/** The interval in one unit, or undefined when it takes several, as `P1M2D` does. */
export function parseEvery(text: string): EveryParts | undefined {
  const calendar = /^P(\d+)([DWMY])$/.exec(text)
  if (calendar) {
    const unit = (Object.keys(calendarUnits) as CalendarUnit[]).find((name) => calendarUnits[name] === calendar[2])
    return unit && { count: Number(calendar[1]), unit }
  }
  const milliseconds = text.startsWith('PT') ? parseIsoDuration(text) : undefined
  if (!milliseconds) return undefined
  const unit = (['hour', 'minute'] as const).find((name) => milliseconds % exactUnits[name] === 0) ?? 'second'
  return { count: milliseconds / exactUnits[unit], unit }
}

/** `every 2 days`, `every minute`; the text itself when it takes several units. */
export function everyWords(text: string): string {
  const every = parseEvery(text)
  if (!every) return `every ${text}`
  return every.count === 1 ? `every ${every.unit}` : `every ${every.count} ${every.unit}s`
}
