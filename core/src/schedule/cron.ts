import { Cron } from 'croner'
import { dayMs } from './civil.ts'
import { cronDayFilter } from './cron-day.ts'
import { type CronDialectName, dialects } from './cron-dialect.ts'
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
import { type NextDay, timesOnDays } from './times-of-day.ts'
import type { WallRule } from './wall-rule.ts'

type CronFields = Readonly<Record<Exclude<FieldName, 'year'>, CronField>> & { readonly year?: CronField }

/** A cron expression, understood and known to fire. Whatever its dialect, Sunday is 0 in it. */
export interface CronExpression {
  readonly text: string
  readonly dialect: CronDialectName
  readonly fields: CronFields
  /** The minute or hour field counts as a star: every time that exists, as the clock passes it. */
  readonly followsRealTime: boolean
  /** How the two day fields combine when both restrict: a star in one of them asks for both. */
  readonly days: 'either' | 'both'
}

export type ParsedCron =
  | { readonly ok: true; readonly cron: CronExpression }
  | { readonly ok: false; readonly details: readonly string[] }

export interface CronReading {
  /** Default: vixie. */
  readonly dialect?: CronDialectName | undefined
  /** Whether `H` may be asked for; it has to be resolved before anything is computed (see `resolveHash`). */
  readonly hasHash?: boolean
}

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

const fail = (...details: string[]): ParsedCron => ({ ok: false, details })

/** Why a text cannot be cron at all, before its fields are looked at. */
function refuseText(text: string, name: CronDialectName): string | undefined {
  if (text.length > cronLengthMax) return `A cron expression has at most ${cronLengthMax} characters`
  if (/[^\x20-\x7e\t]/.test(text)) return 'A cron expression is one line of plain ASCII'
  if (text.trim() === '') return 'The expression is empty: write 5 fields, such as "25 6 * * *"'
  if (/^\s*(CRON_)?TZ=/i.test(text)) return dialects[name].zoneAdvice
  if (/^\s*\d{4}-\d\d-\d\d/.test(text)) return 'This is a date: use a schedule of type `at`'
  if (/^\s*(cron|rate|at)\(/i.test(text) && name !== 'eventbridge')
    return 'This is how EventBridge writes it: set `dialect` to eventbridge'
  if (/^\s*@every/i.test(text)) return 'An interval is no cron expression: use a schedule of type `every`'
  return undefined
}

/** Parses and validates; what it accepts has a date on which it fires. */
export function parseCron(text: string, { dialect: name = 'vixie', hasHash = false }: CronReading = {}): ParsedCron {
  const dialect = dialects[name]
  const refusal = refuseText(text, name)
  if (refusal !== undefined) return fail(refusal)
  const trimmed = text.trim().toUpperCase()
  const nickname = dialect.hasNicknames ? nicknames[trimmed] : undefined
  if (trimmed.startsWith('@') && nickname === undefined)
    return fail(
      dialect.hasNicknames
        ? `Not a known nickname: use one of ${Object.keys(nicknames).join(', ').toLowerCase()}`
        : 'This dialect has no nicknames',
    )
  const texts = (nickname ?? trimmed).split(/[ \t]+/)
  const layout = dialect.layouts.find(({ length }) => length === texts.length)
  if (!layout) return fail(`${dialect.layoutWords}, this has ${texts.length}`)

  const details: string[] = []
  const field = (name: FieldName): CronField => {
    const fieldText = texts[layout.indexOf(name)] ?? '0'
    try {
      return parseField(fieldText, name, { dialect, hasHash })
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
    ...(layout.includes('year') ? { year: field('year') } : {}),
  }
  const questions = [fields.dayOfMonth, fields.dayOfWeek].filter((day) => day.text === '?').length
  if (dialect.questionMark === 'one-day' && questions !== 1)
    details.push('day-of-month: exactly one of day-of-month and day-of-week has to be "?"')
  if (details.length > 0) return fail(...details)
  const cron: CronExpression = {
    text: text.trim(),
    dialect: name,
    fields,
    followsRealTime: dialect.isStar(fields.minute) || dialect.isStar(fields.hour),
    days: dialect.isStar(fields.dayOfMonth) || dialect.isStar(fields.dayOfWeek) ? 'both' : 'either',
  }
  const impossible = refuseDate(cron)
  return impossible === undefined ? { ok: true, cron } : fail(impossible)
}

/** Why no date matches; `undefined` when one does. */
function refuseDate(cron: CronExpression): string | undefined {
  const { dayOfMonth, month, dayOfWeek, year } = cron.fields
  const hasHash = [dayOfMonth, month, dayOfWeek].some(({ items }) => items.some(({ kind }) => kind === 'hash'))
  if (hasHash) {
    const isLate = dayOfMonth.items.some((item) => ('to' in item && item.to > 28) || ('day' in item && item.day > 28))
    return isLate ? 'day-of-month: beside "H" it goes up to 28, so that every month has the day' : undefined
  }
  // 28 years in a row hold every kind of year there is, so a date missing there is missing for ever.
  if (cronDays(cron, '2000-2027')(0) < Infinity) {
    if (year === undefined || cronDays(cron)(0) < Infinity) return undefined
    return `year: no year of "${year.text}" has such a date, so it never runs`
  }
  if (isFree(dayOfWeek))
    return `day-of-month: no month of "${month.text}" has a day "${dayOfMonth.text}", so it never runs`
  return `day-of-month: no day "${dayOfMonth.text}" of month "${month.text}" is also a day-of-week "${dayOfWeek.text}", so it never runs`
}

/** The days of an expression, in the given years or its own. */
function cronDays(
  cron: CronExpression,
  years = cron.fields.year && toCroner(cron.fields.year, fieldRules.year),
): NextDay {
  const days = (['dayOfMonth', 'month', 'dayOfWeek'] as const).map((name) =>
    toCroner(cron.fields[name], fieldRules[name]),
  )
  // UTC by a fixed offset is plain calendar arithmetic in croner: neither its own clock-change rules nor the
  // zone of the process can leak in.
  const pattern = new Cron(['0 0 0', ...days, years ?? '*'].join(' '), {
    utcOffset: 0,
    domAndDow: cron.days === 'both',
  })
  const fits = cronDayFilter(cron)
  const next: NextDay = (from) => {
    const found = pattern.nextRun(new Date(from * dayMs - 1000))
    return found === null ? Infinity : found.getTime() / dayMs
  }
  if (!fits) return next
  return (from) => {
    let day = next(from)
    while (day < Infinity && !fits(day)) day = next(day + 1)
    return day
  }
}

/** The wall-clock times of an expression without `H`; remembers its last day, so asking again is cheap. */
export function cronRule(cron: CronExpression): WallRule {
  return timesOnDays(cronDays(cron), {
    hours: valuesOf(cron, 'hour'),
    minutes: valuesOf(cron, 'minute'),
    seconds: valuesOf(cron, 'second'),
  })
}

/** The values a field was written with, sorted; `L`, `W` and `#` entries have none. */
export function valuesOf(cron: CronExpression, name: FieldName): number[] {
  const field = cron.fields[name]
  return field === undefined ? [] : fieldValues(field, fieldRules[name])
}
