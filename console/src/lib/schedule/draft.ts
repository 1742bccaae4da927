import { wallClock } from '#lib/time/words.ts'
import { type EveryParts, everyText, isCalendarUnit, parseEvery } from './every.ts'
import type { Schedule } from './schedule.ts'
import { type Sentence, scheduleToSentence, sentenceToSchedule } from './sentence.ts'

export type Tab = 'sentence' | 'cron' | 'every' | 'rrule' | 'at' | 'none' | 'stored'

type CronSchedule = Extract<Schedule, { type: 'cron' }>
type EverySchedule = Extract<Schedule, { type: 'every' }>

const spreadKeys = ['jitter', 'window', 'onlyOn', 'notOn', 'roll'] as const
const keptKeys = ['gap', 'fold', 'startAt', 'endAt', ...spreadKeys, 'maxRuns'] as const
/** What a schedule has beside its times, whatever its type. */
export type Kept = Pick<CronSchedule, (typeof keptKeys)[number]>

/** What the schedule builder holds: the tab in use, and what every tab shows. */
export interface Draft {
  tab: Tab
  sentence: Sentence
  cron: string
  every: EveryParts
  /** Wall clock in the zone, as a date-time input has it: `2026-11-29T06:25`. */
  at: string
  /** The instant as it was stored, until the wall clock is changed. */
  instant: string | undefined
  timezone: string
  /** Where an interval counts from. Kept as it came, so that editing a job does not move its runs. */
  anchor: string | undefined
  dialect: CronSchedule['dialect']
  rrule: string
  /** Where a recurrence starts, as a wall clock; empty: when the job is saved. */
  dtstart: string
  /** What stands beside every tab, and what every edit keeps. */
  kept: Kept
  /** A schedule that no tab can show; it is saved as it is unless another tab is used. */
  stored: Schedule | undefined
}

/** The builder's state for a stored schedule, or for a new one when there is none. */
export function draftOf(schedule: Schedule | undefined, timezone: string, at: string): Draft {
  const empty: Draft = {
    tab: 'none',
    sentence: { unit: 'day', time: '09:00' },
    cron: '0 9 * * *',
    every: { count: 15, unit: 'minute' },
    at,
    instant: undefined,
    timezone: schedule?.timezone ?? timezone,
    anchor: undefined,
    dialect: undefined,
    rrule: 'FREQ=MONTHLY;BYDAY=MO;BYSETPOS=1',
    dtstart: '',
    kept: {},
    stored: undefined,
  }
  switch (schedule?.type) {
    case undefined:
      return empty
    case 'at':
      return { ...empty, tab: 'at', ...wallOf(schedule.at, empty.timezone), kept: pick(schedule, spreadKeys) }
    case 'every': {
      const every = parseEvery(schedule.every)
      if (!every) return { ...empty, tab: 'stored', stored: schedule }
      return { ...writeEvery(empty, every), anchor: schedule.anchor, kept: keptOf(schedule) }
    }
    case 'cron': {
      const draft = { ...writeCron(empty, schedule.cron), dialect: schedule.dialect, kept: keptOf(schedule) }
      const sentence = scheduleToSentence(schedule)
      return sentence ? { ...draft, tab: 'sentence', sentence } : draft
    }
    case 'rrule': {
      const kept = pick(schedule, keptKeys)
      const isPlain = typeof schedule.rrule === 'string' && !schedule.rdate && !schedule.exdate
      if (!isPlain) return { ...empty, tab: 'stored', stored: schedule, kept }
      return { ...empty, tab: 'rrule', rrule: String(schedule.rrule), dtstart: schedule.dtstart ?? '', kept }
    }
  }
}

/** Changes the sentence; the tab that can say the same follows. */
export function writeSentence(draft: Draft, sentence: Sentence): Draft {
  const schedule = sentenceToSchedule(sentence, draft.timezone)
  const next: Draft = { ...draft, tab: 'sentence', sentence, anchor: undefined, dialect: undefined }
  if (schedule.type === 'cron') return { ...next, cron: schedule.cron }
  return schedule.type === 'every' ? { ...next, every: parseEvery(schedule.every) ?? draft.every } : next
}

/** Changes the cron line; the sentence follows when it can say the same. */
export function writeCron(draft: Draft, cron: string): Draft {
  const { timezone, dialect } = draft
  const sentence = scheduleToSentence({ type: 'cron', cron, timezone, ...(dialect && { dialect }) })
  return { ...draft, tab: 'cron', cron, sentence: sentence ?? draft.sentence }
}

/** Changes the interval; the sentence follows when it can say the same. */
export function writeEvery(draft: Draft, every: EveryParts): Draft {
  const sentence = scheduleToSentence({ type: 'every', every: everyText(every) })
  // A calendar interval needs a day and a time to keep; an exact one counts from when the job is saved.
  const anchor = isCalendarUnit(every.unit) ? (draft.anchor ?? draft.at) : undefined
  return { ...draft, tab: 'every', every, anchor, sentence: sentence ?? draft.sentence }
}

/** Changes the recurrence rule, or where it starts. */
export function writeRrule(draft: Draft, rule: Pick<Draft, 'rrule' | 'dtstart'>): Draft {
  return { ...draft, tab: 'rrule', ...rule }
}

/** Changes what stands beside the times; what is empty goes. */
export function writeKept(draft: Draft, changes: Partial<Kept>): Draft {
  const kept = Object.entries({ ...draft.kept, ...changes }).filter(
    ([, value]) => value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0),
  )
  return { ...draft, kept: Object.fromEntries(kept) as Kept }
}

/** Changes the one date and time; a stored instant gives way to the wall clock that was written. */
export function writeAt(draft: Draft, at: string, timezone = draft.timezone): Draft {
  return { ...draft, tab: 'at', at, timezone, instant: undefined }
}

/** The schedule that the tab in use means; undefined when the job has none. */
export function scheduleOf(draft: Draft): Schedule | undefined {
  const { timezone, kept, dialect } = draft
  switch (draft.tab) {
    case 'none':
      return undefined
    case 'stored':
      return draft.stored
    case 'at':
      return { type: 'at', at: draft.instant ?? draft.at, timezone, ...pick(kept, spreadKeys) }
    case 'every':
      return everySchedule(draft, everyText(draft.every))
    case 'rrule': {
      const dtstart = draft.dtstart.trim()
      return { type: 'rrule', rrule: draft.rrule.trim(), timezone, ...(dtstart && { dtstart }), ...kept }
    }
    case 'cron':
      return { type: 'cron', cron: draft.cron.trim(), timezone, ...(dialect && { dialect }), ...kept }
    case 'sentence': {
      const schedule = sentenceToSchedule(draft.sentence, timezone)
      return schedule.type === 'every' ? everySchedule(draft, schedule.every) : { ...schedule, ...kept }
    }
  }
}

/** Whether the sentence says exactly what the tab in use means. */
export function sentenceFits(draft: Draft): boolean {
  const schedule = scheduleOf(draft)
  return schedule !== undefined && scheduleToSentence(schedule) !== undefined
}

function everySchedule({ anchor, timezone, kept }: Draft, every: string): EverySchedule {
  // An exact interval knows no zone, but a wall-clock anchor or bound does.
  const isZoned = !every.startsWith('PT') || [anchor, kept.startAt, kept.endAt].some((text) => text && isWall(text))
  // Exact time knows no clock changes.
  const { gap, fold, ...others } = kept
  const clock = every.startsWith('PT') ? {} : { ...(gap && { gap }), ...(fold && { fold }) }
  return { type: 'every', every, ...(anchor && { anchor }), ...(isZoned && { timezone }), ...clock, ...others }
}

const isWall = (text: string): boolean => !/(Z|[+-]\d{2}:\d{2})$/.test(text)

function wallOf(at: string, timezone: string): Pick<Draft, 'at' | 'instant'> {
  return isWall(at) ? { at, instant: undefined } : { at: wallClock(Date.parse(at), timezone), instant: at }
}

const keptOf = (schedule: CronSchedule | EverySchedule): Kept => pick(schedule, keptKeys)

function pick<Value extends object, Key extends keyof Value>(value: Value, keys: readonly Key[]): Pick<Value, Key> {
  return Object.fromEntries(keys.flatMap((key) => (value[key] === undefined ? [] : [[key, value[key]]]))) as Pick<
    Value,
    Key
  >
}
