import { Cron } from 'croner'
import {
  type CronField,
  CronFieldError,
  type FieldName,
  fieldRules,
  fieldValues,
  isFree,
  parseField,
  toCroner,
} from './cron-field.ts'
import type { WallRule } from './wall-rule.ts'

/** A cron expression of 5 or 6 fields in the vixie dialect, understood and known to fire. */
export interface CronExpression {
  readonly text: string
  readonly fields: Readonly<Record<FieldName, CronField>>
  /** The minute or hour field starts with `*`: every time that exists, as the clock passes it. */
  readonly followsRealTime: boolean
  /** How the two day fields combine when both restrict: a leading `*` in one of them asks for both. */
  readonly days: 'either' | 'both'
}

export type ParsedCron =
  | { readonly ok: true; readonly cron: CronExpression }
  | { readonly ok: false; readonly details: readonly string[] }

/** Longer expressions are refused unread: every field written out in full needs 519. */
export const cronLengthMax = 600

const nicknames: Readonly<Record<string, string>> = {
  '@YEARLY': '0 0 1 1 *',
  '@ANNUALLY': '0 0 1 1 *',
  '@MONTHLY': '0 0 1 * *',
  '@WEEKLY': '0 0 * * 0',
  '@DAILY': '0 0 * * *',
  '@MIDNIGHT': '0 0 * * *',
  '@HOURLY': '0 * * * *',
}

const fieldOrder = ['second', 'minute', 'hour', 'dayOfMonth', 'month', 'dayOfWeek'] as const satisfies FieldName[]

const fail = (...details: string[]): ParsedCron => ({ ok: false, details })

/** Why a text cannot be cron at all, before its fields are looked at. */
function refuseText(text: string): string | undefined {
  if (text.length > cronLengthMax) return `A cron expression has at most ${cronLengthMax} characters`
  if (/[^\x20-\x7e\t]/.test(text)) return 'A cron expression is one line of plain ASCII'
  if (text.trim() === '') return 'The expression is empty: write 5 fields, such as "25 6 * * *"'
  if (/^\s*(CRON_)?TZ=/i.test(text)) return 'The time zone does not belong here: put it in `timezone`'
  if (/^\s*\d{4}-\d\d-\d\d/.test(text)) return 'This is a date: use a schedule of type `at`'
  if (/^\s*@every/i.test(text)) return 'An interval is no cron expression: use a schedule of type `every`'
  return undefined
}

/** Parses and validates; what it accepts has a date on which it fires. */
export function parseCron(text: string): ParsedCron {
  const refusal = refuseText(text)
  if (refusal !== undefined) return fail(refusal)
  const trimmed = text.trim().toUpperCase()
  if (trimmed.startsWith('@') && nicknames[trimmed] === undefined)
    return fail(`Not a known nickname: use one of ${Object.keys(nicknames).join(', ').toLowerCase()}`)
  const texts = (nicknames[trimmed] ?? trimmed).split(/[ \t]+/)
  if (texts.length !== 5 && texts.length !== 6)
    return fail(`A cron expression has 5 fields (6 with seconds in front), this has ${texts.length}`)
  if (texts.length === 5) texts.unshift('0')

  const details: string[] = []
  const field = (name: FieldName): CronField => {
    const fieldText = texts[fieldOrder.indexOf(name)] ?? ''
    try {
      return parseField(fieldText, fieldRules[name])
    } catch (error) {
      if (!(error instanceof CronFieldError)) throw error
      details.push(`${fieldRules[name].label}: ${error.message}`)
      return { text: fieldText, items: [] }
    }
  }
  const fields = {
    second: field('second'),
    minute: field('minute'),
    hour: field('hour'),
    dayOfMonth: field('dayOfMonth'),
    month: field('month'),
    dayOfWeek: field('dayOfWeek'),
  }
  if (details.length > 0) return fail(...details)
  const startsWithStar = (name: FieldName): boolean => /^[*?]/.test(fields[name].text)
  const cron: CronExpression = {
    text: text.trim(),
    fields,
    followsRealTime: startsWithStar('minute') || startsWithStar('hour'),
    days: startsWithStar('dayOfMonth') || startsWithStar('dayOfWeek') ? 'both' : 'either',
  }
  return hasDate(cron) ? { ok: true, cron } : fail(impossibleDate(cron))
}

// UTC by a fixed offset is plain calendar arithmetic in croner: neither its own clock-change rules nor the
// zone of the process can leak in.
function croner(cron: CronExpression, fields: readonly string[]): Cron {
  return new Cron(fields.join(' '), { utcOffset: 0, domAndDow: cron.days === 'both' })
}

/** 28 years in a row hold every kind of year there is, so a date missing there is missing for ever. */
function hasDate(cron: CronExpression): boolean {
  const [day, month, weekday] = (['dayOfMonth', 'month', 'dayOfWeek'] as const).map((name) =>
    toCroner(cron.fields[name], fieldRules[name]),
  )
  return croner(cron, ['0', '0', '0', `${day} ${month} ${weekday}`, '2000-2027']).nextRun(new Date(0)) !== null
}

function impossibleDate({ fields: { dayOfMonth, month, dayOfWeek } }: CronExpression): string {
  if (isFree(dayOfWeek))
    return `day-of-month: no month of "${month.text}" has a day "${dayOfMonth.text}", so it never runs`
  return `day-of-month: no day "${dayOfMonth.text}" of month "${month.text}" is also a day-of-week "${dayOfWeek.text}", so it never runs`
}

/** The wall-clock times of an expression; remembers its last answer, so asking again is free. */
export function cronRule(cron: CronExpression): WallRule {
  const pattern = croner(
    cron,
    fieldOrder.map((name) => toCroner(cron.fields[name], fieldRules[name])),
  )
  let asked = Infinity
  let answered = -Infinity
  return {
    next(afterWall) {
      if (asked <= afterWall && afterWall < answered) return answered
      answered = pattern.nextRun(new Date(afterWall))?.getTime() ?? Infinity
      asked = afterWall
      return answered
    },
  }
}

/** The values a field was written with, sorted; `L`, `W` and `#` entries have none. */
export function valuesOf(cron: CronExpression, name: FieldName): number[] {
  return fieldValues(cron.fields[name], fieldRules[name])
}
