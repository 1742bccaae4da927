import type { Attempt, Run, Why, WhyReason } from '@meridian/sdk'
import { relativeWords } from '#lib/time/words.ts'
import { errorSentence } from './error-words.ts'

/** A sentence about why a run waits, with what it speaks of. */
export interface WhyLine {
  text: string
  /** Runs that are in the way. */
  runIds: readonly string[]
  limitId?: string | undefined
  /** Who paused it. */
  by?: string | undefined
}

/** Why a run is not running, in sentences; empty when it is, or has ended. */
export function whyWaiting(why: Why | undefined, attempts: readonly Attempt[], now: number): WhyLine[] {
  if (!why?.isWaiting) return []
  const lines = why.reasons.flatMap((reason) => linesOf(reason, attempts, now))
  const { expectedAt, expiresAt } = why
  const isTold = why.reasons.some(({ code }) => code === 'not-due' || code === 'waits-for-retry')
  if (expectedAt !== null && !isTold)
    lines.push(`It is expected to go on ${relativeWords(Date.parse(expectedAt), now)}.`)
  if (expiresAt !== null)
    lines.push(`Should it still wait then, it expires ${relativeWords(Date.parse(expiresAt), now)}.`)
  return lines.map((line) => (typeof line === 'string' ? { text: line, runIds: [] } : line))
}

function linesOf(
  { code, detail, evidence }: WhyReason,
  attempts: readonly Attempt[],
  now: number,
): (string | WhyLine)[] {
  const { at, since, reason, ahead = 0, runIds = [], limitId, by } = evidence
  const ago = since === undefined ? '' : `, since ${relativeWords(Date.parse(since), now)}`
  if (code === 'not-due' && at !== undefined) return [`It is due ${relativeWords(Date.parse(at), now)}.`]
  if (code === 'waits-for-retry') return retryWords(evidence, attempts.at(-1), now)
  if (code === 'queue-paused' || code === 'limit-paused') {
    const paused = { text: `${detail.slice(0, -1)}${ago}.`, runIds, limitId, by }
    return reason === undefined ? [paused] : [paused, `The reason given: ${reason}`]
  }
  if (code === 'breaker-open') {
    const held = `${detail.slice(0, -1)}${ago}.`
    const tried = at === undefined ? [] : [`It is tried again ${relativeWords(Date.parse(at), now)}.`]
    return [held, ...(reason === undefined ? [] : [`The reason given: ${reason}`]), ...tried, ...aheadWords(ahead)]
  }
  if (code === 'waits-for-batch') return [detail]
  if (code === 'no-executor') return [`${detail.slice(0, -1)}${ago}.`]
  if (code === 'next-in-line' || ahead === 0) return [{ text: detail, runIds, limitId }]
  return [{ text: [detail, ...aheadWords(ahead)].join(' '), runIds, limitId }]
}

const aheadWords = (ahead: number): string[] =>
  ahead === 0 ? [] : [`${ahead.toLocaleString('en-GB')} ${ahead === 1 ? 'other comes' : 'others come'} before it.`]

function retryWords(evidence: WhyReason['evidence'], last: Attempt | undefined, now: number): string[] {
  const { attempt = 0, attemptsMax, error, at } = evidence
  const cause = error === undefined ? 'It failed.' : errorSentence(error, last?.httpStatus ?? null)
  const left = attemptsMax === undefined ? '' : `, of at most ${attemptsMax}`
  const due = at === undefined ? 'due later' : `due ${relativeWords(Date.parse(at), now)}`
  return [`Attempt ${attempt} failed. ${cause}`, `Attempt ${attempt + 1}${left}, is ${due}.`]
}

/** Whether there is a question to ask. */
export const isWaiting = (status: Run['status']): boolean =>
  status === 'scheduled' || status === 'ready' || status === 'queued'
