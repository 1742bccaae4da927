import { parseIsoDuration, toIsoDuration } from '#lib/time/duration.ts'
import { wallClock } from '#lib/time/words.ts'
import type { Fold, Gap, Schedule } from './schedule.ts'
import { type Sentence, scheduleToSentence, sentenceToSchedule } from './sentence.ts'

export type Tab = 'sentence' | 'cron' | 'every' | 'at' | 'none'

export const everyUnits = { second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const
export type EveryUnit = keyof typeof everyUnits

/** What the schedule builder holds: the tab in use, and what every tab shows. */
export interface Draft {
  tab: Tab
  sentence: Sentence
  cron: string
  every: { count: number; unit: EveryUnit }
  /** Wall clock in the zone, as a date-time input has it: `2026-11-29T06:25`. */
  at: string
  /** The instant as it was stored, until the wall clock is changed. */
  instant: string | undefined
  timezone: string
  gap: Gap | undefined
  fold: Fold | undefined
  /** Kept as they came, so that editing a job does not move its interval. */
  anchor: string | undefined
}

/** The builder's state for a stored schedule, or for a new one when there is none. */
export function draftOf(schedule: Schedule | undefined, timezone: string, at: string): Draft {
  const empty: Draft = {
    tab: 'sentence',
    sentence: { unit: 'day', time: '09:00' },
    cron: '0 9 * * *',
    every: { count: 15, unit: 'minute' },
    at,
    instant: undefined,
    timezone: schedule?.timezone ?? timezone,
    gap: undefined,
    fold: undefined,
    anchor: undefined,
  }
  if (!schedule) return { ...empty, tab: 'none' }
  if (schedule.type === 'at') {
    const hasOffset = /(Z|[+-]\d{2}:\d{2})$/.test(schedule.at)
    if (!hasOffset) return { ...empty, tab: 'at', at: schedule.at }
    const wall = wallClock(Date.parse(schedule.at), empty.timezone)
    return { ...empty, tab: 'at', at: wall, instant: schedule.at }
  }
  if (schedule.type === 'every') return { ...writeEvery(empty, everyOf(schedule.every)), anchor: schedule.anchor }
  const draft = writeCron({ ...empty, gap: schedule.gap, fold: schedule.fold }, schedule.cron)
  return scheduleToSentence(schedule) ? { ...draft, tab: 'sentence' } : draft
}

/** Changes the sentence; the tab that can say the same follows. */
export function writeSentence(draft: Draft, sentence: Sentence): Draft {
  const schedule = sentenceToSchedule(sentence, draft.timezone)
  const next: Draft = { ...draft, tab: 'sentence', sentence, anchor: undefined }
  if (schedule.type === 'cron') return { ...next, cron: schedule.cron }
  return schedule.type === 'every' ? { ...next, every: everyOf(schedule.every) } : next
}

/** Changes the cron line; the sentence follows when it can say the same. */
export function writeCron(draft: Draft, cron: string): Draft {
  const sentence = scheduleToSentence({ type: 'cron', cron, timezone: draft.timezone })
  return { ...draft, tab: 'cron', cron, sentence: sentence ?? draft.sentence }
}

/** Changes the interval; the sentence follows when it can say the same. */
export function writeEvery(draft: Draft, every: Draft['every']): Draft {
  const sentence = scheduleToSentence({ type: 'every', every: everyText(every) })
  return { ...draft, tab: 'every', every, anchor: undefined, sentence: sentence ?? draft.sentence }
}

/** Changes the one date and time; a stored instant gives way to the wall clock that was written. */
export function writeAt(draft: Draft, at: string, timezone = draft.timezone): Draft {
  return { ...draft, tab: 'at', at, timezone, instant: undefined }
}

/** The schedule that the tab in use means; undefined when the job has none. */
export function scheduleOf(draft: Draft): Schedule | undefined {
  const { timezone, gap, fold } = draft
  switch (draft.tab) {
    case 'none':
      return undefined
    case 'at':
      return { type: 'at', at: draft.instant ?? draft.at, timezone }
    case 'every':
      return withAnchor({ type: 'every', every: everyText(draft.every) }, draft.anchor)
    case 'cron':
      return withClockRules({ type: 'cron', cron: draft.cron.trim(), timezone }, gap, fold)
    case 'sentence': {
      const schedule = sentenceToSchedule(draft.sentence, timezone)
      if (schedule.type === 'cron') return withClockRules(schedule, gap, fold)
      return schedule.type === 'every' ? withAnchor(schedule, draft.anchor) : schedule
    }
  }
}

/** Whether the sentence says exactly what the tab in use means. */
export function sentenceFits(draft: Draft): boolean {
  const schedule = scheduleOf(draft)
  return schedule !== undefined && scheduleToSentence(schedule) !== undefined
}

const everyText = ({ count, unit }: Draft['every']): string => toIsoDuration(count * everyUnits[unit])

function everyOf(text: string): Draft['every'] {
  const milliseconds = parseIsoDuration(text) ?? everyUnits.minute
  const unit = (['day', 'hour', 'minute'] as const).find((name) => milliseconds % everyUnits[name] === 0) ?? 'second'
  return { count: milliseconds / everyUnits[unit], unit }
}

function withAnchor(schedule: Extract<Schedule, { type: 'every' }>, anchor: string | undefined): Schedule {
  return anchor === undefined ? schedule : { ...schedule, anchor }
}

function withClockRules(
  schedule: Extract<Schedule, { type: 'cron' }>,
  gap: Gap | undefined,
  fold: Fold | undefined,
): Schedule {
  return { ...schedule, ...(gap && { gap }), ...(fold && { fold }) }
}
