import { dateOf, dayMs, dayOfWall, daysInMonth } from './civil.ts'
import { clockChangeWarnings, exactTimeWarning } from './clock-changes.ts'
import type { CompiledSchedule } from './compile.ts'
import { type CronExpression, parseCron, valuesOf } from './cron.ts'
import { type FieldName, fieldRules, isFree } from './cron-field.ts'
import { hasHash } from './cron-hash.ts'
import { parseEvery } from './every.ts'
import { type FullSchedule, spreadMs } from './extras.ts'
import type { CronSchedule, EverySchedule } from './schedule-shape.ts'
import { rruleWarnings } from './warnings-rrule.ts'
import { spanWords } from './words.ts'

const yearMs = 366 * dayMs

/**
 * What may surprise the person who wrote the schedule, looking a year ahead of `after`; `isAnchored` when it got its
 * start from there.
 */
export function scheduleWarnings(compiled: CompiledSchedule, after: Temporal.Instant, isAnchored = false): string[] {
  const afterMs = after.epochMilliseconds
  const { schedule } = compiled
  if (compiled.next(afterMs) === undefined)
    return [`It has no occurrence after ${after.toString({ smallestUnit: 'second' })}, so it would never run.`]
  return [...timingWarnings(compiled, schedule, { afterMs, isAnchored }), ...extraWarnings(compiled, afterMs)]
}

function timingWarnings(
  compiled: CompiledSchedule,
  schedule: FullSchedule,
  { afterMs, isAnchored }: { afterMs: number; isAnchored: boolean },
): string[] {
  switch (schedule.type) {
    case 'cron':
      return cronWarnings(compiled, schedule, afterMs)
    case 'every':
      return everyWarnings(compiled, schedule, afterMs)
    case 'rrule':
      return rruleWarnings(compiled, schedule, { afterMs, isAnchored })
    case 'at':
      return []
  }
}

/** Occurrences looked at to see what calendars and jitter do to them. */
const lookedAtMax = 50

function extraWarnings({ schedule, next, decide }: CompiledSchedule, afterMs: number): string[] {
  const { jitter, window } = schedule
  const isNamed = schedule.onlyOn !== undefined || schedule.notOn !== undefined
  if (!isNamed && jitter === undefined && window === undefined) return []
  let [looked, skipped, gapMs] = [0, 0, Infinity]
  for (let hit = next(afterMs); hit !== undefined && looked < lookedAtMax; looked++) {
    if (decide(hit).skipped === 'calendar') skipped++
    const following = next(hit.at)
    gapMs = Math.min(gapMs, (following?.at ?? Infinity) - hit.at)
    hit = following
  }
  const warnings: string[] = []
  if (skipped === looked) warnings.push(`Its calendars leave out each of its next ${looked} occurrences.`)
  else if (skipped > 0) warnings.push(`Its calendars leave out ${skipped} of its next ${looked} occurrences.`)
  if (spreadMs(jitter ?? window) > gapMs)
    warnings.push(
      jitter === undefined
        ? 'The window is longer than the time between two occurrences: one may start after the next is due.'
        : 'The jitter is longer than the time between two occurrences: it is cut to that.',
    )
  return warnings
}

function everyWarnings({ rules: [zoned], zone }: CompiledSchedule, schedule: EverySchedule, afterMs: number): string[] {
  const parsed = parseEvery(schedule.every)
  if (!parsed.ok) return []
  const { step } = parsed
  if (step.kind === 'exact') {
    const clockChanges = zone.spanAt(afterMs).until < afterMs + yearMs
    if (step.everyMs % dayMs !== 0 || !clockChanges) return []
    return [exactTimeWarning(zone)]
  }
  if (!zoned) return []
  const { day, month } = dateOf(dayOfWall(zoned.rule.next(-Infinity)))
  const meetsShortMonths = step.months % 12 !== 0 || (step.months > 0 && month === 2)
  return [
    ...(day > 28 && meetsShortMonths
      ? [`It counts from day ${day}: in a month without that day it runs on the last day instead.`]
      : []),
    ...clockChangeWarnings(zoned, afterMs, afterMs + yearMs),
  ]
}

function cronWarnings({ rules: [zoned] }: CompiledSchedule, schedule: CronSchedule, afterMs: number): string[] {
  const parsed = parseCron(schedule.cron, { dialect: schedule.dialect, hasHash: true })
  if (!parsed.ok || !zoned) return []
  const { cron } = parsed
  const warnings = [...dayWarnings(cron), ...stepWarnings(cron)]
  if (cron.followsRealTime && (schedule.gap ?? schedule.fold) !== undefined)
    warnings.push('`gap` and `fold` have no effect: the minute or hour field starts with `*`, so it follows real time.')
  if (hasHash(cron)) warnings.push('`H` is a value that each job has of its own, by a hash of its id.')
  return [...warnings, ...clockChangeWarnings(zoned, afterMs, afterMs + yearMs)]
}

function dayWarnings(cron: CronExpression): string[] {
  const { dayOfMonth, dayOfWeek } = cron.fields
  if (!isFree(dayOfMonth) && !isFree(dayOfWeek)) {
    if (cron.days === 'either')
      return ['Both day fields are set: it runs on every day that matches either of them, not only when both match.']
    if (cron.dialect === 'vixie')
      return ['Both day fields are set and one starts with `*`: it runs only on days that match both of them.']
    return ['Both day fields are set and one is `*`: it runs only on days that match both of them.']
  }
  const [earliest = 0] = valuesOf(cron, 'dayOfMonth')
  if (earliest < 29 || dayOfMonth.items.some((item) => item.kind !== 'range')) return []
  const chosen = valuesOf(cron, 'month')
  if (chosen.join() === '2') return ['29 February exists in leap years only.']
  return chosen.some((value) => daysInMonth(2001, value) < earliest)
    ? [`Months without day ${earliest} are left out; write \`L\` for the last day of a month.`]
    : []
}

type CycledField = Exclude<FieldName, 'year'>

const cycles: Readonly<Record<CycledField, { unit: string; cycle: string }>> = {
  second: { unit: 'seconds', cycle: 'minute' },
  minute: { unit: 'minutes', cycle: 'hour' },
  hour: { unit: 'hours', cycle: 'day' },
  dayOfMonth: { unit: 'days', cycle: 'month' },
  month: { unit: 'months', cycle: 'year' },
  dayOfWeek: { unit: 'days', cycle: 'week' },
}

function stepWarnings(cron: CronExpression): string[] {
  const names: readonly CycledField[] = ['second', 'minute', 'hour', 'dayOfMonth', 'month', 'dayOfWeek']
  return names.flatMap((name) => {
    const { label, min, max } = fieldRules[name]
    const size = name === 'dayOfWeek' ? 7 : max - min + 1
    const { unit, cycle } = cycles[name]
    return cron.fields[name].items.flatMap((item) => {
      if (item.kind !== 'star' || item.step === 1 || (size % item.step === 0 && name !== 'dayOfMonth')) return []
      const values = spanWords(valuesOf(cron, name), String)
      return [
        `\`*/${item.step}\` in the ${label} field is not every ${item.step} ${unit}: it starts again each ${cycle} (${values}).`,
      ]
    })
  })
}
