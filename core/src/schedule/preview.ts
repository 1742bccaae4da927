import { describeSchedule } from './describe.ts'
import { compileSchedule, nextOccurrences } from './occurrences.ts'
import { anchorSchedule, type Schedule } from './schedule.ts'
import { scheduleWarnings } from './warnings.ts'

/** The answer of `POST /v1/schedules/preview`. */
export interface SchedulePreview {
  occurrences: { nominalAt: string; effectiveAt: string; local: string; offset: string; notes: string[] }[]
  description: string
  warnings: string[]
}

/** The next `count` occurrences after an instant, as a job created at that instant would have them. */
export function previewSchedule(schedule: Schedule, after: Temporal.Instant, count: number): SchedulePreview {
  const anchored = anchorSchedule(schedule, after)
  const compiled = compileSchedule(anchored)
  return {
    occurrences: nextOccurrences(compiled, after, count).map((occurrence) => ({
      nominalAt: toWire(occurrence.nominalAt),
      effectiveAt: toWire(occurrence.effectiveAt),
      local: occurrence.local,
      offset: occurrence.offset,
      notes: [...occurrence.notes],
    })),
    description: describeSchedule(schedule),
    warnings: scheduleWarnings(compiled, after, anchored !== schedule),
  }
}

function toWire(instant: Temporal.Instant): string {
  return instant.toString({ fractionalSecondDigits: 3 })
}
