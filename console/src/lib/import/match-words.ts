import type { MatchCounts, MatchReport } from '@meridian/sdk'
import type { Meaning } from '#lib/draw/outcome.ts'

export type MatchOutcome = Exclude<keyof MatchCounts, 'failed'>

/** What each outcome of a match means to the reader, in the order in which it is told. */
export const matchOutcomes: readonly { name: MatchOutcome; label: string; meaning: Meaning; hint: string }[] = [
  { name: 'matched', label: 'matched', meaning: 'succeeded', hint: 'Ran there within a minute of its instant' },
  { name: 'late', label: 'late', meaning: 'waiting', hint: 'Ran there, more than a minute late' },
  { name: 'missing', label: 'missing', meaning: 'failed', hint: 'Was expected, and never told of' },
  { name: 'unexpected', label: 'unexpected', meaning: 'running', hint: 'Ran there at a time that is no instant here' },
  { name: 'waiting', label: 'not told yet', meaning: 'quiet', hint: 'Was expected a moment ago' },
]

export const heard = (counts: MatchCounts): number => counts.matched + counts.late + counts.unexpected

/** How the comparison stands, in one sentence: what a person has to know before they switch. */
export function reportWords({ totals, jobs }: Pick<MatchReport, 'totals' | 'jobs'>): string {
  const expected = totals.matched + totals.late + totals.missing
  if (jobs.length === 0) return 'None of its jobs is left.'
  if (heard(totals) === 0) return 'No ping has come yet: the old system has to call the ping URLs.'
  const silent = jobs.filter((job) => job.lastPingAt === null).length
  const parts = [
    `${totals.matched + totals.late} of ${expected} expected runs were told of`,
    ...(totals.late > 0 ? [`${totals.late} of them late`] : []),
    ...(totals.unexpected > 0 ? [`${totals.unexpected} came when nothing was expected`] : []),
    ...(silent > 0 ? [`${silent} of ${jobs.length} jobs never pinged`] : []),
  ]
  return `${parts.join(', ')}.`
}
