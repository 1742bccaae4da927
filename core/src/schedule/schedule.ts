import { z } from 'zod'
import { checkCron, checkCronText, checkEvery, checkRrule, hasCronText, needsZone } from './schedule-check.ts'
import { atFields, cronFields, everyFields, rruleFields, type Schedule } from './schedule-shape.ts'

export { anchorSchedule } from './anchor.ts'
export type { Schedule } from './schedule-shape.ts'

/** One thing wrong with a schedule; `pointer` is a JSON pointer into it (`/cron`), empty for the whole. */
export interface ScheduleProblem {
  readonly pointer: string
  readonly detail: string
}

export type ParsedSchedule =
  | { readonly ok: true; readonly schedule: Schedule }
  | { readonly ok: false; readonly problems: readonly ScheduleProblem[] }

/** The wire shape of a schedule. What it accepts fires, unless its only instants have passed. */
export const scheduleSchema = z.discriminatedUnion('type', [
  cronFields.superRefine(checkCronText(false), hasCronText).superRefine(checkCron),
  everyFields.superRefine(needsZone('anchor', 'startAt', 'endAt')).superRefine(checkEvery),
  rruleFields.superRefine(checkRrule),
  atFields.superRefine(needsZone('at')),
])

/** Parses a schedule from the outside; collects everything that is wrong with it. */
export function parseSchedule(input: unknown): ParsedSchedule {
  const parsed = scheduleSchema.safeParse(input)
  if (parsed.success) return { ok: true, schedule: parsed.data }
  return { ok: false, problems: parsed.error.issues.flatMap(toProblems) }
}

/** What a schema found, in the words of the API. */
export function toProblems(issue: z.core.$ZodIssue): ScheduleProblem[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      pointer: toPointer([...issue.path, key]),
      detail: 'Not a field of this type of schedule',
    }))
  return [{ pointer: toPointer(issue.path), detail: issue.message }]
}

function toPointer(path: readonly PropertyKey[]): string {
  return path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}
