import type { Step } from './every.ts'

/** `a`, `a and b`, `a, b and c`. */
export function listWords(words: readonly string[], conjunction = 'and'): string {
  if (words.length < 2) return words.join('')
  return `${words.slice(0, -1).join(', ')} ${conjunction} ${words.at(-1)}`
}

/** The same, cut to the first few: `a, b, c and more`. */
export function someWords(words: readonly string[], shown = 3): string {
  return listWords(words.length > shown ? [...words.slice(0, shown), 'more'] : words)
}

/** `1st`, `2nd`, `23rd`. */
export function ordinal(value: number): string {
  const suffix = value % 100 >= 11 && value % 100 <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][value % 10] ?? 'th')
  return `${value}${suffix}`
}

/** The date of a wall-clock time: `2026-03-29`. */
export function dateWords(wall: number): string {
  return new Date(wall).toISOString().slice(0, 10)
}

/** The time of day of a wall-clock time, `01:30` or `01:30:05`, with its date when that is not `day`. */
export function timeWords(wall: number, day?: string): string {
  const time = new Date(wall).toISOString().slice(11, 19).replace(/:00$/, '')
  return day === undefined || day === dateWords(wall) ? time : `${dateWords(wall)} ${time}`
}

/** `15 minutes`, `1 hour 30 minutes`, `1 second`. */
export function durationWords(durationMs: number): string {
  const seconds = durationMs / 1000
  const parts = {
    hour: Math.floor(seconds / 3600),
    minute: Math.floor(seconds / 60) % 60,
    second: Math.round((seconds % 60) * 1000) / 1000,
  }
  return countWords(parts)
}

/** The step of an interval: `15 minutes`, `month`, `2 weeks`. */
export function stepWords(step: Step): string {
  if (step.kind === 'exact') return durationWords(step.everyMs)
  const { months, days } = step
  const [inWeeks, inYears] = [days % 7 === 0, months % 12 === 0]
  const words = countWords({
    year: inYears ? months / 12 : 0,
    month: inYears ? 0 : months,
    week: inWeeks ? days / 7 : 0,
    day: inWeeks ? 0 : days,
  })
  return words.replace(/^1 (?=[a-z]+$)/, '')
}

function countWords(parts: Readonly<Record<string, number>>): string {
  return Object.entries(parts)
    .flatMap(([unit, count]) => (count === 0 ? [] : [`${count} ${unit}${count === 1 ? '' : 's'}`]))
    .join(' ')
}

/** Sorted numbers with runs of three or more drawn together, long lists cut: `1 to 5, 8 and 9`. */
export function spanWords(values: readonly number[], name: (value: number) => string): string {
  const words: string[] = []
  for (let start = 0; start < values.length; ) {
    let end = start
    while (values[end + 1] === (values[end] ?? 0) + 1) end++
    if (end - start < 2) end = start
    const [first = 0, last = 0] = [values[start], values[end]]
    words.push(start === end ? name(first) : `${name(first)} to ${name(last)}`)
    start = end + 1
  }
  return words.length > 8 ? `${words.slice(0, 3).join(', ')}, … and ${words.at(-1)}` : listWords(words)
}
