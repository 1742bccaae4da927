import type { Blackout, BlackoutPreview } from '@meridian/sdk'

export type BlackoutState = 'on' | 'coming' | 'over'

/** Whether a blackout holds now, will, or has. */
export function stateOf({ from, until }: Pick<Blackout, 'from' | 'until'>, now: number): BlackoutState {
  if (now >= Date.parse(until)) return 'over'
  return now >= Date.parse(from) ? 'on' : 'coming'
}

const plural = (count: number, word: string) => `${count.toLocaleString('en-GB')} ${word}${count === 1 ? '' : 's'}`

/** What a blackout does to the starts that fall into it: `12 starts of 3 jobs are skipped`. */
export function affectedWords({ starts, jobCount, uncountedJobs }: BlackoutPreview, roll: Blackout['roll']): string {
  const more =
    uncountedJobs === 0 ? '' : `${plural(uncountedJobs, 'job')} with too many starts until then to be counted`
  if (starts === 0) return more === '' ? 'No schedule starts anything in it' : `It may meet starts of ${more}`
  const fate =
    roll === 'skip'
      ? starts === 1
        ? 'is skipped'
        : 'are skipped'
      : starts === 1
        ? 'waits for its end'
        : 'wait for its end'
  return `${plural(starts, 'start')} of ${plural(jobCount, 'job')} ${fate}${more === '' ? '' : `, beside ${more}`}`
}

/** Where a stretch lies on an axis, as shares of its length; undefined when it lies beside it. */
export function barOf(
  { from, until }: Pick<Blackout, 'from' | 'until'>,
  axis: { from: number; to: number },
): { left: number; width: number } | undefined {
  const start = Math.max(Date.parse(from), axis.from)
  const end = Math.min(Date.parse(until), axis.to)
  if (start >= end) return undefined
  const length = axis.to - axis.from
  return { left: (start - axis.from) / length, width: (end - start) / length }
}
