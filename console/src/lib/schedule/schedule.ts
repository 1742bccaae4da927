import type { FieldProblem, Schedule, SchedulePreview } from '@meridian/sdk'

export type { Schedule }

/** What the API has against what was sent: where, and what. */
export type ScheduleFault = FieldProblem

/** The next instants of a schedule, with words about it. */
export type Preview = SchedulePreview
