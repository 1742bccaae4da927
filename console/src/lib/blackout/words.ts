import type { Blackout, BlackoutPreview } from '@meridian/sdk'

export type BlackoutState = 'on' | 'coming' | 'over'

/** Whether a blackout holds now, will, or has. */
export function stateOf({ from, until }: Pick<Blackout, 'from' | 'until'>, now: number): BlackoutState {
  if (now >= Date.parse(until)) return 'over'
  return now >= Date.parse(from) ? 'on' : 'coming'
}

const plural = (count: number, word: string) => `${count.toLocaleString('en-GB')} ${word}${count === 1 ? '' : 's'}`

/** The others that hold in a part of its time as well, in a few words: `“Freeze” holds back`; undefined without any. */
export function othersWords(blackout: Blackout, all: readonly Blackout[]): string | undefined {
  const [from, until] = [Date.parse(blackout.from), Date.parse(blackout.until)]
  const others = all.filter(
    (other) => other.id !== blackout.id && Date.parse(other.from) < until && Date.parse(other.until) > from,
  )
  if (others.length === 0) return undefined
  return others.length === 1 ? `“${others[0]?.name}” holds back` : `${others.length} other blackouts hold back`
}

/**
 * What a blackout does to the starts that fall into it: `12 starts of 3 jobs are skipped`. What `others` hold back already
 * is not counted.
 */
export function affectedWords(
  { starts, jobCount, uncountedJobs }: BlackoutPreview,
  roll: Blackout['roll'],
  others?: string,
): string {
  const more =
    uncountedJobs === 0 ? '' : `${plural(uncountedJobs, 'job')} with too many starts until then to be counted`
  if (starts === 0 && more !== '') return `It may meet starts of ${more}`
  if (starts === 0)
    return others === undefined ? 'No schedule starts anything in it' : `No start beside those that ${others}`
  const fate =
    roll === 'skip'
      ? starts === 1
        ? 'is skipped'
        : 'are skipped'
      : starts === 1
        ? 'waits for its end'
        : 'wait for its end'
  return `${plural(starts, 'start')} of ${plural(jobCount, 'job')} ${fate}${more === '' ? '' : `, beside ${more}`}${others === undefined ? '' : `; without those that ${others}`}`
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
