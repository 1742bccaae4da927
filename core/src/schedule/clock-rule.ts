import type { CronExpression } from './cron.ts'
import { type ClockRule, defaultClockRule, realTimeRule } from './zone.ts'

type ClockChoice = { readonly [Key in keyof ClockRule]?: ClockRule[Key] | undefined }

/** What a recurrence rule gets that does not choose: RFC 5545 leaves out a time that does not exist. */
export const recurrenceClockRule: ClockRule = { gap: 'skip', fold: 'first' }

/** The clock rule that a schedule chose, completed by the default. */
export function chosenClockRule({ gap, fold }: ClockChoice, fallback: ClockRule = defaultClockRule): ClockRule {
  return { gap: gap ?? fallback.gap, fold: fold ?? fallback.fold }
}

/** The clock rule a cron schedule really follows: interval-like ones have no choice. */
export function cronClockRule(cron: CronExpression, choice: ClockChoice): ClockRule {
  return cron.followsRealTime ? realTimeRule : chosenClockRule(choice)
}
