import { dateOf, dayMs, dayOf, daysInMonth, isLeapYear, weekdayOf } from './civil.ts'
import type { Span } from './zone.ts'

/** The span that holds an instant, by a rule that repeats every year. */
export type FutureRule = (epochMs: number) => Span

const name = String.raw`(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]+>)`
const offset = String.raw`([+-]?\d{1,3}(?::\d{2}){0,2})`
const change = String.raw`(M\d{1,2}\.[1-5]\.[0-6]|J\d{1,3}|\d{1,3})(?:/([+-]?\d{1,3}(?::\d{2}){0,2}))?`
const pattern = new RegExp(`^${name}${offset}(?:${name}(?:${offset})?,${change},${change})?$`)

/**
 * The rule at the end of a zone file (POSIX TZ with the extensions of RFC 9636), such as `CET-1CEST,M3.5.0,M10.5.0/3`;
 * undefined for an empty one. Throws `RangeError` for a text that is none.
 */
export function parseFutureRule(text: string): FutureRule | undefined {
  if (text === '') return undefined
  const match = pattern.exec(text)
  if (match === null) throw new RangeError(`${text} is not a rule of a zone file`)
  const [, standardText = '', summerText, fromText, fromTime = '2', untilText, untilTime = '2'] = match
  const standard = 0 - readTime(standardText)
  if (fromText === undefined || untilText === undefined)
    return () => ({ from: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY, offset: standard })
  const summer = summerText === undefined ? standard + 3_600_000 : 0 - readTime(summerText)
  const changesOf = (year: number) => [
    { at: dayOfChange(fromText, year) * dayMs + readTime(fromTime) - standard, offset: summer },
    { at: dayOfChange(untilText, year) * dayMs + readTime(untilTime) - summer, offset: standard },
  ]
  return (epochMs) => {
    const { year } = dateOf(Math.floor(epochMs / dayMs))
    const changes = [year - 1, year, year + 1].flatMap(changesOf).sort((a, b) => a.at - b.at)
    const index = changes.findLastIndex(({ at }) => at <= epochMs)
    const current = changes[index]
    return {
      from: current?.at ?? Number.NEGATIVE_INFINITY,
      until: changes[index + 1]?.at ?? Number.POSITIVE_INFINITY,
      offset: current?.offset ?? standard,
    }
  }
}

/** `-3:30` in milliseconds. */
function readTime(text: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = text.replace(/^[+-]/, '').split(':').map(Number)
  const ms = ((hours * 60 + minutes) * 60 + seconds) * 1_000
  return text.startsWith('-') ? -ms : ms
}

function dayOfChange(text: string, year: number): number {
  const firstDay = dayOf({ year, month: 1, day: 1 })
  if (text.startsWith('M')) {
    const [month = 1, week = 1, weekday = 0] = text.slice(1).split('.').map(Number)
    const first = dayOf({ year, month, day: 1 })
    const earliest = first + ((weekday - weekdayOf(first) + 7) % 7)
    const day = earliest + (week - 1) * 7
    return day >= first + daysInMonth(year, month) ? day - 7 : day
  }
  if (!text.startsWith('J')) return firstDay + Number(text)
  const number = Number(text.slice(1))
  // 1 to 365: 29 February is never counted.
  return firstDay + number - 1 + (isLeapYear(year) && number >= 60 ? 1 : 0)
}
