import type { CronDialect } from './cron-dialect.ts'

/** One place of a cron expression: what it is called in messages, and what may stand in it. */
export interface FieldRule {
  readonly label: string
  readonly min: number
  readonly max: number
  /** The last value that is not another name of the first, where it is not `max`: Sunday is 0 and 7. */
  readonly last?: number
  readonly names?: readonly string[]
}

export const monthNames = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
export const weekdayNames = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

export const fieldRules = {
  second: { label: 'second', min: 0, max: 59 },
  minute: { label: 'minute', min: 0, max: 59 },
  hour: { label: 'hour', min: 0, max: 23 },
  dayOfMonth: { label: 'day-of-month', min: 1, max: 31 },
  month: { label: 'month', min: 1, max: 12, names: monthNames },
  dayOfWeek: { label: 'day-of-week', min: 0, max: 7, last: 6, names: weekdayNames },
  year: { label: 'year', min: 1970, max: 9999 },
} as const satisfies Record<string, FieldRule>
export type FieldName = keyof typeof fieldRules

/** One entry of a field's comma list. A single value is a range of one; a range may wrap (`22-2`). */
export type CronItem =
  | { readonly kind: 'star'; readonly step: number }
  | { readonly kind: 'range'; readonly from: number; readonly to: number; readonly step: number }
  | { readonly kind: 'last'; readonly before: number }
  | { readonly kind: 'last-weekday'; readonly before: number }
  | { readonly kind: 'nearest-weekday'; readonly day: number }
  | { readonly kind: 'nth'; readonly from: number; readonly to: number; readonly nth: number | 'last' }
  | HashItem

/** `H`: a value of the range, or with a step every so many from one on, that a hash chooses. */
export interface HashItem {
  readonly kind: 'hash'
  readonly from: number
  readonly to: number
  /** 0: one value only. */
  readonly step: number
  readonly isWholeField: boolean
}

/** How a field is read. */
export interface FieldReading {
  readonly dialect: CronDialect
  /** Whether `H` may be asked for. */
  readonly hasHash: boolean
}

export interface CronField {
  readonly text: string
  readonly items: readonly CronItem[]
}

/** What is wrong with a field, in words that follow the field's name. */
export class CronFieldError extends Error {}

const lastValue = (rule: FieldRule): number => rule.last ?? rule.max

const quote = (text: string): string => `"${text.length > 24 ? `${text.slice(0, 24)}…` : text}"`

function parseValue(text: string, rule: FieldRule): number {
  const named = rule.names?.indexOf(text) ?? -1
  if (named >= 0) return named + rule.min
  if (!/^[0-9]+$/.test(text))
    throw new CronFieldError(`${quote(text)} is not ${rule.names ? `a name such as ${rule.names[1]} or ` : ''}a number`)
  const value = Number(text)
  if (value < rule.min || value > rule.max)
    throw new CronFieldError(`${quote(text)} is outside ${rule.min}-${rule.max}`)
  return value
}

function parseRange(text: string, rule: FieldRule, { dialect }: FieldReading): { from: number; to: number } {
  const [first = '', last, ...rest] = text.split('-')
  if (rest.length > 0) throw new CronFieldError(`${quote(text)} is not a range`)
  const from = parseValue(first, rule)
  const to = last === undefined ? from : parseValue(last, rule)
  if (to < from && !dialect.wraps) throw new CronFieldError(`the range ${quote(text)} ends before it starts`)
  return { from, to }
}

function parseStep(text: string, rule: FieldRule): number {
  const size = lastValue(rule) - rule.min + 1
  const step = /^[0-9]+$/.test(text) ? Number(text) : 0
  if (step < 1 || step > size)
    throw new CronFieldError(`the step ${quote(`/${text}`)} is not a number from 1 to ${size}`)
  return step
}

function parseDayItem(text: string, rule: FieldRule, reading: FieldReading): CronItem | undefined {
  if (!reading.dialect.hasDayRules) return undefined
  if (rule.label === 'day-of-month') {
    const last = /^L(?:-([0-9]+))?(W)?$/.exec(text)
    if (last) {
      const before = Number(last[1] ?? 0)
      if (before > 30) throw new CronFieldError(`${quote(text)} is outside L-1 to L-30`)
      return { kind: last[2] === undefined ? 'last' : 'last-weekday', before }
    }
    if (/^[0-9]+W$/.test(text)) return { kind: 'nearest-weekday', day: parseValue(text.slice(0, -1), rule) }
  }
  if (rule.label !== 'day-of-week') return undefined
  if (text === 'L' && reading.dialect.isLastSaturday) return { kind: 'range', from: rule.max, to: rule.max, step: 1 }
  const nth = /^(.+?)(?:#(.*)|L)$/.exec(text)
  if (!nth) return undefined
  const [, day = '', place = 'L'] = nth
  if (!/^[1-5L]$/.test(place)) throw new CronFieldError(`${quote(text)} asks for a place outside #1-#5 and #L`)
  return { kind: 'nth', ...parseRange(day, rule, reading), nth: place === 'L' ? 'last' : Number(place) }
}

/** `H`, `H(0-29)`, `H/15`, `H(0-29)/10`. Days go up to 28, so that every month has the one that is chosen. */
function parseHash(text: string, rule: FieldRule, reading: FieldReading): HashItem | undefined {
  const match = reading.hasHash ? /^H(?:\(([^()]*)\))?(?:\/(.*))?$/.exec(text) : null
  if (!match) return undefined
  const [, range, step] = match
  const last = rule.label === 'day-of-month' ? 28 : lastValue(rule)
  const { from, to } = range === undefined ? { from: rule.min, to: last } : parseRange(range, rule, reading)
  if (to < from || to > last) throw new CronFieldError(`the range of ${quote(text)} is not within ${rule.min}-${last}`)
  const size = to - from + 1
  const steps = step === undefined ? 0 : parseStep(step, rule)
  if (steps > size) throw new CronFieldError(`the step ${quote(`/${step}`)} is not a number from 1 to ${size}`)
  return { kind: 'hash', from, to, step: steps, isWholeField: range === undefined }
}

function parseItem(text: string, rule: FieldRule, reading: FieldReading): CronItem {
  if (text === '') throw new CronFieldError('an entry of the list is empty')
  const special = parseDayItem(text, rule, reading) ?? parseHash(text, rule, reading)
  if (special) return special
  const [base = '', step, ...rest] = text.split('/')
  if (rest.length > 0) throw new CronFieldError(`${quote(text)} has more than one step`)
  const { questionMark, bareStep } = reading.dialect
  if (base === '*' || (base === '?' && questionMark === 'anywhere'))
    return { kind: 'star', step: step === undefined ? 1 : parseStep(step, rule) }
  const isBare = step !== undefined && !base.includes('-')
  const range = parseRange(base === '' && bareStep === 'interval' ? `${rule.min}` : base, rule, reading)
  if (step === undefined) return { kind: 'range', ...range, step: 1 }
  if (!isBare) return { kind: 'range', ...range, step: parseStep(step, rule) }
  if (bareStep === 'refused')
    throw new CronFieldError(
      `${quote(text)} has a step without a range: write ${base}-${rule.max}/${step} or */${step}`,
    )
  if (bareStep === 'interval' && range.from === rule.min) return { kind: 'star', step: parseStep(step, rule) }
  return { kind: 'range', from: range.from, to: lastValue(rule), step: parseStep(step, rule) }
}

/** Parses one field (upper case); throws `CronFieldError`. Weekdays come out with Sunday as 0, whatever it was. */
export function parseField(text: string, name: FieldName, reading: FieldReading): CronField {
  const rule = ruleOf(name, reading.dialect)
  const isDay = rule.label.startsWith('day-of-')
  const items =
    isDay && text === '?'
      ? [parseItem('*', rule, reading)]
      : text.split(',').map((item) => parseItem(item, rule, reading))
  if (items.length > 1 && items.some((item) => item.kind === 'last-weekday'))
    throw new CronFieldError('"LW" cannot be in a list')
  const { sunday } = reading.dialect.weekdays
  return { text, items: name === 'dayOfWeek' && sunday !== 0 ? items.map((item) => shift(item, -sunday)) : items }
}

function ruleOf(name: FieldName, { weekdays, years }: CronDialect): FieldRule {
  const rule = fieldRules[name]
  if (name === 'year') return { ...rule, ...years }
  if (name !== 'dayOfWeek') return rule
  return { ...rule, min: weekdays.sunday, max: weekdays.max, last: weekdays.sunday + 6 }
}

function shift(item: CronItem, by: number): CronItem {
  return 'from' in item ? { ...item, from: item.from + by, to: item.to + by } : item
}

/** The values of a range in its own order, which may pass the end of the field and go on at its start. */
export function expandRange(item: { from: number; to: number; step?: number }, rule: FieldRule): number[] {
  const size = lastValue(rule) - rule.min + 1
  const from = item.to < item.from && item.from > lastValue(rule) ? rule.min : item.from
  const length = item.to >= from ? item.to - from : item.to + size - from
  const values: number[] = []
  for (let passed = 0; passed <= length; passed += item.step ?? 1)
    values.push(rule.min + ((from - rule.min + passed) % size))
  return values
}

/** The plain values of a field, sorted; `L`, `W` and `#` entries have none. */
export function fieldValues(field: CronField, rule: FieldRule): number[] {
  const values = field.items.flatMap((item) => {
    if (item.kind === 'range') return expandRange(item, rule)
    if (item.kind !== 'star') return []
    return expandRange({ from: rule.min, to: lastValue(rule), step: item.step }, rule)
  })
  return [...new Set(values)].sort((a, b) => a - b)
}

/** The field as croner reads it: numbers only, wrapped ranges written out. */
export function toCroner(field: CronField, rule: FieldRule): string {
  if (isFree(field)) return '*'
  return field.items.map((item) => itemToCroner(item, rule)).join(',')
}

function itemToCroner(item: CronItem, rule: FieldRule): string {
  switch (item.kind) {
    case 'star':
      // Spelled out, because croner takes the `*` of `L,*` for a day field that does not restrict.
      return `${rule.min}-${lastValue(rule)}/${item.step}`
    case 'range':
      if (item.from >= item.to) return expandRange(item, rule).join(',')
      return item.step === 1 ? `${item.from}-${item.to}` : `${item.from}-${item.to}/${item.step}`
    case 'last':
      return item.before === 0 ? 'L' : lastDays(item.before, 0)
    case 'last-weekday':
      return item.before === 0 ? 'LW' : lastDays(item.before, 2)
    case 'nearest-weekday':
      return `${item.day}W`
    case 'nth': {
      const place = item.nth === 'last' ? 'L' : item.nth
      return expandRange(item, rule)
        .map((day) => `${day}#${place}`)
        .join(',')
    }
    case 'hash':
      throw new RangeError('`H` has to be resolved first')
  }
}

/** Every day that a day counted from the end of some month can be, give or take `reach`. */
function lastDays(before: number, reach: number): string {
  const days = Array.from({ length: 4 + 2 * reach }, (_, index) => 28 - before - reach + index)
  return days.filter((day) => day >= 1 && day <= 31).join(',')
}

/** True for a bare `*` (or `?`): the field does not restrict anything. */
export function isFree(field: CronField): boolean {
  return field.items.every((item) => item.kind === 'star' && item.step === 1)
}
