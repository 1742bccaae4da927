import { parseTime } from './at.ts'
import { parseCron } from './cron.ts'
import { describeCron } from './describe-cron.ts'
import { parseEvery } from './every.ts'
import type { Schedule } from './schedule.ts'
import { dateWords, stepWords, timeWords } from './words.ts'
import { nativeZones } from './zone.ts'

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
      return `Every ${parsed.ok ? stepWords(parsed.step) : schedule.every}, counted from ${start}`
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
