import type { DeadLetterFilter, DeadLetterGroup } from '@meridian/sdk'

/** The filter that a page's URL asks for: `?job=…&queue=…&quarantined=yes`. */
export function readFilter(params: Pick<URLSearchParams, 'get'>): DeadLetterFilter {
  const [job, queue] = [params.get('job'), params.get('queue')]
  return {
    ...(job ? { jobId: job } : {}),
    ...(queue ? { queue } : {}),
    ...(params.get('quarantined') === 'yes' ? { isQuarantined: true } : {}),
  }
}

/** The groups that have letters of the filter. */
export const groupsOf = (
  groups: readonly DeadLetterGroup[],
  { jobId, queue, isQuarantined }: DeadLetterFilter,
): DeadLetterGroup[] =>
  groups.filter(
    (group) =>
      (jobId === undefined || group.jobId === jobId) &&
      (queue === undefined || group.queue === queue) &&
      (!isQuarantined || group.quarantined > 0),
  )

interface Choice {
  value: string
  label: string
}

const byLabel = (one: Choice, other: Choice) => one.label.localeCompare(other.label)

/** The jobs and the queues that have dead letters. */
export function placesOf(groups: readonly DeadLetterGroup[]): { jobs: Choice[]; queues: Choice[] } {
  const jobs = new Map(
    groups.flatMap(({ jobId, jobName }) => (jobId === null ? [] : [[jobId, jobName ?? 'A deleted job']])),
  )
  const queues = new Set(groups.map(({ queue }) => queue))
  return {
    jobs: [...jobs].map(([value, label]) => ({ value, label })).toSorted(byLabel),
    queues: [...queues].map((queue) => ({ value: queue, label: queue })).toSorted(byLabel),
  }
}
