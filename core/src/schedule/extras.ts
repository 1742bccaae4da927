import { z } from 'zod'
import { dayMs } from './civil.ts'
import { parseEvery } from './every.ts'
import type { Schedule } from './schedule-shape.ts'

/** Where an occurrence goes that falls outside the calendars. */
export const rolls = ['skip', 'next', 'previous', 'modified-following'] as const
export type Roll = (typeof rolls)[number]

const spreadMaxMs = dayMs
const durationText = z.string().superRefine((text, context) => {
  const parsed = parseEvery(text)
  if (!parsed.ok) context.addIssue({ code: 'custom', message: parsed.detail })
  else if (parsed.step.kind !== 'exact' || parsed.step.everyMs > spreadMaxMs)
    context.addIssue({ code: 'custom', message: 'A duration of exact time, at most 24 hours (PT24H)' })
})

const calendarNames = z.array(z.string().min(1).max(100)).min(1).max(10)

/** How far apart jobs start that would start together: a schedule's `window`. */
export const windowValue = durationText.describe(
  'All occurrences start later by the same part of this, its own for each job',
)

export const spreadShape = {
  jitter: durationText.optional().describe('Each occurrence starts up to so much later, never after the next one'),
  window: windowValue.optional(),
  onlyOn: calendarNames.optional().describe('Names of calendars, all of which have to hold the moment'),
  notOn: calendarNames.optional().describe('Names of calendars, none of which may hold the moment'),
  roll: z.enum(rolls).optional().describe('What becomes of an occurrence outside the calendars (default: skip)'),
}
export const limitShape = { maxRuns: z.int().min(1).max(1_000_000).optional().describe('It ends after so many runs') }

export type Spread = { [Key in keyof typeof spreadShape]?: z.infer<(typeof spreadShape)[Key]> }

/** What every schedule can have beside its times. */
export type Extras = Spread & { maxRuns?: number | undefined }
export type FullSchedule = Schedule & Extras

/** The length of a `jitter` or `window` in milliseconds. */
export function spreadMs(text: string | undefined): number {
  const parsed = text === undefined ? undefined : parseEvery(text)
  return parsed?.ok && parsed.step.kind === 'exact' ? parsed.step.everyMs : 0
}
