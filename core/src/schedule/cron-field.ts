/** One place of a cron expression: what it is called in messages, and what may stand in it. */
export interface FieldRule {
  readonly label: string
  readonly min: number
  readonly max: number
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
  dayOfWeek: { label: 'day-of-week', min: 0, max: 7, names: weekdayNames },
} as const satisfies Record<string, FieldRule>
export type FieldName = keyof typeof fieldRules

/** One entry of a field's comma list. A single value is a range of one; a range may wrap (`22-2`). */
export type CronItem =
  | { readonly kind: 'star'; readonly step: number }
  | { readonly kind: 'range'; readonly from: number; readonly to: number; readonly step: number }
  | { readonly kind: 'last' }
  | { readonly kind: 'last-weekday' }
  | { readonly kind: 'nearest-weekday'; readonly day: number }
  | { readonly kind: 'nth'; readonly from: number; readonly to: number; readonly nth: number | 'last' }

export interface CronField {
  readonly text: string
  readonly items: readonly CronItem[]
}

/** What is wrong with a field, in words that follow the field's name. */
export class CronFieldError extends Error {}

/** The last value that is not another name of the first: Sunday is 0 and 7. */
const lastValue = (rule: FieldRule): number => (rule.label === 'day-of-week' ? 6 : rule.max)

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

function parseRange(text: string, rule: FieldRule): { from: number; to: number } {
  const [first = '', last, ...rest] = text.split('-')
  if (rest.length > 0) throw new CronFieldError(`${quote(text)} is not a range`)
  const from = parseValue(first, rule)
  return { from, to: last === undefined ? from : parseValue(last, rule) }
}

function parseStep(text: string, rule: FieldRule): number {
  const size = lastValue(rule) - rule.min + 1
  const step = /^[0-9]+$/.test(text) ? Number(text) : 0
  if (step < 1 || step > size)
    throw new CronFieldError(`the step ${quote(`/${text}`)} is not a number from 1 to ${size}`)
  return step
}

function parseDayItem(text: string, rule: FieldRule): CronItem | undefined {
  if (rule.label === 'day-of-month') {
    if (text === 'L') return { kind: 'last' }
    if (text === 'LW') return { kind: 'last-weekday' }
    if (/^[0-9]+W$/.test(text)) return { kind: 'nearest-weekday', day: parseValue(text.slice(0, -1), rule) }
  }
  const nth = rule.label === 'day-of-week' ? /^(.+?)(?:#(.*)|L)$/.exec(text) : null
  if (!nth) return undefined
  const [, day = '', place = 'L'] = nth
  if (!/^[1-5L]$/.test(place)) throw new CronFieldError(`${quote(text)} asks for a place outside #1-#5 and #L`)
  return { kind: 'nth', ...parseRange(day, rule), nth: place === 'L' ? 'last' : Number(place) }
}

function parseItem(text: string, rule: FieldRule): CronItem {
  if (text === '') throw new CronFieldError('an entry of the list is empty')
  const dayItem = parseDayItem(text, rule)
  if (dayItem) return dayItem
  const [base = '', step, ...rest] = text.split('/')
  if (rest.length > 0) throw new CronFieldError(`${quote(text)} has more than one step`)
  if (base === '*') return { kind: 'star', step: step === undefined ? 1 : parseStep(step, rule) }
  const range = parseRange(base, rule)
  if (step === undefined) return { kind: 'range', ...range, step: 1 }
  if (!base.includes('-'))
    throw new CronFieldError(
      `${quote(text)} has a step without a range: write ${base}-${rule.max}/${step} or */${step}`,
    )
  return { kind: 'range', ...range, step: parseStep(step, rule) }
}

/** Parses one field (upper case); throws `CronFieldError`. */
export function parseField(text: string, rule: FieldRule): CronField {
  const isDay = rule.label.startsWith('day-of-')
  const items = isDay && text === '?' ? [parseItem('*', rule)] : text.split(',').map((item) => parseItem(item, rule))
  if (items.length > 1 && items.some((item) => item.kind === 'last-weekday'))
    throw new CronFieldError('"LW" cannot be in a list')
  return { text, items }
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
      return 'L'
    case 'last-weekday':
      return 'LW'
    case 'nearest-weekday':
      return `${item.day}W`
    case 'nth': {
      const place = item.nth === 'last' ? 'L' : item.nth
      return expandRange(item, rule)
        .map((day) => `${day}#${place}`)
        .join(',')
    }
  }
}

/** True for a bare `*` (or `?`): the field does not restrict anything. */
export function isFree(field: CronField): boolean {
  return field.items.every((item) => item.kind === 'star' && item.step === 1)
}
