import type { Why, WhyReason } from '@meridian/sdk'
import { reasonWords } from '#lib/occurrence/entries.ts'
import { momentWords, relativeWords } from '#lib/time/words.ts'

interface Clock {
  now: number
  zone: string
}

/** A sentence about why a job does not run, and the limit that it speaks of. */
export interface JobWhyLine {
  text: string
  limitId: string | undefined
}

/**
 * Why a job does not run as one would expect, in sentences; empty when there is nothing to wonder about. What its header
 * tells (paused, in shadow, no schedule, when it is next) is not repeated.
 */
export function jobWhy(why: Why, clock: Clock): JobWhyLine[] {
  return why.reasons.flatMap((reason) =>
    wordsOf(reason, clock).map((text) => ({ text, limitId: reason.evidence.limitId })),
  )
}

function wordsOf({ code, detail, evidence, expectedAt }: WhyReason, { now, zone }: Clock): string[] {
  const { at, until, name, reason } = evidence
  const moment = (instant: string | null | undefined) => (instant ? momentWords(Date.parse(instant), zone, now) : '')
  const ahead = at === undefined ? 'Its next instant' : `Its next instant, ${moment(at)},`
  const next = expectedAt === null ? 'No later one is known.' : `It runs next ${moment(expectedAt)}.`
  if (code === 'blackout') {
    const which = name === undefined ? 'a blackout' : `the blackout ${name}`
    return [`${ahead} falls into ${which}${until === undefined ? '' : `, which ends ${moment(until)}`}. ${next}`]
  }
  if (code === 'calendar') return [`${ahead} is at a time that its calendars leave out. ${next}`]
  if (code === 'scheduler-behind') {
    return [at === undefined ? detail : `${detail.slice(0, -1)}: it was ${relativeWords(Date.parse(at), now)}.`]
  }
  if ((code === 'last-skipped' || code === 'last-missed') && at !== undefined) {
    const kind = code === 'last-skipped' ? 'skipped' : 'missed'
    return [`Its last instant was ${moment(at)}. ${reasonWords(kind, reason ?? null)}.`]
  }
  return told.has(code) ? [] : [detail]
}

const told: ReadonlySet<WhyReason['code']> = new Set([
  'job-archived',
  'job-paused',
  'in-shadow',
  'no-schedule',
  'schedule-over',
  'not-due',
  'running',
] as const)
