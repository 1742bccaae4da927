import type { DecideOptions } from './decide.ts'
import { describeSchedule } from './describe.ts'
import type { FullSchedule } from './extras.ts'
import { compileSchedule, nextOccurrences, type Occurrence } from './occurrences.ts'
import { anchorSchedule } from './schedule.ts'
import { scheduleWarnings } from './warnings.ts'
import { nativeZones } from './zone.ts'

/** One coming instant on the wire; `skipped` says why it does not run. */
export interface PreviewedOccurrence {
  nominalAt: string
  effectiveAt: string
  skipped?: 'calendar' | 'blackout'
  local: string
  offset: string
  notes: string[]
}

/** The answer of `POST /v1/schedules/preview`. */
export interface SchedulePreview {
  occurrences: PreviewedOccurrence[]
  description: string
  warnings: string[]
}

/**
 * The next `count` occurrences after an instant, as a job created at that instant would have them. Throws `RangeError`
 * for a calendar that is not given.
 */
export function previewSchedule(
  schedule: FullSchedule,
  after: Temporal.Instant,
  count: number,
  options: DecideOptions = {},
): SchedulePreview {
  const anchored = anchorSchedule(schedule, after)
  const compiled = compileSchedule(anchored, nativeZones, options)
  return {
    occurrences: nextOccurrences(compiled, after, count).map(toWire),
    description: describeSchedule(schedule, options.seed),
    warnings: scheduleWarnings(compiled, after, anchored !== schedule),
  }
}

/** An occurrence as it travels. */
export function toWire({ nominalAt, effectiveAt, notes, ...rest }: Occurrence): PreviewedOccurrence {
  return { nominalAt: toText(nominalAt), effectiveAt: toText(effectiveAt), ...rest, notes: [...notes] }
}

const toText = (instant: Temporal.Instant): string => instant.toString({ fractionalSecondDigits: 3 })
