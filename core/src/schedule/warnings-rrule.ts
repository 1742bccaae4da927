import { dayMs, dayOfWall, daysInMonth } from './civil.ts'
import { clockChangeWarnings, exactTimeWarning } from './clock-changes.ts'
import type { CompiledSchedule } from './compile.ts'
import { compileRecurrence, isPureInterval, toWall, unitMs } from './recurrence.ts'
import { recurrenceRule } from './rrule.ts'
import { explicitRule } from './rrule-days.ts'
import { parseSet, type RecurrenceSet } from './rrule-set.ts'
import { isSubDaily, type RecurrenceRule } from './rrule-text.ts'
import type { RruleSchedule } from './schedule-shape.ts'
import { dateWords, timeWords } from './words.ts'
import { wallToInstants } from './zone.ts'

const yearMs = 366 * dayMs

/**
 * What may surprise the person who wrote an rrule schedule, looking a year ahead of `afterMs`; `isAnchored` when its
 * start is not its own.
 */
export function rruleWarnings(
  compiled: CompiledSchedule,
  schedule: RruleSchedule,
  { afterMs, isAnchored }: { afterMs: number; isAnchored: boolean },
): string[] {
  const { set } = parseSet(schedule)
  const { zone } = compiled
  const start = set.dtstart && toWall(set.dtstart, zone)
  const warnings: string[] = []
  if (start !== undefined && set.rules.length > 0) {
    for (const rule of set.rules) warnings.push(...shortMonthWarnings(explicitRule(rule, start)))
    if (!isAnchored && set.rules.every((rule) => recurrenceRule(rule, start).next(start - 1) !== start))
      warnings.push(`DTSTART, ${dateWords(start)} ${timeWords(start)}, is none of its times: it does not run then.`)
    if (isAnchored && set.rules.some((rule) => !isSubDaily(rule) && rule.by.BYHOUR.length === 0))
      warnings.push('It has no DTSTART: its time of day comes from the creation of the job.')
  }
  if (set.rules.length > 0 && set.rules.every(isSubDaily) && (schedule.gap ?? schedule.fold) !== undefined)
    warnings.push('`gap` and `fold` have no effect: a rule of hours, minutes or seconds follows real time.')
  if (set.rules.some(driftsByDays) && zone.spanAt(afterMs).until < afterMs + yearMs)
    warnings.push(exactTimeWarning(zone))
  warnings.push(...exclusionWarnings(compiled, set))
  warnings.push(...compiled.rules.flatMap((zoned) => clockChangeWarnings(zoned, afterMs, afterMs + yearMs)))
  return [...new Set(warnings)]
}

/** A plain interval of whole days in hours, minutes or seconds. */
function driftsByDays(rule: RecurrenceRule): boolean {
  return isPureInterval(rule) && (rule.interval * unitMs[rule.frequency]) % dayMs === 0
}

function shortMonthWarnings({ by }: RecurrenceRule): string[] {
  const [earliest = 0] = by.BYMONTHDAY
  if (earliest < 29) return []
  if (by.BYMONTH.join() === '2') return ['29 February exists in leap years only.']
  const months = by.BYMONTH.length > 0 ? by.BYMONTH : [2]
  return months.some((month) => daysInMonth(2001, month) < earliest)
    ? [`Months without day ${earliest} are left out; BYMONTHDAY=-1 is the last day of a month.`]
    : []
}

/** Each exclusion looked up costs about as much as an occurrence. */
const lookedUpMax = 50

function exclusionWarnings({ zone, clock }: CompiledSchedule, set: RecurrenceSet): string[] {
  const { next } = compileRecurrence({ ...set, exdates: [] }, zone, clock)
  return set.exdates.slice(0, lookedUpMax).flatMap((date) => {
    const wall = date.kind === 'date' ? date.day * dayMs : toWall(date, zone)
    const first =
      date.kind === 'instant' ? date.instantMs : wallToInstants(zone, wall, { gap: 'next', fold: 'first' })[0]
    const hit = first === undefined ? undefined : next(first - 1)
    const excludes = {
      instant: hit?.at === first,
      wall: hit?.wall === wall,
      date: hit !== undefined && dayOfWall(hit.wall) === dayOfWall(wall),
    }[date.kind]
    if (excludes) return []
    const text = date.kind === 'date' ? dateWords(wall) : `${dateWords(wall)} ${timeWords(wall)}`
    return [`EXDATE ${text} excludes nothing: it has to be the very time of an occurrence.`]
  })
}
