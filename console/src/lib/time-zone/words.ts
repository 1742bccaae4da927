import type { TimeZoneReport } from '@meridian/sdk'

/** A schedule that time zone data moves, or moved. */
export interface Move {
  jobId: string
  jobName: string
  timezone?: string | undefined
  /** The first of its instants, as they were and as they become. */
  before: readonly string[]
  after: readonly string[]
  removed?: number
  added?: number
  problem?: string | undefined
}

export const schedulesWords = (count: number): string =>
  `${count.toLocaleString('en-GB')} schedule${count === 1 ? '' : 's'}`

export const moveOf = ({ problem, ...move }: TimeZoneReport['data'][number]): Move => ({
  ...move,
  problem: problem ?? undefined,
})

/** `41 instants move`, or how many are lost and come where these are not as many. */
export function changeWords({ removed, added }: Pick<Move, 'removed' | 'added'>): string {
  if (removed === undefined || added === undefined) return ''
  const size = (count: number) => count.toLocaleString('en-GB')
  if (removed === added) return `${size(removed)} instant${removed === 1 ? ' moves' : 's move'}`
  return `${size(removed)} lost, ${size(added)} new`
}

/** What a report says, in a sentence or two. */
export function reportWords(report: Omit<TimeZoneReport, 'data'>): string {
  const { version, current, moved, schedules, uncompared } = report
  const first =
    moved === 0
      ? `${version} moves nothing within a year: ${schedulesWords(schedules)} ${schedules === 1 ? 'has' : 'have'} the same instants as with ${current}.`
      : `${version} moves ${moved.toLocaleString('en-GB')} of ${schedulesWords(schedules)} within a year. Nothing is changed until it is applied.`
  if (uncompared === 0) return first
  return `${first} ${schedulesWords(uncompared)} with too many instants ${uncompared === 1 ? 'was' : 'were'} not compared.`
}
