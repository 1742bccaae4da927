const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** A duration for people, at most two units: `84 ms`, `1.24 s`, `3 min 2 s`, `4 h 12 min`, `3 d 4 h`. */
export function durationWords(milliseconds: number): string {
  const value = Math.abs(milliseconds)
  if (value < 1) return '< 1 ms'
  if (value < second) return `${Math.round(value)} ms`
  if (value < minute && value % 100 === 0) return `${value / second} s`
  if (value < 10 * second) return `${(Math.floor(value / 10) / 100).toFixed(2)} s`
  if (value < minute) return `${(Math.floor(value / 100) / 10).toFixed(1)} s`
  if (value < hour) return pair(value, minute, 'min', second, 's')
  if (value < day) return pair(value, hour, 'h', minute, 'min')
  return value < 10 * day ? pair(value, day, 'd', hour, 'h') : `${Math.floor(value / day)} d`
}

function pair(value: number, big: number, bigName: string, small: number, smallName: string): string {
  const bigs = Math.floor(value / big)
  const smalls = Math.floor((value % big) / small)
  return smalls === 0 ? `${bigs} ${bigName}` : `${bigs} ${bigName} ${smalls} ${smallName}`
}

const pattern = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d{1,9})?)S)?)?$/

/** Milliseconds of an ISO-8601 duration of exact units (weeks to seconds), or undefined for anything else. */
export function parseIsoDuration(text: string): number | undefined {
  const match = pattern.exec(text)
  if (!match || text === 'P' || text.endsWith('T')) return undefined
  const [weeks, days, hours, minutes, seconds] = match.slice(1).map((part) => Number(part ?? 0))
  return (
    ((weeks ?? 0) * 7 + (days ?? 0)) * day + (hours ?? 0) * hour + (minutes ?? 0) * minute + (seconds ?? 0) * second
  )
}

/** The shortest ISO-8601 form in hours, minutes and seconds: 5_400_000 gives `PT1H30M`. */
export function toIsoDuration(milliseconds: number): string {
  const hours = Math.floor(milliseconds / hour)
  const minutes = Math.floor((milliseconds % hour) / minute)
  const seconds = (milliseconds % minute) / second
  const text = `${hours ? `${hours}H` : ''}${minutes ? `${minutes}M` : ''}${seconds ? `${seconds}S` : ''}`
  return `PT${text || '0S'}`
}

const units: readonly [name: string, milliseconds: number][] = [
  ['d', day],
  ['h', hour],
  ['min', minute],
]

/** A duration as people type it, nothing rounded: in the largest unit that is whole, `90 min` or `1.6 s`. */
export function exactWords(milliseconds: number): string {
  if (milliseconds > 0 && milliseconds < second) return `${milliseconds} ms`
  const [name, size] = units.find(([, each]) => milliseconds > 0 && milliseconds % each === 0) ?? ['s', second]
  return `${milliseconds / size} ${name}`
}

const typed = /^(\d+(?:\.\d+)?)\s*(ms|s|sec|seconds?|m|min|minutes?|h|hours?|d|days?)?$/i

/** Milliseconds of what is typed: `30 s`, `5 min`, `2 h`, `1 d`, `PT5M`, or seconds as a bare number; else undefined. */
export function readDuration(text: string): number | undefined {
  const match = typed.exec(text.trim())
  if (!match) return parseIsoDuration(text.trim().toUpperCase())
  const [, amount, unit = 's'] = match
  const name = unit.toLowerCase()
  const size = name === 'ms' ? 1 : { s: second, m: minute, h: hour, d: day }[name[0] ?? '']
  return size === undefined ? undefined : Math.round(Number(amount) * size)
}
