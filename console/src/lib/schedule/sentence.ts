import { parseIsoDuration, toIsoDuration } from '#lib/time/duration.ts'
import type { Schedule } from './schedule.ts'

/** A schedule as a sentence: "Every 1 day at 06:25 in Europe/London". */
export type Sentence =
  | { unit: 'minute'; count: number }
  | { unit: 'hour'; count: number; minute: number }
  | { unit: 'day' | 'weekday'; time: string }
  | { unit: 'week'; weekdays: number[]; time: string }
  | { unit: 'month'; monthDay: number | 'last'; time: string }

export type Unit = Sentence['unit']

export const units: readonly Unit[] = ['minute', 'hour', 'day', 'weekday', 'week', 'month']

export const weekdayNames = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const

/** Where a unit starts when the reader picks it, keeping what it shares with the sentence before. */
export function withUnit(unit: Unit, before: Sentence): Sentence {
  const time = 'time' in before ? before.time : '09:00'
  switch (unit) {
    case 'minute':
      return { unit, count: before.unit === 'hour' ? before.count : 15 }
    case 'hour':
      return { unit, count: before.unit === 'minute' && before.count < 24 ? before.count : 1, minute: 0 }
    case 'day':
    case 'weekday':
      return { unit, time }
    case 'week':
      return { unit, weekdays: [1], time }
    case 'month':
      return { unit, monthDay: 1, time }
  }
}

/**
 * The schedule a sentence means. Minutes and hours that divide the clock evenly become a cron line; other counts
 * are an exact interval, because a cron line would start over at every full hour or day.
 */
export function sentenceToSchedule(sentence: Sentence, timezone: string): Schedule {
  const cron = (line: string): Schedule => ({ type: 'cron', cron: line, timezone })
  switch (sentence.unit) {
    case 'minute':
      if (60 % sentence.count !== 0) return { type: 'every', every: toIsoDuration(sentence.count * 60_000) }
      return sentence.count === 60 ? cron('0 * * * *') : cron(`${step(sentence.count)} * * * *`)
    case 'hour':
      if (24 % sentence.count !== 0) return { type: 'every', every: toIsoDuration(sentence.count * 3_600_000) }
      return sentence.count === 24
        ? cron(`${sentence.minute} 0 * * *`)
        : cron(`${sentence.minute} ${step(sentence.count)} * * *`)
    case 'day':
      return cron(`${clock(sentence.time)} * * *`)
    case 'weekday':
      return cron(`${clock(sentence.time)} * * 1-5`)
    case 'week':
      return cron(
        `${clock(sentence.time)} * * ${[...new Set(sentence.weekdays)].sort((a, b) => a - b).join(',') || '1'}`,
      )
    case 'month':
      return cron(`${clock(sentence.time)} ${sentence.monthDay === 'last' ? 'L' : sentence.monthDay} * *`)
  }
}

/** The sentence that means exactly this schedule, or undefined when no sentence does. */
export function scheduleToSentence(schedule: Schedule): Sentence | undefined {
  if (schedule.type === 'every') return intervalSentence(schedule.every)
  // Other dialects count the days of the week from another day.
  if (schedule.type !== 'cron' || (schedule.dialect ?? 'vixie') !== 'vixie') return undefined
  const fields = schedule.cron.trim().split(/\s+/)
  if (fields.length !== 5) return undefined
  const [minute = '', hour = '', monthDay = '', month = '', weekday = ''] = fields
  if (month !== '*') return undefined
  if (monthDay === '*' && weekday === '*') return dailySentence(minute, hour)
  const time = clockTime(minute, hour)
  if (time === undefined) return undefined
  if (weekday === '*') {
    const day = monthDay === 'L' ? 'last' : plainNumber(monthDay, 1, 31)
    return day === undefined ? undefined : { unit: 'month', monthDay: day, time }
  }
  if (monthDay !== '*') return undefined
  if (/^(1-5|mon-fri)$/i.test(weekday)) return { unit: 'weekday', time }
  const weekdays = weekdayList(weekday)
  return weekdays ? { unit: 'week', weekdays, time } : undefined
}

function dailySentence(minute: string, hour: string): Sentence | undefined {
  if (hour === '*') {
    const every = stepOf(minute, 60)
    if (every !== undefined) return { unit: 'minute', count: every }
    const past = plainNumber(minute, 0, 59)
    return past === undefined ? undefined : { unit: 'hour', count: 1, minute: past }
  }
  const time = clockTime(minute, hour)
  if (time !== undefined) return { unit: 'day', time }
  const count = stepOf(hour, 24)
  const past = plainNumber(minute, 0, 59)
  return count === undefined || past === undefined ? undefined : { unit: 'hour', count, minute: past }
}

function intervalSentence(every: string): Sentence | undefined {
  if (!every.startsWith('PT')) return undefined
  const minutes = (parseIsoDuration(every) ?? 0) / 60_000
  // An even divisor would be read back as a cron line, which runs at other instants than this interval.
  if (minutes > 60 && minutes % 60 === 0 && 24 % (minutes / 60) !== 0) {
    return { unit: 'hour', count: minutes / 60, minute: 0 }
  }
  return Number.isInteger(minutes) && minutes > 0 && 60 % minutes !== 0 ? { unit: 'minute', count: minutes } : undefined
}

const step = (count: number): string => (count === 1 ? '*' : `*/${count}`)

function stepOf(field: string, size: number): number | undefined {
  if (field === '*') return 1
  const match = /^\*\/(\d+)$/.exec(field)
  const count = match ? Number(match[1]) : 0
  return count > 0 && count < size && size % count === 0 ? count : undefined
}

/** `06:25` as the two first fields of a cron line: `25 6`. */
function clock(time: string): string {
  const [hour, minute] = time.split(':')
  return `${Number(minute)} ${Number(hour)}`
}

function clockTime(minute: string, hour: string): string | undefined {
  const [minutes, hours] = [plainNumber(minute, 0, 59), plainNumber(hour, 0, 23)]
  if (minutes === undefined || hours === undefined) return undefined
  return `${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`
}

function plainNumber(field: string, low: number, high: number): number | undefined {
  if (!/^\d{1,2}$/.test(field)) return undefined
  const value = Number(field)
  return value >= low && value <= high ? value : undefined
}

function weekdayList(field: string): number[] | undefined {
  const days = field.split(',').map((part) => {
    const named = weekdayNames.findIndex((name) => name.toLowerCase() === part.toLowerCase())
    return named >= 0 ? named : plainNumber(part, 0, 7)
  })
  if (days.some((day) => day === undefined)) return undefined
  return [...new Set(days.map((day) => (day ?? 0) % 7))].sort((a, b) => a - b)
}
