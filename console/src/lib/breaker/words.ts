import type { Breaker, BreakerSettings } from '@meridian/sdk'
import type { Meaning } from '#lib/draw/outcome.ts'
import { errorSentence } from '#lib/run/error-words.ts'

/** How a breaker stands, in a word and a mark. */
export const stateOf: Record<Breaker['state'], { words: string; meaning: Meaning }> = {
  open: { words: 'Left alone', meaning: 'failed' },
  'half-open': { words: 'Being probed', meaning: 'running' },
  draining: { words: 'Back: what was held goes in order', meaning: 'waiting' },
  closed: { words: 'Well again', meaning: 'succeeded' },
}

/** Whether it keeps runs back until something changes. */
export const isHolding = ({ state }: Breaker): boolean => state === 'open' || state === 'half-open'

/** Why its host is left alone, where its failures say so; by hand it is a person's reason. */
export function causeOf({ failures, error, httpStatus, reason, openedBy }: Breaker): string {
  if (openedBy !== null) return reason ?? ''
  if (error === null) return ''
  return `${failures === 1 ? '' : `${failures.toLocaleString('en-GB')} failures. `}${errorSentence(error, httpStatus)}`
}

const order: Breaker['state'][] = ['open', 'half-open', 'draining', 'closed']

/** Those that hold most first, those that are well again last. */
export const byUrgency = (breakers: readonly Breaker[]): Breaker[] =>
  breakers.toSorted((a, b) => {
    const isOver = (breaker: Breaker) => Number(!isHolding(breaker)) * order.indexOf(breaker.state)
    return isOver(a) - isOver(b) || b.held - a.held || Date.parse(b.since) - Date.parse(a.since)
  })

/** When a breaker opens by itself, in a sentence. */
export const ruleWords = ({ isEnabled, failures, failureShare, windowSeconds }: BreakerSettings): string =>
  isEnabled
    ? `A host that fails ${failures.toLocaleString('en-GB')} ${failures === 1 ? 'time' : 'times'} within ${windowSeconds} s, and in at least ${Math.round(failureShare * 100)} % of its attempts, is left alone: its runs wait, and no attempt is spent on it, until a probe finds it well.`
    : 'Breakers are turned off: no host is left alone unless you hold it.'
