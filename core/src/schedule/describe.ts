import { parseTime } from './at.ts'
import { parseCron } from './cron.ts'
import { describeCron } from './describe-cron.ts'
import { describeSet } from './describe-rrule.ts'
import { parseEvery } from './every.ts'
import { toWall } from './recurrence.ts'
import { parseSet } from './rrule-set.ts'
import type { RruleSchedule, Schedule } from './schedule.ts'
import { dateWords, stepWords, timeWords } from './words.ts'
import { nativeZones } from './zone.ts'

/** Any schedule in plain words: `At 06:25 every day, Europe/London`. */
export function describeSchedule(schedule: Schedule): string {
  return describeTiming(schedule) + boundWords(schedule)
}

function describeTiming(schedule: Schedule): string {
  switch (schedule.type) {
    case 'cron': {
      const parsed = parseCron(schedule.cron)
      return `${parsed.ok ? describeCron(parsed.cron) : schedule.cron}, ${zoneWords(schedule.timezone)}`
    }
    case 'every': {
      const parsed = parseEvery(schedule.every)
      const anchor = schedule.anchor ?? schedule.startAt
      const start = anchor === undefined ? 'the creation of the job' : momentWords(anchor, schedule.timezone)
      return `Every ${parsed.ok ? stepWords(parsed.step) : schedule.every}, counted from ${start}`
    }
    case 'rrule':
      return describeRrule(schedule)
    case 'at':
      return `Once, at ${momentWords(schedule.at, schedule.timezone)}`
  }
}

function describeRrule(schedule: RruleSchedule): string {
  const { set, problems } = parseSet(schedule)
  const zone = nativeZones.find(schedule.timezone)
  if (problems.length > 0 || !zone) return `${String(schedule.rrule)}, ${zoneWords(schedule.timezone)}`
  const dtstart = set.dtstart ?? (schedule.startAt === undefined ? undefined : parseTime(schedule.startAt))
  const start = dtstart && toWall(dtstart, zone)
  const words = describeSet(set, start)
  const from = start === undefined ? 'the creation of the job' : `${dateWords(start)} ${timeWords(start)}`
  return `${words}${set.rules.length > 0 ? `, counted from ${from}` : ''}, ${zoneWords(schedule.timezone)}`
}

function boundWords(schedule: Schedule): string {
  if (schedule.type === 'at') return ''
  const { startAt, endAt, timezone } = schedule
  const from = startAt === undefined ? '' : `, not before ${momentWords(startAt, timezone)}`
  return endAt === undefined ? from : `${from}, until ${momentWords(endAt, timezone)}`
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
