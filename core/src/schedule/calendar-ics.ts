import type { Calendar } from './calendar.ts'
import { dayMs } from './civil.ts'
import { parseEvery } from './every.ts'
import { type ContentLine, contentLines, type IcsTime, icsTimes } from './ics.ts'
import { compileRecurrence, toWall } from './recurrence.ts'
import { parseSet } from './rrule-set.ts'
import { dateWords } from './words.ts'
import { formatWall, nativeZones, realTimeRule, wallToInstants, type Zone } from './zone.ts'

export interface IcsImport {
  readonly calendar: Calendar
  /** What was left out, and why, in the order of the file. */
  readonly problems: readonly string[]
}

export interface IcsOptions {
  /** Whose wall clock the calendar is on. */
  readonly timezone: string
  /** Repeated events are written out from here ... */
  readonly fromMs: number
  /** ... to here. */
  readonly untilMs: number
}

const textMax = 2_000_000
export const importedMax = 5_000

/** Reads the events of an iCalendar file as a calendar: whole days as dates, others as ranges of wall-clock time. */
export function calendarFromIcs(text: string, options: IcsOptions): IcsImport {
  const zone = nativeZones.find(options.timezone)
  if (!zone) throw new RangeError(`${options.timezone} is not a time zone`)
  if (text.length > textMax) return { calendar: {}, problems: [`At most ${textMax} characters`] }
  const dates = new Set<string>()
  const ranges = new Map<string, { from: string; until: string }>()
  const problems: string[] = []
  for (const lines of eventsOf(text)) {
    const name = lines.find((line) => line.name === 'SUMMARY')?.value ?? 'an event'
    const read = readEvent(lines, zone, options)
    if (typeof read === 'string') problems.push(`${name.slice(0, 60)}: ${read}`)
    else
      for (const { from, until } of read) {
        if (from % dayMs === 0 && until - from === dayMs) dates.add(dateWords(from))
        else ranges.set(`${from} ${until}`, { from: minuteWords(from), until: minuteWords(until) })
      }
  }
  if (dates.size + ranges.size > importedMax)
    return { calendar: {}, problems: [...problems, `It has more than ${importedMax} days and ranges`] }
  return { calendar: { dates: [...dates].sort(), ranges: [...ranges.values()] }, problems }
}

const minuteWords = (wall: number): string => formatWall(wall).slice(0, 16)

function eventsOf(text: string): ContentLine[][] {
  const events: ContentLine[][] = []
  let open: ContentLine[] | undefined
  for (const line of contentLines(text)) {
    if (line.name === 'BEGIN' && line.value.toUpperCase() === 'VEVENT') open = []
    else if (line.name === 'END' && line.value.toUpperCase() === 'VEVENT' && open) {
      events.push(open)
      open = undefined
    } else open?.push(line)
  }
  return events
}

interface WallRange {
  readonly from: number
  readonly until: number
}

function readEvent(lines: readonly ContentLine[], target: Zone, { fromMs, untilMs }: IcsOptions): WallRange[] | string {
  const first = (name: string): ContentLine | undefined => lines.find((line) => line.name === name)
  if (first('STATUS')?.value.toUpperCase() === 'CANCELLED') return []
  const startLine = first('DTSTART')
  const [start] = startLine ? icsTimes(startLine) : []
  if (!start) return 'it has no DTSTART'
  const zoneName = start.time.kind === 'instant' ? 'UTC' : (start.timezone ?? target.id)
  const zone = nativeZones.find(zoneName)
  if (!zone) return `the time zone ${zoneName} is not known`
  const lengthMs = lengthOf(start, zone, first('DTEND'), first('DURATION')?.value)
  if (!(lengthMs > 0)) return 'it has no length'
  const starts = startsOf(lines, start, zone, { fromMs: fromMs - lengthMs, untilMs })
  if (typeof starts === 'string') return starts
  return starts.map(({ at, wall }) => {
    const from = start.time.kind === 'date' ? wall : at + target.spanAt(at).offset
    const until = start.time.kind === 'date' ? from + lengthMs : at + lengthMs + target.spanAt(at + lengthMs).offset
    return { from, until }
  })
}

function lengthOf(start: IcsTime, zone: Zone, endLine: ContentLine | undefined, duration: string | undefined): number {
  const [end] = endLine ? icsTimes(endLine) : []
  if (end) return instantOf(end, zone) - instantOf(start, zone)
  const parsed = duration === undefined ? undefined : parseEvery(duration.toUpperCase())
  if (parsed?.ok) return parsed.step.kind === 'exact' ? parsed.step.everyMs : parsed.step.days * dayMs
  return start.time.kind === 'date' ? dayMs : 0
}

/** An instant to measure with; dates are measured on their own calendar. */
function instantOf({ time, timezone }: IcsTime, fallback: Zone): number {
  if (time.kind === 'date') return time.day * dayMs
  const zone = (timezone === undefined ? undefined : nativeZones.find(timezone)) ?? fallback
  if (time.kind === 'instant') return time.instantMs
  return wallToInstants(zone, time.wall, { gap: 'next', fold: 'first' })[0] ?? time.wall
}

interface Start {
  readonly at: number
  readonly wall: number
}

function startsOf(
  lines: readonly ContentLine[],
  start: IcsTime,
  zone: Zone,
  { fromMs, untilMs }: { fromMs: number; untilMs: number },
): Start[] | string {
  const own = { at: instantOf(start, zone), wall: toWall(start.time, zone) }
  const isRepeated = lines.some(({ name }) => name === 'RRULE' || name === 'RDATE')
  if (!isRepeated) return [own]
  const text = lines
    .filter(({ name }) => ['DTSTART', 'RRULE', 'RDATE', 'EXDATE', 'EXRULE'].includes(name))
    .map(
      ({ name, params, value }) => `${name}${[...params].map(([key, given]) => `;${key}=${given}`).join('')}:${value}`,
    )
  const { set, problems } = parseSet({ rrule: text.join('\n'), timezone: start.timezone ?? zone.id })
  if (problems.length > 0) return problems.map(({ detail }) => detail).join('; ')
  const { next } = compileRecurrence(set, zone, realTimeRule)
  const starts: Start[] = set.rules.length === 0 ? [own] : []
  for (let hit = next(fromMs - 1); hit !== undefined && hit.at <= untilMs; hit = next(hit.at))
    if (starts.push(hit) > importedMax) return `it repeats more than ${importedMax} times`
  return starts
}
