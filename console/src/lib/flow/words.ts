import type { Limit, LimitUsage, Queue } from '@meridian/sdk'
import { durationWords, parseIsoDuration } from '#lib/time/duration.ts'

const number = (value: number): string => value.toLocaleString('en-GB')

/** What a limit holds for: `runs of queue reports, apart for each body.customer.id`. */
export function scopeWords({ scope }: Pick<Limit, 'scope'>, jobName: string | undefined): string {
  switch (scope.type) {
    case 'tenant':
      return 'all runs of the organisation'
    case 'project':
      return 'all runs of this project'
    case 'queue':
      return `runs of queue ${scope.queue}`
    case 'job':
      return `runs of ${jobName ?? 'a job that is gone'}`
    case 'host':
      return `calls of ${scope.host}`
  }
}

/** `100 in 1 h, at most 10 at once`; null where it has no rate. */
export function rateWords({ rate }: Pick<Limit, 'rate'>): string | null {
  if (rate === null) return null
  const per = parseIsoDuration(rate.per)
  const words = `${number(rate.count)} in ${per === undefined ? rate.per : durationWords(per)}`
  return rate.burst === rate.count ? words : `${words}, ${number(rate.burst)} of them at once`
}

/** What a limit allows, each in a few words. */
export function allowWords(limit: Pick<Limit, 'concurrency' | 'rate' | 'backlog'>): string[] {
  const { concurrency, backlog } = limit
  const rate = rateWords(limit)
  return [
    ...(concurrency === null ? [] : [`${number(concurrency)} at once`]),
    ...(rate === null ? [] : [rate]),
    ...(backlog === null
      ? []
      : [
          `${number(backlog.max)} may wait, then the ${backlog.whenFull === 'reject' ? 'next is refused' : 'oldest is dropped'}`,
        ]),
  ]
}

/** What becomes of the next run that would wait, where as many wait as may; undefined while there is room. */
export function fullWords(
  { backlog }: Pick<Limit, 'backlog'>,
  { backlog: waiting }: Pick<LimitUsage, 'backlog'>,
): string | undefined {
  if (backlog === null || waiting === null || waiting < backlog.max) return undefined
  return backlog.whenFull === 'reject' ? 'the next is refused' : 'the next ends the oldest'
}

/** What a queue is beside the usual ones: `Bulk, put back for critical runs`; undefined for a standard one. */
export function classWords({ class: name, preemptible }: Pick<Queue, 'class' | 'preemptible'>): string | undefined {
  if (name === 'standard') return undefined
  return `${name === 'bulk' ? 'Bulk' : 'Critical'}${preemptible ? ', put back for critical runs' : ''}`
}

/** Why one value of a limit lets nothing through, or undefined while it does. */
export function heldWords(
  { room, concurrency, used, tokens }: Pick<LimitUsage, 'room' | 'concurrency' | 'used' | 'tokens'>,
  isPaused: boolean,
): string | undefined {
  if (isPaused) return 'Paused'
  if (room === null || room > 0) return undefined
  if (concurrency !== null && used >= concurrency) return 'Full'
  return tokens !== null && tokens <= 0 ? 'Waits for a token' : 'Nothing gets through'
}
