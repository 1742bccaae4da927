import type { Collision } from '@meridian/sdk'
import { durationWords, parseIsoDuration } from '#lib/time/duration.ts'

const plural = (count: number, word: string) => `${count.toLocaleString('en-GB')} ${word}${count === 1 ? '' : 's'}`

const perWords: Record<number, string> = { 60000: 'a minute', 600000: 'in ten minutes', 3600000: 'an hour' }

/** `3 starts a minute`: what is counted in one slice. */
export const rateWords = (count: number, sliceMs: number): string =>
  `${plural(count, 'start')} ${perWords[sliceMs] ?? `in ${durationWords(sliceMs)}`}`

/** `about 3`, `0.4`, `12`: how many go on at once, on average. */
export function runningWords(running: number): string {
  if (running === 0) return '0'
  if (running < 0.1) return '< 0.1'
  return running < 10 ? String(Math.round(running * 10) / 10) : Math.round(running).toLocaleString('en-GB')
}

/** How the most that goes on at once stands to what may: undefined when nothing limits it. */
export function shareWords(running: number, capacity: number | null): string | undefined {
  if (capacity === null || capacity === 0) return undefined
  const share = running / capacity
  return share > 0 && share < 0.01 ? '< 1 %' : `${Math.round(share * 100)} %`
}

/** How often the same jobs meet. */
export const timesWords = (times: number): string => (times === 1 ? 'once' : `${times.toLocaleString('en-GB')} times`)

/** What helps against a collision: `Spread over 10 min, about 7 start each minute.` */
export function adviceWords({ suggestion }: Pick<Collision, 'suggestion'>): string {
  if (suggestion === null) return 'A blackout ends then, and all that waited for it starts.'
  const { window, perMinute } = suggestion
  return `Spread over ${windowWords(window)}, about ${perMinute.toLocaleString('en-GB')} start each minute.`
}

/** A window's length: `10 min`. */
export const windowWords = (window: string): string => durationWords(parseIsoDuration(window) ?? 0)

/** How many of some jobs start each minute when they are spread over a window. */
export const perMinute = (count: number, window: string): number =>
  Math.ceil(count / Math.max(1, (parseIsoDuration(window) ?? 0) / 60_000))
