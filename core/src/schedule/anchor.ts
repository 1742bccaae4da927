import { plainSchedule } from './eventbridge.ts'
import type { Extras, FullSchedule } from './extras.ts'
import { parseSet } from './rrule-set.ts'
import type { RecurrenceRule } from './rrule-text.ts'
import type { RruleSchedule } from './schedule-shape.ts'
import { nativeZones } from './zone.ts'

/**
 * A schedule as it is kept: what has no start of its own counts from its `startAt`, or from `at`, the instant its job
 * was created. An `every` without anchor has its first run one interval later, an `rrule` without DTSTART starts with
 * the next whole minute (hour, when its rules name hours but no minutes), and an EventBridge `rate` becomes an `every`.
 * Others are unchanged.
 */
export function anchorSchedule(schedule: FullSchedule, at: Temporal.Instant): FullSchedule {
  switch (schedule.type) {
    case 'every':
      return schedule.anchor === undefined ? { ...schedule, anchor: schedule.startAt ?? toText(at) } : schedule
    case 'rrule':
      return anchorRrule(schedule, at)
    case 'cron': {
      const plain = plainSchedule(schedule)
      return plain.type === 'every' ? anchorSchedule(plain, at) : schedule
    }
    default:
      return schedule
  }
}

const toText = (at: Temporal.Instant): string => at.toString({ fractionalSecondDigits: 3 })

function anchorRrule(schedule: RruleSchedule & Extras, at: Temporal.Instant): RruleSchedule & Extras {
  const { set } = parseSet(schedule)
  if (set.dtstart !== undefined || set.rules.length === 0) return schedule
  if (schedule.startAt !== undefined) return { ...schedule, dtstart: schedule.startAt }
  const unitMs = Math.min(...set.rules.map(startUnitMs))
  const offset = nativeZones.find(schedule.timezone)?.spanAt(at.epochMilliseconds).offset ?? 0
  const wall = (Math.floor((at.epochMilliseconds + offset) / unitMs) + 1) * unitMs
  return { ...schedule, dtstart: toText(Temporal.Instant.fromEpochMilliseconds(wall - offset)) }
}

/** The coarsest start that takes no time from a rule and leaves what it does not say at zero. */
function startUnitMs({ frequency, by }: RecurrenceRule): number {
  if (frequency === 'SECONDLY' || by.BYSECOND.length > 0) return 1_000
  if (frequency === 'MINUTELY' || by.BYMINUTE.length > 0 || by.BYHOUR.length === 0) return 60_000
  return 3_600_000
}
