import { parseTime } from './at.ts'
import { clockChangeWarnings } from './clock-changes.ts'
import { type CronExpression, parseCron, valuesOf } from './cron.ts'
import { type FieldName, fieldRules, isFree } from './cron-field.ts'
import { describeCron } from './describe-cron.ts'
import { parseEvery } from './every.ts'
import type { CompiledSchedule } from './occurrences.ts'
import type { CronSchedule, Schedule } from './schedule.ts'
import { dateWords, durationWords, spanWords, timeWords } from './words.ts'
import { nativeZones } from './zone.ts'

const dayMs = 86_400_000
const yearMs = 366 * dayMs

/** Any schedule in plain words: `At 06:25 every day, Europe/London`. */
export function describeSchedule(schedule: Schedule): string {
  switch (schedule.type) {
    case 'cron': {
      const parsed = parseCron(schedule.cron)
      return `${parsed.ok ? describeCron(parsed.cron) : schedule.cron}, ${zoneWords(schedule.timezone)}`
    }
    case 'every': {
      const parsed = parseEvery(schedule.every)
      const start =
        schedule.anchor === undefined ? 'the creation of the job' : momentWords(schedule.anchor, schedule.timezone)
      return `Every ${parsed.ok ? durationWords(parsed.everyMs) : schedule.every}, counted from ${start}`
    }
    case 'at':
      return `Once, at ${momentWords(schedule.at, schedule.timezone)}`
  }
}

function zoneWords(id: string | undefined): string {
  return (id !== undefined && nativeZones.find(id)?.id) || id || 'UTC'
}

function momentWords(text: string, timezone: string | undefined): string {
  const time = parseTime(text)
  if (time === undefined) return text
  const zone = nativeZones.find(timezone ?? 'UTC')
  const wall = time.kind === 'wall' ? time.wall : time.instantMs + (zone?.spanAt(time.instantMs).offset ?? 0)
  return `${dateWords(wall)} ${timeWords(wall)}, ${zoneWords(timezone)}`
}

/** What may surprise the person who wrote the schedule, looking a year ahead of `after`. */
export function scheduleWarnings(compiled: CompiledSchedule, after: Temporal.Instant): string[] {
  const afterMs = after.epochMilliseconds
  const { schedule, zone } = compiled
  if (compiled.next(afterMs) === undefined)
    return [`It has no occurrence after ${after.toString({ smallestUnit: 'second' })}, so it would never run.`]
  if (schedule.type === 'cron') return cronWarnings(compiled, schedule, afterMs)
  const parsed = schedule.type === 'every' ? parseEvery(schedule.every) : undefined
  const clockChanges = zone.spanAt(afterMs).until < afterMs + yearMs
  if (!parsed?.ok || parsed.everyMs % dayMs !== 0 || !clockChanges) return []
  return [`The interval is exact time: after a clock change in ${zone.id} it runs at another time of day.`]
}

function cronWarnings({ zoned }: CompiledSchedule, schedule: CronSchedule, afterMs: number): string[] {
  const parsed = parseCron(schedule.cron)
  if (!parsed.ok || !zoned) return []
  const { cron } = parsed
  const warnings = [...dayWarnings(cron), ...stepWarnings(cron)]
  if (cron.followsRealTime && (schedule.gap ?? schedule.fold) !== undefined)
    warnings.push('`gap` and `fold` have no effect: the minute or hour field starts with `*`, so it follows real time.')
  // What runs in every hour follows the clock through its changes without anybody noticing.
  const runsEveryHour = cron.followsRealTime && isFree(cron.fields.hour)
  return runsEveryHour ? warnings : [...warnings, ...clockChangeWarnings(zoned, afterMs, afterMs + yearMs)]
}

function dayWarnings(cron: CronExpression): string[] {
  const { dayOfMonth, dayOfWeek } = cron.fields
  if (!isFree(dayOfMonth) && !isFree(dayOfWeek)) {
    if (cron.days === 'either')
      return ['Both day fields are set: it runs on every day that matches either of them, not only when both match.']
    return ['Both day fields are set and one starts with `*`: it runs only on days that match both of them.']
  }
  const [earliest = 0] = valuesOf(cron, 'dayOfMonth')
  if (earliest < 29 || dayOfMonth.items.some((item) => item.kind !== 'range')) return []
  const chosen = valuesOf(cron, 'month')
  if (chosen.join() === '2') return ['29 February exists in leap years only.']
  return chosen.some((value) => (monthDays[value - 1] ?? 31) < earliest)
    ? [`Months without day ${earliest} are left out; write \`L\` for the last day of a month.`]
    : []
}

const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

const cycles: Readonly<Record<FieldName, { unit: string; cycle: string }>> = {
  second: { unit: 'seconds', cycle: 'minute' },
  minute: { unit: 'minutes', cycle: 'hour' },
  hour: { unit: 'hours', cycle: 'day' },
  dayOfMonth: { unit: 'days', cycle: 'month' },
  month: { unit: 'months', cycle: 'year' },
  dayOfWeek: { unit: 'days', cycle: 'week' },
}

function stepWarnings(cron: CronExpression): string[] {
  const names: readonly FieldName[] = ['second', 'minute', 'hour', 'dayOfMonth', 'month', 'dayOfWeek']
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
