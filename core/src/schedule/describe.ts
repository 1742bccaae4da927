import { parseTime } from './at.ts'
import { readCron } from './cron-hash.ts'
import { describeCron } from './describe-cron.ts'
import { describeSet } from './describe-rrule.ts'
import { plainSchedule } from './eventbridge.ts'
import { parseEvery } from './every.ts'
import { type FullSchedule, spreadMs } from './extras.ts'
import { toWall } from './recurrence.ts'
import { parseSet } from './rrule-set.ts'
import type { RruleSchedule, Schedule } from './schedule-shape.ts'
import { dateWords, durationWords, listWords, stepWords, timeWords } from './words.ts'
import { nativeZones } from './zone.ts'

/** Any schedule in plain words: `At 06:25 every day, Europe/London`. The seed decides what `H` is. */
export function describeSchedule(schedule: FullSchedule, seed?: string): string {
  return describeTiming(schedule, seed) + boundWords(schedule) + extraWords(schedule)
}

const rollWords = {
  skip: 'left out otherwise',
  next: 'otherwise at the next open time',
  previous: 'otherwise at the last open time before',
  'modified-following': 'otherwise at the next open time of the month, or the last before',
} as const

function extraWords({ onlyOn, notOn, roll = 'skip', jitter, window, maxRuns }: FullSchedule): string {
  const calendars = [
    ...(onlyOn ? [`only on ${listWords(onlyOn)}`] : []),
    ...(notOn ? [`not on ${listWords(notOn, 'or')}`] : []),
  ]
  return [
    calendars.length > 0 ? `, ${calendars.join(' and ')} (${rollWords[roll]})` : '',
    jitter === undefined ? '' : `, each up to ${durationWords(spreadMs(jitter))} later`,
    window === undefined ? '' : `, within ${durationWords(spreadMs(window))}`,
    maxRuns === undefined ? '' : `, at most ${maxRuns} ${maxRuns === 1 ? 'time' : 'times'}`,
  ].join('')
}

function describeTiming(schedule: Schedule, seed: string | undefined): string {
  switch (schedule.type) {
    case 'cron': {
      const plain = plainSchedule(schedule)
      if (plain.type !== 'cron') return describeTiming(plain, seed)
      const parsed = readCron(plain, seed)
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
