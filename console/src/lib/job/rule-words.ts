import type { Expectation, JobVersionDefinition, JsonExpectation } from '@meridian/sdk'
import { exactWords, parseIsoDuration } from '#lib/time/duration.ts'
import type { RetryPolicy, RetryRule } from './retry-form.ts'

/** A duration of the API in words; what is no duration stays as it is. */
export function spanWords(duration: string): string {
  const milliseconds = parseIsoDuration(duration)
  return milliseconds === undefined ? duration : exactWords(milliseconds)
}

const listWords = (words: readonly string[], last = 'and'): string =>
  words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`

type Pauses = Partial<Pick<RetryPolicy, 'strategy' | 'delay' | 'factor' | 'maxDelay' | 'jitter' | 'delays'>>

/** How pauses grow; empty when nothing is said of it. */
function pauseWords({ strategy, delay, factor, maxDelay, delays }: Pauses): string {
  if (delays !== undefined) return `after ${listWords(delays.map(spanWords))}`
  const most = maxDelay === undefined ? '' : `, at most ${spanWords(maxDelay)}`
  const first = delay === undefined ? '' : `after ${spanWords(delay)}`
  if (strategy === 'fixed') return first && `each ${first}`
  if (strategy === 'linear')
    return delay === undefined ? '' : `${first}, then ${spanWords(delay)} longer each time${most}`
  if (first === '') return most.slice(2)
  const longer = factor === undefined || factor === 2 ? 'twice as long' : `${factor} times as long`
  return factor === 1 ? `each ${first}` : `${first}, then ${longer} each time${most}`
}

/** When and how often a job is tried again, in a sentence; the rules for some failures are told by `ruleWords`. */
export function retryWords(retry: RetryPolicy): string {
  if (retry.limit === 0) return 'Never'
  const times = retry.delays === undefined ? `Up to ${retry.limit}` : String(retry.limit)
  const latest = retry.maxAge === undefined ? '' : `; none later than ${spanWords(retry.maxAge)} after it was due`
  const expressed = retry.expression === undefined ? '' : ', unless its expression says otherwise'
  return `${times} ${retry.limit === 1 ? 'time' : 'times'}, ${pauseWords(retry)}${expressed}${latest}`
}

/** What holds after some failures instead. */
export function ruleWords({ on, retry, limit, ...pauses }: RetryRule): string {
  const when = `After ${listWords(on, 'or')}`
  if (!retry) return `${when}: not again`
  const times = limit === undefined ? '' : `${limit === 1 ? 'once' : `up to ${limit} times`}`
  return `${when}: ${[times, pauseWords(pauses)].filter(Boolean).join(', ') || 'again, in the same way'}`
}

function jsonWords({ path, equals, notEquals, matches, exists }: JsonExpectation): string[] {
  return [
    ...(equals === undefined ? [] : [`${path} is ${JSON.stringify(equals)}`]),
    ...(notEquals === undefined ? [] : [`${path} is not ${JSON.stringify(notEquals)}`]),
    ...(matches === undefined ? [] : [`${path} matches ${matches}`]),
    ...(exists === undefined ? [] : [exists ? `There is a ${path}` : `There is no ${path}`]),
  ]
}

/** What an answer has to be for a run to succeed, a line each. */
export function expectWords(expect: Expectation | undefined): string[] {
  return [
    `The status is ${listWords(expect?.status ?? ['2xx'], 'or')}`,
    ...(expect?.json ?? []).flatMap(jsonWords),
    ...(expect?.matches ?? []).map((pattern) => `The body matches ${pattern}`),
    ...(expect?.notMatches ?? []).map((pattern) => `The body does not match ${pattern}`),
  ]
}

/** Until when a run has to begin and to end, or undefined. */
export function deadlineWords({
  startWithin,
  endWithin,
}: Pick<JobVersionDefinition, 'startWithin' | 'endWithin'>): string | undefined {
  const limits = [
    ...(startWithin === null ? [] : [`begin within ${spanWords(startWithin)}`]),
    ...(endWithin === null ? [] : [`end within ${spanWords(endWithin)}`]),
  ]
  return limits.length === 0 ? undefined : `It has to ${listWords(limits)} after it was due, or it expires`
}
