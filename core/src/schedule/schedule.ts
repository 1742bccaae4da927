import { z } from 'zod'
import { parseTime } from './at.ts'
import { type CronExpression, cronLengthMax, cronRule, parseCron } from './cron.ts'
import { parseEvery } from './every.ts'
import { nextHit } from './wall-rule.ts'
import { type ClockRule, defaultClockRule, foldRules, gapRules, nativeZones, realTimeRule } from './zone.ts'

/** One thing wrong with a schedule; `pointer` is a JSON pointer into it (`/cron`), empty for the whole. */
export interface ScheduleProblem {
  readonly pointer: string
  readonly detail: string
}

export type ParsedSchedule =
  | { readonly ok: true; readonly schedule: Schedule }
  | { readonly ok: false; readonly problems: readonly ScheduleProblem[] }

const zoneDetail = `Not a time zone of the IANA database (${nativeZones.version}): use a name such as Europe/London`
const timeDetail = 'Not an ISO 8601 date and time such as 2026-07-01T09:00:00Z'

const timezone = z
  .string()
  .refine((id) => nativeZones.find(id) !== undefined, zoneDetail)
  .describe('IANA time zone name')

const isoTime = z.string().refine((text) => parseTime(text) !== undefined, timeDetail)

const cronText = z
  .string()
  .max(cronLengthMax, { abort: true, error: `A cron expression has at most ${cronLengthMax} characters` })
  .superRefine((text, context) => {
    const parsed = parseCron(text)
    if (!parsed.ok) for (const message of parsed.details) context.addIssue({ code: 'custom', message })
  })

const everyText = z.string().superRefine((text, context) => {
  const parsed = parseEvery(text)
  if (!parsed.ok) context.addIssue({ code: 'custom', message: parsed.detail })
})

const gap = z
  .enum(gapRules)
  .optional()
  .describe('A time that a clock change leaves out: next valid instant (default), skip, or shift by the change')
const fold = z
  .enum(foldRules)
  .optional()
  .describe('A time that a clock change repeats: the first (default), the second, or both')

const cronFields = z.strictObject({
  type: z.literal('cron'),
  cron: cronText.describe('Five fields, or six with seconds in front, or a nickname such as @daily'),
  timezone,
  dialect: z.enum(['vixie']).optional().describe('How the expression is read (default: vixie)'),
  gap,
  fold,
})

const cronSchedule = cronFields.superRefine((schedule, context) => {
  if (!firesEver(schedule))
    context.addIssue({
      code: 'custom',
      path: ['cron'],
      message: `Clock changes in ${schedule.timezone} leave out every time it asks for, so it would never run`,
    })
})

const everySchedule = z
  .strictObject({
    type: z.literal('every'),
    every: everyText.describe(
      'ISO 8601 duration: of exact time, such as PT15M, or of calendar units that keep the wall clock, such as P1D',
    ),
    anchor: isoTime.optional().describe('Counted from here (default: when the job was created)'),
    timezone: timezone.optional(),
    gap,
    fold,
  })
  .superRefine(needsZone('anchor'))
  .superRefine((schedule, context) => {
    const parsed = parseEvery(schedule.every)
    if (!parsed.ok || parsed.step.kind === 'calendar') return
    for (const key of ['gap', 'fold'] as const)
      if (schedule[key] !== undefined)
        context.addIssue({
          code: 'custom',
          path: [key],
          message: 'Exact time knows no clock changes: only calendar units such as P1D can have this',
        })
  })

const atSchedule = z
  .strictObject({
    type: z.literal('at'),
    at: isoTime.describe('ISO 8601 instant, or a wall-clock time together with a time zone'),
    timezone: timezone.optional(),
  })
  .superRefine(needsZone('at'))

/** The wire shape of a schedule. What it accepts fires, unless its only instants have passed. */
export const scheduleSchema = z.discriminatedUnion('type', [cronSchedule, everySchedule, atSchedule])
export type Schedule = z.infer<typeof scheduleSchema>
export type CronSchedule = z.infer<typeof cronSchedule>
export type EverySchedule = z.infer<typeof everySchedule>
export type AtSchedule = z.infer<typeof atSchedule>

/** Parses a schedule from the outside; collects everything that is wrong with it. */
export function parseSchedule(input: unknown): ParsedSchedule {
  const parsed = scheduleSchema.safeParse(input)
  if (parsed.success) return { ok: true, schedule: parsed.data }
  return { ok: false, problems: parsed.error.issues.flatMap(toProblems) }
}

/** An `every` schedule without anchor counts from `at`, the instant its job was created; others are unchanged. */
export function anchorSchedule(schedule: Schedule, at: Temporal.Instant): Schedule {
  if (schedule.type !== 'every' || schedule.anchor !== undefined) return schedule
  return { ...schedule, anchor: at.toString({ fractionalSecondDigits: 3 }) }
}

type ClockChoice = { [Key in keyof ClockRule]?: ClockRule[Key] | undefined }

/** The clock rule that a schedule chose, completed by the default. */
export function chosenClockRule({ gap, fold }: ClockChoice, fallback: ClockRule = defaultClockRule): ClockRule {
  return { gap: gap ?? fallback.gap, fold: fold ?? fallback.fold }
}

/** The clock rule a cron schedule really follows: interval-like ones have no choice. */
export function cronClockRule(cron: CronExpression, choice: ClockChoice): ClockRule {
  return cron.followsRealTime ? realTimeRule : chosenClockRule(choice)
}

// Past every change that the zone data lists one by one: from here on a zone's last rule repeats.
const farFuture = Date.UTC(2090, 0, 1)

function firesEver(schedule: z.infer<typeof cronFields>): boolean {
  const parsed = parseCron(schedule.cron)
  const zone = nativeZones.find(schedule.timezone)
  if (!parsed.ok || !zone) return true // already reported on its own field
  const zoned = { rule: cronRule(parsed.cron), zone, clock: cronClockRule(parsed.cron, schedule) }
  return nextHit(zoned, farFuture) !== undefined
}

function needsZone<Key extends 'at' | 'anchor'>(key: Key) {
  return (
    value: { [key in Key]?: string | undefined } & { timezone?: string | undefined },
    context: z.core.$RefinementCtx,
  ) => {
    const text = value[key]
    if (text !== undefined && value.timezone === undefined && parseTime(text)?.kind === 'wall')
      context.addIssue({ code: 'custom', path: ['timezone'], message: `Required, because \`${key}\` has no offset` })
  }
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
