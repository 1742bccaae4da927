import { z } from 'zod'
import type { flowLimits } from '../db/schema.ts'
import type { Uuid } from '../kernel/ids.ts'
import { lineValue } from '../kernel/text.ts'
import { expressionMax } from './cel.ts'
import { expressionProblem } from './expression.ts'

/** What a limit holds for. */
export type LimitScope =
  | { type: 'tenant' }
  | { type: 'project' }
  | { type: 'queue'; queueId: Uuid }
  | { type: 'job'; jobId: Uuid }
  | { type: 'host'; host: string }

/** A rate: so many units in each period, of which so many may come at once. */
export interface Rate {
  count: number
  perMs: number
  burst: number
}

export const whenFullRules = ['reject', 'drop-oldest'] as const
export interface Backlog {
  /** The most runs that may wait, for a slot or for their time. */
  max: number
  /** Refuse the newest one, or end the one that is due first as skipped. */
  whenFull: (typeof whenFullRules)[number]
}

/** Something that runs mind beyond the concurrency of their queue and their organisation. */
export interface Limit {
  id: Uuid
  /** Null: of the whole organisation. */
  projectId: Uuid | null
  name: string
  scope: LimitScope
  /** CEL: the limit holds apart for each value. Null: one for all. */
  key: string | null
  /** CEL: how many units a run takes. Null: one. */
  cost: string | null
  /** The most units that may be queued or running at once. */
  concurrency: number | null
  rate: Rate | null
  backlog: Backlog | null
  pausedAt: Date | null
  /** As the audit trail writes actors. */
  pausedBy: string | null
  pauseReason: string | null
  /** Set by an operator: nobody else changes it. */
  pinnedAt: Date | null
  pinnedBy: string | null
  createdAt: Date
  updatedAt: Date
  version: number
}

/** What of a limit can be changed. What it holds for, and what it counts by, are for good. */
export type LimitSettings = Pick<Limit, 'name' | 'concurrency' | 'rate' | 'backlog'>
export type NewLimit = LimitSettings & Pick<Limit, 'scope' | 'key' | 'cost'>

export const limitNameValue = lineValue(100)
export const unitsValue = z.int().min(1).max(1_000_000)
export const rateCountValue = z.int().min(1).max(1_000_000)
export const backlogMaxValue = z.int().min(1).max(1_000_000)
export const expressionValue = z
  .string()
  .min(1)
  .max(expressionMax)
  .superRefine((text, context) => {
    const message = expressionProblem(text)
    if (message !== null) context.addIssue({ code: 'custom', message })
  })

export const hostValue = z
  .string()
  .max(260)
  .regex(
    /^(\*\.)?([a-z0-9_]([a-z0-9_-]{0,62})\.)*[a-z0-9_]([a-z0-9_-]{0,62})(:\d{1,5})?$|^\[[0-9a-f:.]+\](:\d{1,5})?$/,
    'must be a host in lower case, with its port or without, such as api.example.com or *.example.com',
  )

type LimitRow = typeof flowLimits.$inferSelect

/** A limit as its row says. */
export const toLimit = (row: LimitRow): Limit => ({
  id: row.id,
  projectId: row.projectId,
  name: row.name,
  scope: scopeOf(row),
  key: row.keyExpression,
  cost: row.costExpression,
  concurrency: row.concurrency,
  rate:
    row.rateCount === null || row.rateMs === null || row.rateBurst === null
      ? null
      : { count: row.rateCount, perMs: row.rateMs, burst: row.rateBurst },
  backlog: row.backlogMax === null || row.whenFull === null ? null : { max: row.backlogMax, whenFull: row.whenFull },
  pausedAt: row.pausedAt,
  pausedBy: row.pausedBy,
  pauseReason: row.pauseReason,
  pinnedAt: row.pinnedAt,
  pinnedBy: row.pinnedBy,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  version: row.version,
})

function scopeOf({ scope, queueId, jobId, host }: LimitRow): LimitScope {
  if (scope === 'queue' && queueId !== null) return { type: 'queue', queueId }
  if (scope === 'job' && jobId !== null) return { type: 'job', jobId }
  if (scope === 'host' && host !== null) return { type: 'host', host }
  return scope === 'tenant' ? { type: 'tenant' } : { type: 'project' }
}

/** The columns that its settings are kept in. */
export const settingColumns = ({ name, concurrency, rate, backlog }: LimitSettings) => ({
  name,
  concurrency,
  rateCount: rate?.count ?? null,
  rateMs: rate?.perMs ?? null,
  rateBurst: rate?.burst ?? null,
  backlogMax: backlog?.max ?? null,
  whenFull: backlog?.whenFull ?? null,
})
