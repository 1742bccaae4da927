import { z } from 'zod'
import { parseTime } from './at.ts'
import { cronLengthMax } from './cron.ts'
import { cronDialects } from './cron-dialect.ts'
import { parseEvery } from './every.ts'
import { datesMax, rruleLengthMax, rulesMax } from './rrule-set.ts'
import { foldRules, gapRules, nativeZones } from './zone.ts'

const zoneDetail = `Not a time zone of the IANA database (${nativeZones.version}): use a name such as Europe/London`
const timeDetail = 'Not an ISO 8601 date and time such as 2026-07-01T09:00:00Z'

export const timezoneValue = z
  .string()
  .refine((id) => nativeZones.find(id) !== undefined, zoneDetail)
  .describe('IANA time zone name')

const isoTime = z.string().refine((text) => parseTime(text) !== undefined, timeDetail)

// How it is read depends on the dialect beside it: see `checkCronText`.
const cronText = z
  .string()
  .max(cronLengthMax, { abort: true, error: `A cron expression has at most ${cronLengthMax} characters` })

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

const bounds = {
  startAt: isoTime.optional().describe('Nothing runs before it: an instant, or a wall-clock time in the time zone'),
  endAt: isoTime.optional().describe('Nothing runs after it; what is due at this very instant does'),
}

export const cronFields = z.strictObject({
  type: z.literal('cron'),
  cron: cronText.describe('Five fields, or six with seconds in front, or a nickname such as @daily'),
  timezone: timezoneValue,
  dialect: z.enum(cronDialects).optional().describe('How the expression is read (default: vixie)'),
  gap,
  fold,
  ...bounds,
})

export const everyFields = z.strictObject({
  type: z.literal('every'),
  every: everyText.describe(
    'ISO 8601 duration: of exact time, such as PT15M, or of calendar units that keep the wall clock, such as P1D',
  ),
  anchor: isoTime.optional().describe('Counted from here (default: `startAt`, or when the job was created)'),
  timezone: timezoneValue.optional(),
  gap,
  fold,
  ...bounds,
})

const rruleDetail = `A rule of at most ${rruleLengthMax} characters, or a list of at most ${rulesMax} of them`
const ruleText = z.string().max(rruleLengthMax, rruleDetail)
const setTime = z.string().max(40)

export const rruleFields = z.strictObject({
  type: z.literal('rrule'),
  rrule: z
    .union([ruleText, z.array(ruleText).min(1, rruleDetail).max(rulesMax, rruleDetail)], { error: rruleDetail })
    .describe('RRULE of RFC 5545, several of them, or a block of iCalendar lines (DTSTART, RRULE, RDATE, EXDATE)'),
  timezone: timezoneValue,
  dtstart: setTime
    .optional()
    .describe('Where intervals count from, and the time of day (default: `startAt`, or when the job was created)'),
  rdate: z.array(setTime).max(datesMax).optional().describe('Times that are added'),
  exdate: z.array(setTime).max(datesMax).optional().describe('Times, or whole dates, that are left out'),
  gap: gap.describe('A time that a clock change leaves out: skip (default), next valid instant, or shift'),
  fold,
  ...bounds,
})

export const atFields = z.strictObject({
  type: z.literal('at'),
  at: isoTime.describe('ISO 8601 instant, or a wall-clock time together with a time zone'),
  timezone: timezoneValue.optional(),
})

export type CronSchedule = z.infer<typeof cronFields>
export type EverySchedule = z.infer<typeof everyFields>
export type RruleSchedule = z.infer<typeof rruleFields>
export type AtSchedule = z.infer<typeof atFields>
export type Schedule = CronSchedule | EverySchedule | RruleSchedule | AtSchedule
