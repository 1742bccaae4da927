/** A schedule as it travels: the parts of the API's schedule that the console writes and reads. */
export type Schedule =
  | { type: 'cron'; cron: string; timezone: string; gap?: Gap; fold?: Fold }
  | { type: 'every'; every: string; anchor?: string; timezone?: string }
  | { type: 'at'; at: string; timezone?: string }

export type Gap = 'next' | 'skip' | 'shift'
export type Fold = 'first' | 'second' | 'both'

/** One coming instant, as `POST /v1/schedules/preview` tells it. */
export interface Occurrence {
  nominalAt: string
  effectiveAt: string
  local: string
  offset: string
  notes: string[]
}

export interface Preview {
  occurrences: Occurrence[]
  description: string
  warnings: string[]
}

/** What the API has against a schedule: where, and what. */
export interface ScheduleFault {
  pointer: string
  detail: string
}
