import { monthNames } from '#lib/time/months.ts'

/** One position of a cron line, for explaining it while it is typed. The API decides what is valid. */
export interface CronField {
  name: string
  one: string
  many: string
  range: string
  example: string
  words?: readonly string[]
  /** Index of the first word: 1 for months, 0 for weekdays. */
  base?: number
}

const dayWords = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const

const second: CronField = { name: 'Second', one: 'second', many: 'seconds', range: '0-59', example: '0, */10' }
const fields: readonly CronField[] = [
  { name: 'Minute', one: 'minute', many: 'minutes', range: '0-59', example: '25, */15, 0,30' },
  { name: 'Hour', one: 'hour', many: 'hours', range: '0-23', example: '6, 9-17, */6' },
  { name: 'Day of month', one: 'day of the month', many: 'days', range: '1-31, L', example: '1, 15, L (last day)' },
  {
    name: 'Month',
    one: 'month',
    many: 'months',
    range: '1-12, JAN-DEC',
    example: '*, 1,7, JAN',
    words: monthNames,
    base: 1,
  },
  {
    name: 'Day of week',
    one: 'day of the week',
    many: 'days',
    range: '0-7, SUN-SAT',
    example: '1-5, MON, 5L (last Friday)',
    words: dayWords,
    base: 0,
  },
]

/** The fields a line of this many parts has: six parts begin with seconds. */
export function cronFields(count: number): readonly CronField[] {
  return count >= 6 ? [second, ...fields] : fields
}

/** The parts of a line with where each begins and ends, so that the caret can be told its field. */
export function cronParts(line: string): { text: string; start: number; end: number }[] {
  return [...line.matchAll(/\S+/g)].map((match) => ({
    text: match[0],
    start: match.index,
    end: match.index + match[0].length,
  }))
}

/** Which part the caret is in; between two parts it belongs to the one before. */
export function partAt(line: string, caret: number): number {
  const before = cronParts(line).findLastIndex((part) => part.start <= caret)
  return Math.max(before, 0)
}

/** What one part says: `*\/15` in minutes is "every 15 minutes". Unknown syntax is named as such. */
export function explainPart(text: string, field: CronField): string {
  if (text === '*' || text === '?') return `every ${field.one}`
  return joinWords(text.split(',').map((part) => explainItem(part, field)))
}

function explainItem(part: string, field: CronField): string {
  const [range = '', stepText] = part.split('/')
  if (stepText !== undefined) {
    const count = Number(stepText)
    if (!Number.isInteger(count) || count < 1) return `"${part}", which is not a step`
    const every = count === 1 ? `every ${field.one}` : `every ${count} ${field.many}`
    if (range === '*') return every
    return range.includes('-') ? `${every} ${explainRange(range, field)}` : `${every} from ${value(range, field)}`
  }
  if (range.includes('-') && !range.startsWith('L')) return explainRange(range, field)
  return explainSingle(range, field)
}

function explainRange(range: string, field: CronField): string {
  const [from = '', to = ''] = range.split('-')
  return `from ${value(from, field)} to ${value(to, field)}`
}

function explainSingle(text: string, field: CronField): string {
  if (/^H(\(.*\))?$/i.test(text)) return `a ${field.one} spread by the job's name`
  const nth = /^(\w+)#(\d)$/.exec(text)
  if (nth) return `the ${ordinal(Number(nth[2]))} ${value(nth[1] ?? '', field)} of the month`
  if (field.name === 'Day of month') {
    if (text === 'L') return 'the last day of the month'
    if (text === 'LW') return 'the last weekday of the month'
    const nearest = /^(\d+)W$/.exec(text)
    if (nearest) return `the weekday nearest to day ${nearest[1]}`
  }
  const last = /^(\w+)L$/.exec(text)
  if (last && field.words) return `the last ${value(last[1] ?? '', field)} of the month`
  return field.words ? value(text, field) : `at ${field.one} ${value(text, field)}`
}

function value(text: string, field: CronField): string {
  const words = field.words
  if (!words) return /^\d+$/.test(text) ? String(Number(text)) : `"${text}"`
  if (/^\d+$/.test(text)) return words[(Number(text) - (field.base ?? 0)) % words.length] ?? `"${text}"`
  return words.find((word) => text.length >= 3 && word.toLowerCase().startsWith(text.toLowerCase())) ?? `"${text}"`
}

function ordinal(count: number): string {
  return ['zeroth', 'first', 'second', 'third', 'fourth', 'fifth'][count] ?? `${count}th`
}

function joinWords(words: string[]): string {
  if (words.length < 2) return words.join('')
  return `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}
