import { addDays, startOfDay } from '#lib/time/day.ts'

/** What part of a job's time is looked at, and how. Days are those of the job's zone. */
export interface View {
  shape: 'timeline' | 'month'
  /** `2026-11-29`. */
  first: string
  days: number
}

export const spans = [
  { days: 1, words: 'Day' },
  { days: 7, words: 'Week' },
  { days: 28, words: '4 weeks' },
] as const

const isDay = (text: string | null): text is string =>
  text !== null && /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text))
const firstOfMonth = (day: string): string => `${day.slice(0, 7)}-01`

/** Reads `?view=timeline&from=2026-11-29&days=7` or `?view=month&from=…`; what is missing lies around today. */
export function readView(params: Pick<URLSearchParams, 'get'>, today: string): View {
  const from = params.get('from')
  if (params.get('view') === 'month') {
    const first = firstOfMonth(isDay(from) ? from : today)
    return { shape: 'month', first, days: monthDays(first) }
  }
  const days = spans.find((span) => String(span.days) === params.get('days'))?.days ?? 7
  return { shape: 'timeline', first: isDay(from) ? from : addDays(today, -Math.floor(days / 2)), days }
}

function monthDays(first: string): number {
  const [year, month] = first.split('-').map(Number)
  return new Date(Date.UTC(year ?? 0, month ?? 1, 0)).getUTCDate()
}

/** The view before it (-1) or after it (1). */
export function neighbour({ shape, first, days }: View, direction: -1 | 1): View {
  if (shape === 'timeline') return { shape, first: addDays(first, direction * days), days }
  const next = firstOfMonth(direction === 1 ? addDays(first, days) : addDays(first, -1))
  return { shape, first: next, days: monthDays(next) }
}

/** The same time in the other shape, or in more or fewer days around its middle. */
export function reshaped(view: View, change: { shape: 'month' } | { days: number }): View {
  const middle = addDays(view.first, Math.floor(view.days / 2))
  if ('shape' in change) {
    const first = firstOfMonth(middle)
    return { shape: 'month', first, days: monthDays(first) }
  }
  return { shape: 'timeline', first: addDays(middle, -Math.floor(change.days / 2)), days: change.days }
}

/** The parameters of the URL that say so. */
export const viewParams = ({ shape, first, days }: View): Record<string, string | undefined> => ({
  view: shape === 'month' ? 'month' : undefined,
  from: first,
  days: shape === 'month' || days === 7 ? undefined : String(days),
  at: undefined,
})

/** From its first instant on, up to the one after its last. */
export const edgesOf = ({ first, days }: View, zone: string): { from: number; to: number } => ({
  from: startOfDay(first, zone),
  to: startOfDay(addDays(first, days), zone),
})

const format = (options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' })
const [monthFormat, dayFormat, yearFormat] = [
  format({ month: 'long', year: 'numeric' }),
  format({ day: 'numeric', month: 'short' }),
  format({ day: 'numeric', month: 'short', year: 'numeric' }),
]
const dateOf = (day: string): Date => new Date(`${day}T00:00Z`)

/** `November 2026`, `27 Nov – 3 Dec 2026`, `29 Nov 2026`. */
export function viewWords({ shape, first, days }: View): string {
  if (shape === 'month') return monthFormat.format(dateOf(first))
  const last = addDays(first, days - 1)
  if (days === 1) return yearFormat.format(dateOf(first))
  const isOneYear = first.slice(0, 4) === last.slice(0, 4)
  return `${(isOneYear ? dayFormat : yearFormat).format(dateOf(first))} – ${yearFormat.format(dateOf(last))}`
}
