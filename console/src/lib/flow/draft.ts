import type { Limit, LimitChanges, NewLimit } from '@meridian/sdk'
import { parseIsoDuration, toIsoDuration } from '#lib/time/duration.ts'

export type ScopeType = NonNullable<NewLimit['scope']>['type']

/** A limit as a person writes it; an empty number is no limit of that kind. */
export interface LimitDraft {
  name: string
  scope: ScopeType
  queue: string
  jobId: string
  host: string
  key: string
  cost: string
  concurrency: number | undefined
  rateCount: number | undefined
  ratePerMs: number | undefined
  rateBurst: number | undefined
  backlogMax: number | undefined
  whenFull: 'reject' | 'drop-oldest'
}

const minuteMs = 60_000

/** A limit for changing it, or an empty form, for a queue where one is known. */
export function draftOf(limit: Limit | undefined, queue = ''): LimitDraft {
  const { scope } = limit ?? { scope: queue === '' ? { type: 'project' as const } : { type: 'queue' as const, queue } }
  return {
    name: limit?.name ?? '',
    scope: scope.type,
    queue: scope.type === 'queue' ? scope.queue : '',
    jobId: scope.type === 'job' ? scope.jobId : '',
    host: scope.type === 'host' ? scope.host : '',
    key: limit?.key ?? '',
    cost: limit?.cost ?? '',
    concurrency: limit?.concurrency ?? undefined,
    rateCount: limit?.rate?.count,
    ratePerMs: limit?.rate ? parseIsoDuration(limit.rate.per) : minuteMs,
    rateBurst: limit?.rate && limit.rate.burst !== limit.rate.count ? limit.rate.burst : undefined,
    backlogMax: limit?.backlog?.max,
    whenFull: limit?.backlog?.whenFull ?? 'reject',
  }
}

/** What a draft allows; what is left empty is not limited. */
export function changesOf({
  name,
  concurrency,
  rateCount,
  ratePerMs = minuteMs,
  rateBurst,
  backlogMax,
  whenFull,
}: LimitDraft): Required<LimitChanges> {
  const burst = rateBurst === undefined ? {} : { burst: rateBurst }
  return {
    name: name.trim(),
    concurrency: concurrency ?? null,
    rate: rateCount === undefined ? null : { count: rateCount, per: toIsoDuration(ratePerMs), ...burst },
    backlog: backlogMax === undefined ? null : { max: backlogMax, whenFull },
  }
}

/** The limit that a draft asks for. */
export const limitOf = (draft: LimitDraft): NewLimit => ({
  ...changesOf(draft),
  scope: scopeOf(draft),
  key: draft.key.trim() || null,
  cost: draft.cost.trim() || null,
})

function scopeOf({ scope, queue, jobId, host }: LimitDraft): NonNullable<NewLimit['scope']> {
  if (scope === 'queue') return { type: scope, queue }
  if (scope === 'job') return { type: scope, jobId }
  if (scope === 'host') return { type: scope, host: host.trim().toLowerCase() }
  return { type: scope }
}

/** Why a draft can't be saved yet, or undefined. */
export function missingIn(draft: LimitDraft): string | undefined {
  const { name, scope, queue, jobId, host, concurrency, rateCount, backlogMax } = draft
  if (name.trim() === '') return 'Give it a name first'
  if (scope === 'queue' && queue === '') return 'Choose the queue first'
  if (scope === 'job' && jobId === '') return 'Choose the job first'
  if (scope === 'host' && host.trim() === '') return 'Say which host first'
  if (concurrency === undefined && rateCount === undefined && backlogMax === undefined)
    return 'Say what it allows first: at once, in a time, or waiting'
  return undefined
}

/** The limit again after it was lifted. */
export const againOf = ({ name, scope, key, cost, concurrency, rate, backlog }: Limit): NewLimit => ({
  name,
  scope,
  key,
  cost,
  concurrency,
  rate,
  backlog,
})
