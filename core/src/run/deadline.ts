import { durationMs, durationValue } from '../kernel/duration.ts'

const withinValue = durationValue('PT1S', 'PT8784H').nullable()

/** The wire values of a run's deadlines: durations after it is due. */
export const deadlineFields = {
  startWithin: withinValue.meta({
    description: 'A run that has not begun so long after it was due expires. null: it waits for as long as it takes.',
  }),
  endWithin: withinValue.meta({
    description: 'A run that has not ended so long after it was due expires, with all its tries. null: no such limit.',
  }),
}

/** Deadlines as they are written down; what is not there does not hold. */
export interface Deadlines {
  startWithinMs?: number
  endWithinMs?: number
}

/** The deadlines of something that may have some, and nothing else of it. */
export function deadlinesOf({ startWithinMs, endWithinMs }: Deadlines): Deadlines {
  const deadlines: Deadlines = {}
  if (startWithinMs !== undefined) deadlines.startWithinMs = startWithinMs
  if (endWithinMs !== undefined) deadlines.endWithinMs = endWithinMs
  return deadlines
}

/** The parsed form of the wire values. */
export function toDeadlines(values: {
  startWithin?: string | null | undefined
  endWithin?: string | null | undefined
}): Deadlines {
  const startWithinMs = durationMs(values.startWithin ?? '')
  const endWithinMs = durationMs(values.endWithin ?? '')
  return {
    ...(startWithinMs === null ? {} : { startWithinMs }),
    ...(endWithinMs === null ? {} : { endWithinMs }),
  }
}
