import { z } from 'zod'
import { type FullSchedule, limitShape, type Spread, spreadShape } from './extras.ts'
import { type ScheduleProblem, toProblems } from './schedule.ts'
import { checkCron, checkCronText, checkEvery, checkRrule, hasCronText, needsZone } from './schedule-check.ts'
import { atFields, cronFields, everyFields, rruleFields } from './schedule-shape.ts'

export type { FullSchedule } from './extras.ts'

function checkSpread({ jitter, window, onlyOn, notOn, roll }: Spread, context: z.core.$RefinementCtx): void {
  if (jitter !== undefined && window !== undefined)
    context.addIssue({ code: 'custom', path: ['window'], message: 'Either `jitter` or `window`, not both' })
  if (roll !== undefined && onlyOn === undefined && notOn === undefined)
    context.addIssue({ code: 'custom', path: ['roll'], message: 'Only together with `onlyOn` or `notOn`' })
}

/** `scheduleSchema` with everything that a schedule can say: for what honours `decide`, `leadMs` and `maxRuns`. */
export const fullScheduleSchema = z.discriminatedUnion('type', [
  cronFields
    .extend({ ...spreadShape, ...limitShape })
    .superRefine(checkCronText(true), hasCronText)
    .superRefine(checkCron)
    .superRefine(checkSpread),
  everyFields
    .extend({ ...spreadShape, ...limitShape })
    .superRefine(needsZone('anchor', 'startAt', 'endAt'))
    .superRefine(checkEvery)
    .superRefine(checkSpread),
  rruleFields
    .extend({ ...spreadShape, ...limitShape })
    .superRefine(checkRrule)
    .superRefine(checkSpread),
  atFields.extend(spreadShape).superRefine(needsZone('at')).superRefine(checkSpread),
])

export type ParsedFullSchedule =
  | { readonly ok: true; readonly schedule: FullSchedule }
  | { readonly ok: false; readonly problems: readonly ScheduleProblem[] }

/** Parses a schedule with all its features; collects everything that is wrong with it. */
export function parseFullSchedule(input: unknown): ParsedFullSchedule {
  const parsed = fullScheduleSchema.safeParse(input)
  if (parsed.success) return { ok: true, schedule: parsed.data }
  return { ok: false, problems: parsed.error.issues.flatMap(toProblems) }
}
