import type { Calendar } from '@meridian/sdk'
import { contentsOf } from '#lib/calendar/contents.ts'
import { contentsWords } from '#lib/calendar/words.ts'
import type { Schedule } from './schedule.ts'

/** A calendar that a schedule may name, and what it is made of. */
export interface CalendarChoice {
  name: string
  words: string
}

/** Calendars to choose from. */
export const choicesOf = (calendars: readonly Calendar[]): CalendarChoice[] =>
  calendars.map((calendar) => ({ name: calendar.name, words: contentsWords(contentsOf(calendar)) }))

type Roll = NonNullable<Schedule['roll']>

const rolls: Record<Roll, { label: string; words: string }> = {
  skip: { label: 'It is left out', words: '' },
  next: { label: 'At the next open time', words: 'otherwise at the next open time' },
  previous: { label: 'At the last open time before', words: 'otherwise at the last open time before' },
  'modified-following': {
    label: 'At the next open time of the month, or the last before',
    words: 'otherwise at the next open time of the month',
  },
}

export const rollItems = Object.entries(rolls).map(([value, { label }]) => ({ value, label }))

/** `only on office, not on feasts, otherwise at the next open time`; empty when it follows no calendar. */
export function calendarWords({ onlyOn, notOn, roll = 'skip' }: Pick<Schedule, 'onlyOn' | 'notOn' | 'roll'>): string {
  return [
    onlyOn ? `only on ${onlyOn.join(' and ')}` : '',
    notOn ? `not on ${notOn.join(' or ')}` : '',
    rolls[roll].words,
  ]
    .filter(Boolean)
    .join(', ')
}
