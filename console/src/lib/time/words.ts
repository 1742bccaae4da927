import { durationWords } from './duration.ts'

/** `in 4 h 12 min`, `3 min ago`, `now`. Under a minute it counts whole seconds, so that it need not tick faster. */
export function relativeWords(at: number, now: number): string {
  const distance = at - now
  const size = Math.abs(distance)
  if (size < 1_000) return 'now'
  // Beyond ten minutes nobody counts seconds, and a page full of them is restless.
  const whole = size < 600_000 ? size : Math.floor(size / 60_000) * 60_000
  const words = size < 60_000 ? `${Math.floor(size / 1_000)} s` : durationWords(whole)
  return distance > 0 ? `in ${words}` : `${words} ago`
}

const formats = new Map<string, Intl.DateTimeFormat>()

function format(zone: string, name: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${name} ${zone}`
  let found = formats.get(key)
  if (!found) {
    found = new Intl.DateTimeFormat('en-GB', { ...options, timeZone: zone, hourCycle: 'h23' })
    formats.set(key, found)
  }
  return found
}

/** Joined from parts, because servers and browsers differ in the punctuation of whole formatted dates. */
function parts(at: number, zone: string): Record<string, string> {
  const whole = format(zone, 'parts', {
    weekday: 'short',
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
  }).formatToParts(at)
  const found = Object.fromEntries(whole.map((part) => [part.type, part.value]))
  return { ...found, month: (found.month ?? '').slice(0, 3) }
}

/** `06:25` in the zone, with seconds when they are not zero. */
export function clockWords(at: number, zone: string): string {
  const { hour, minute, second } = parts(at, zone)
  return second === '00' ? `${hour}:${minute}` : `${hour}:${minute}:${second}`
}

/** `29 Nov` in the zone, with the year when it is not this year. */
export function dayWords(at: number, zone: string, now: number): string {
  const { day, month, year } = parts(at, zone)
  return year === parts(now, zone).year ? `${day} ${month}` : `${day} ${month} ${year}`
}

/** `today 06:25`, `tomorrow 06:25`, `Sun 29 Nov 06:25`: the shortest form that is not ambiguous. */
export function momentWords(at: number, zone: string, now: number): string {
  const { weekday } = parts(at, zone)
  const away = dayNumber(at, zone) - dayNumber(now, zone)
  const named = away === 0 ? 'today' : away === 1 ? 'tomorrow' : away === -1 ? 'yesterday' : undefined
  return `${named ?? `${weekday} ${dayWords(at, zone, now)}`} ${clockWords(at, zone)}`
}

/** The whole instant: `Sun 29 Nov 2026, 06:25:00.000 GMT+01:00`. */
export function exactWords(at: number, zone: string): string {
  const { weekday, day, month, year, hour, minute, second, fractionalSecond } = parts(at, zone)
  return `${weekday} ${day} ${month} ${year}, ${hour}:${minute}:${second}.${fractionalSecond} ${offsetWords(at, zone)}`
}

/** `+01:00`, or `UTC` for no offset. */
export function offsetWords(at: number, zone: string): string {
  const whole = format(zone, 'offset', { timeZoneName: 'longOffset' }).formatToParts(at)
  const offset = whole.find((part) => part.type === 'timeZoneName')?.value.replace('GMT', '') ?? ''
  return offset === '' || offset === '+00:00' ? 'UTC' : offset
}

/** The wall clock of the zone as a date-time input has it: `2026-11-29T06:25`, with seconds when they are not zero. */
export function wallClock(at: number, zone: string): string {
  const whole = format(zone, 'wall', { year: 'numeric', month: '2-digit', day: '2-digit' }).formatToParts(at)
  const { year, month, day } = Object.fromEntries(whole.map((part) => [part.type, part.value]))
  // A year that is being typed is one of the first century.
  return `${year?.padStart(4, '0')}-${month}-${day}T${clockWords(at, zone)}`
}

/** Days since the epoch of the calendar day that the zone's clocks show. */
function dayNumber(at: number, zone: string): number {
  const whole = format(zone, 'day', { year: 'numeric', month: 'numeric', day: 'numeric' }).formatToParts(at)
  const { year, month, day } = Object.fromEntries(whole.map((part) => [part.type, Number(part.value)]))
  return Math.floor(Date.UTC(year ?? 0, (month ?? 1) - 1, day ?? 1) / 86_400_000)
}

/** Whether the runtime knows the zone by this name. */
export function isZone(name: string | undefined): name is string {
  if (!name) return false
  try {
    format(name, 'offset', { timeZoneName: 'longOffset' })
    return true
  } catch {
    return false
  }
}
