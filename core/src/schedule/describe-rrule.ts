import { dayMs } from './civil.ts'
import { monthWords, weekdayWords } from './names.ts'
import { explicitRule } from './rrule-days.ts'
import type { RecurrenceSet } from './rrule-set.ts'
import { type Frequency, isSubDaily, type RecurrenceRule, type Until } from './rrule-text.ts'
import { combinations, timesOf } from './rrule-times.ts'
import { dateWords, listWords, ordinal, spanWords, timeWords } from './words.ts'

/** More times of day than this are told as a pattern instead of one by one. */
const listedMax = 4

/** A recurrence set in plain words, without zone; `startWall` is the wall clock at its DTSTART, if it has one. */
export function describeSet(set: RecurrenceSet, startWall: number | undefined): string {
  const rules = set.rules.map((rule) => describeRule(rule, startWall))
  const [first, ...others] = rules
  const dates = set.rdates.length === 1 ? '1 single time' : `${set.rdates.length} single times`
  const words = [
    first ?? `At ${dates}`,
    ...others.map((rule) => `and ${rule.charAt(0).toLowerCase()}${rule.slice(1)}`),
    ...(first !== undefined && set.rdates.length > 0 ? [`and at ${dates}`] : []),
  ]
  const { length } = set.exdates
  const excluded = length === 0 ? '' : ` (${length} ${length === 1 ? 'exclusion' : 'exclusions'})`
  return words.join('; ') + excluded
}

const units: Readonly<Record<Frequency, string>> = {
  YEARLY: 'year',
  MONTHLY: 'month',
  WEEKLY: 'week',
  DAILY: 'day',
  HOURLY: 'hour',
  MINUTELY: 'minute',
  SECONDLY: 'second',
}

function describeRule(written: RecurrenceRule, startWall: number | undefined): string {
  const rule = startWall === undefined ? written : explicitRule(written, startWall)
  const unit = units[rule.frequency]
  const every = rule.interval === 1 ? `Every ${unit}` : `Every ${rule.interval} ${unit}s`
  return [every, dayWords(rule), timeOfDayWords(rule, startWall), positionWords(rule), endWords(rule)].join('')
}

function dayWords({ frequency, by, byDay }: RecurrenceRule): string {
  const months = spanWords(by.BYMONTH, monthWords)
  const everyMonth = frequency === 'YEARLY' ? ' of every month' : ''
  const plain = byDay.filter(({ nth }) => nth === undefined).map(({ weekday }) => weekday)
  const placed = byDay.flatMap(({ weekday, nth }) =>
    nth === undefined ? [] : [`the ${placeWords(nth)} ${weekdayWords(weekday)}`],
  )
  const dates = by.BYMONTHDAY.map((day) => (day > 0 ? `the ${ordinal(day)}` : `the ${placeWords(day)} day`))
  const yearDays = by.BYYEARDAY.map((day) => (day > 0 ? `day ${day}` : `the ${placeWords(day)} day`))
  // Monday first, so that a weekend is one run of days and not both ends of the list.
  const fromMonday = plain.map((day) => (day + 6) % 7).sort((a, b) => a - b)
  const weekdays = [
    ...(plain.length > 0 ? [spanWords(fromMonday, (day) => weekdayWords((day + 1) % 7))] : []),
    ...placed,
  ]
  const ofMonth = months === '' ? everyMonth : ` of ${months}`
  const ofYear = months === '' && frequency === 'YEARLY' ? ' of the year' : months === '' ? '' : ` of ${months}`
  const parts = [
    ...(yearDays.length > 0 ? [`${listWords(yearDays)} of the year`] : []),
    ...(dates.length > 0 ? [`${listWords(dates)}${ofMonth}`] : []),
    ...(weekdays.length > 0 ? [`${listWords(weekdays)}${placed.length > 0 ? ofYear : ''}`] : []),
  ]
  const isMonthTold = dates.length > 0 || placed.length > 0
  const weeks = by.BYWEEKNO.map((week) => (week > 0 ? `week ${week}` : `the ${placeWords(week)} week`))
  return [
    parts.length > 0 ? ` on ${parts.join(', only when that is ')}` : '',
    weeks.length > 0 ? ` in ${listWords(weeks)} of the year` : '',
    months !== '' && !isMonthTold ? ` in ${months}` : '',
  ].join('')
}

/** `2nd`, `last`, `2nd last`. */
function placeWords(place: number): string {
  if (place > 0) return ordinal(place)
  return place === -1 ? 'last' : `${ordinal(-place)} last`
}

function timeOfDayWords(rule: RecurrenceRule, startWall: number | undefined): string {
  const { BYHOUR, BYMINUTE, BYSECOND } = rule.by
  const patterns = [
    ...countedWords(BYSECOND, 'second', ' at'),
    ...countedWords(BYMINUTE, 'minute', BYSECOND.length > 0 ? ' in' : ' at'),
    ...countedWords(BYHOUR, 'hour', ' in'),
  ].join('')
  const isKnown = startWall !== undefined || (BYHOUR.length > 0 && BYMINUTE.length > 0)
  if (isSubDaily(rule) || !isKnown) return patterns
  const times = combinations(timesOf(rule, startWall ?? 0))
  return times.length > listedMax ? patterns : ` at ${listWords(times.map((second) => timeWords(second * 1000)))}`
}

function countedWords(values: readonly number[], unit: string, before: string): string[] {
  return values.length === 0 ? [] : [`${before} ${unit}${values.length === 1 ? '' : 's'} ${spanWords(values, String)}`]
}

function positionWords({ by, frequency }: RecurrenceRule): string {
  if (by.BYSETPOS.length === 0) return ''
  return `, of these only the ${listWords(by.BYSETPOS.map(placeWords))} of each ${units[frequency]}`
}

function endWords({ count, until }: RecurrenceRule): string {
  if (count !== undefined) return count === 1 ? ', once' : `, ${count} times`
  return until === undefined ? '' : `, until ${untilWords(until)}`
}

function untilWords(until: Until): string {
  if (until.kind === 'date') return dateWords(until.day * dayMs)
  const wall = until.kind === 'wall' ? until.wall : until.instantMs
  return `${dateWords(wall)} ${timeWords(wall)}${until.kind === 'instant' ? ' UTC' : ''}`
}
