import { z } from 'zod'
import { checkCron, checkEvery, checkRrule, needsZone } from './schedule-check.ts'
import { atShape, boundShape, cronShape, everyShape, rruleShape } from './schedule-shape.ts'

export { anchorSchedule } from './anchor.ts'

/** One thing wrong with a schedule; `pointer` is a JSON pointer into it (`/cron`), empty for the whole. */
export interface ScheduleProblem {
  readonly pointer: string
  readonly detail: string
}

export type ParsedSchedule =
  | { readonly ok: true; readonly schedule: Schedule }
  | { readonly ok: false; readonly problems: readonly ScheduleProblem[] }

const cronSchedule = z.strictObject({ ...cronShape, ...boundShape }).superRefine(checkCron)
const everySchedule = z
  .strictObject({ ...everyShape, ...boundShape })
  .superRefine(needsZone('anchor', 'startAt', 'endAt'))
  .superRefine(checkEvery)
const rruleSchedule = z.strictObject({ ...rruleShape, ...boundShape }).superRefine(checkRrule)
const atSchedule = z.strictObject(atShape).superRefine(needsZone('at'))

/** The wire shape of a schedule. What it accepts fires, unless its only instants have passed. */
export const scheduleSchema = z.discriminatedUnion('type', [cronSchedule, everySchedule, rruleSchedule, atSchedule])
export type Schedule = z.infer<typeof scheduleSchema>
export type CronSchedule = z.infer<typeof cronSchedule>
export type EverySchedule = z.infer<typeof everySchedule>
export type RruleSchedule = z.infer<typeof rruleSchedule>
export type AtSchedule = z.infer<typeof atSchedule>

/** Parses a schedule from the outside; collects everything that is wrong with it. */
export function parseSchedule(input: unknown): ParsedSchedule {
  const parsed = scheduleSchema.safeParse(input)
  if (parsed.success) return { ok: true, schedule: parsed.data }
  return { ok: false, problems: parsed.error.issues.flatMap(toProblems) }
}

function toProblems(issue: z.core.$ZodIssue): ScheduleProblem[] {
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
