import { parseTime } from './at.ts'
import { type ContentLine, contentLines, icsTimes } from './ics.ts'
import { parseBasicTime, parseRule, type RecurrenceRule, type Until } from './rrule-text.ts'

/** The recurring part of a calendar entry: rules and single times, less the excluded ones. */
export interface RecurrenceSet {
  /** As written; where intervals count from, and where a rule takes from what it does not say. */
  readonly dtstart?: Until
  readonly rules: readonly RecurrenceRule[]
  readonly rdates: readonly Until[]
  readonly exdates: readonly Until[]
}

/** The fields of an rrule schedule that make the set. */
export interface RecurrenceFields {
  readonly rrule: string | readonly string[]
  readonly timezone: string
  readonly dtstart?: string | undefined
  readonly rdate?: readonly string[] | undefined
  readonly exdate?: readonly string[] | undefined
}

/** One thing wrong: the path of the field in the schedule, and words. */
export interface SetProblem {
  readonly path: readonly (string | number)[]
  readonly detail: string
}

export interface ParsedSet {
  readonly set: RecurrenceSet
  readonly problems: readonly SetProblem[]
  /** Which field each rule was written in, for what is found out about it later. */
  readonly rulePaths: readonly (readonly (string | number)[])[]
}

export const rulesMax = 10
export const datesMax = 1_000
export const rruleLengthMax = 20_000

const dateDetail = 'Not an ISO 8601 date or date and time, nor one of iCalendar'

/** A time of a field: ISO 8601, the basic format of iCalendar, or a date alone. */
export function parseSetTime(text: string): Until | undefined {
  const time = text.length > 40 ? undefined : parseTime(text)
  if (time) return time
  const [, year, month, day] = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text) ?? []
  return parseBasicTime(year === undefined ? text : `${year}${month}${day}`)
}

/**
 * Reads the fields of a schedule, each rule of which may be a plain RRULE value or a block of iCalendar lines
 * (DTSTART, RRULE, RDATE, EXDATE; other properties of an event are ignored, time zone definitions too).
 */
export function parseSet(fields: RecurrenceFields): ParsedSet {
  const problems: SetProblem[] = []
  const rules: RecurrenceRule[] = []
  const rulePaths: (readonly (string | number)[])[] = []
  const dates = { DTSTART: [] as Until[], RDATE: [] as Until[], EXDATE: [] as Until[] }

  const readField = (name: keyof typeof dates, text: string, path: readonly (string | number)[]): void => {
    const time = parseSetTime(text)
    if (time) dates[name].push(time)
    else problems.push({ path, detail: dateDetail })
  }
  if (fields.dtstart !== undefined) readField('DTSTART', fields.dtstart, ['dtstart'])
  for (const [index, text] of (fields.rdate ?? []).entries()) readField('RDATE', text, ['rdate', index])
  for (const [index, text] of (fields.exdate ?? []).entries()) readField('EXDATE', text, ['exdate', index])

  const readLine = (line: ContentLine, path: readonly (string | number)[]): void => {
    const problem = (detail: string): unknown => problems.push({ path, detail: `${line.name}: ${detail}` })
    switch (line.name) {
      case 'RRULE': {
        const parsed = parseRule(line.value)
        if (!parsed.ok) for (const detail of parsed.details) problems.push({ path, detail })
        else if (rulePaths.push(path) <= rulesMax) rules.push(parsed.rule)
        return
      }
      case 'DTSTART':
      case 'RDATE':
      case 'EXDATE':
        for (const read of icsTimes(line)) {
          if (!read) problem('not a date or time such as 20260101T090000')
          else if (read.timezone !== undefined && !isSameZone(read.timezone, fields.timezone))
            problem(`its time zone ${quote(read.timezone)} is not the one in \`timezone\`, ${quote(fields.timezone)}`)
          else dates[line.name].push(read.time)
        }
        return
      case 'EXRULE':
        problem('withdrawn by RFC 5545: name the excluded times with EXDATE')
        return
      case '':
        problems.push({ path, detail: `${quote(line.value)} is not a line such as RRULE:FREQ=DAILY` })
        return
      case 'RECURRENCE-ID':
        problem('a changed occurrence of another event cannot be a schedule')
    }
  }
  const texts = typeof fields.rrule === 'string' ? [fields.rrule] : fields.rrule
  for (const [index, text] of texts.entries()) {
    const path = typeof fields.rrule === 'string' ? ['rrule'] : ['rrule', index]
    if (text.length > rruleLengthMax) problems.push({ path, detail: `At most ${rruleLengthMax} characters` })
    else for (const line of linesOf(text)) readLine(line, path)
  }

  const whole = { path: ['rrule'] }
  if (rulePaths.length > rulesMax) problems.push({ ...whole, detail: `At most ${rulesMax} rules` })
  if (dates.DTSTART.length > 1) problems.push({ path: ['dtstart'], detail: 'DTSTART is there more than once' })
  if (dates.RDATE.length > datesMax || dates.EXDATE.length > datesMax)
    problems.push({ ...whole, detail: `At most ${datesMax} single times, and as many excluded ones` })
  if (problems.length === 0 && rules.length === 0 && dates.RDATE.length === 0)
    problems.push({ ...whole, detail: 'There is neither an RRULE nor an RDATE in it' })
  const [dtstart] = dates.DTSTART
  const set = { rules, rdates: dates.RDATE, exdates: dates.EXDATE, ...(dtstart === undefined ? {} : { dtstart }) }
  return { set, problems, rulePaths }
}

const quote = (text: string): string => `"${text.length > 40 ? `${text.slice(0, 40)}…` : text}"`

const isSameZone = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

/** The lines of a rule's text; one without any property is the value of an RRULE. */
function linesOf(text: string): ContentLine[] {
  if (!/[:\n]/.test(text)) return [{ name: 'RRULE', params: new Map(), value: text }]
  let zoneDepth = 0
  return contentLines(text.replace(/^\s*FREQ=/gim, 'RRULE:FREQ=')).filter((line) => {
    const isZone = line.value.toUpperCase() === 'VTIMEZONE'
    if (line.name === 'BEGIN' && isZone) zoneDepth++
    if (line.name === 'END' && isZone) zoneDepth--
    return zoneDepth === 0
  })
}
