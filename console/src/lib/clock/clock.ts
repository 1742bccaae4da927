import type { TestClock } from '@meridian/sdk'
import { durationWords } from '#lib/time/duration.ts'
import { momentWords } from '#lib/time/words.ts'

/** The steps that are offered: lengths of time on the calendar. */
export const steps = [
  { by: 'PT1H', words: 'An hour' },
  { by: 'P1D', words: 'A day' },
  { by: 'P7D', words: 'A week' },
  { by: 'P1M', words: 'A month' },
] as const

/** What a clock is doing. It counts in UTC. */
export function clockWords({ now, target, openRuns }: Pick<TestClock, 'now' | 'target' | 'openRuns'>): string {
  if (target === null) return 'It stands still.'
  const goal = momentWords(Date.parse(target), 'UTC', Date.parse(now))
  const wait = openRuns > 0 ? `, waiting for ${openRuns === 1 ? 'a run' : `${openRuns} runs`} to end` : ''
  return `On its way to ${goal}${wait}.`
}

/** How far apart two instants of a clock are, as one reads a list of what comes. */
export const aheadWords = (at: string, now: string): string => `in ${durationWords(Date.parse(at) - Date.parse(now))}`
