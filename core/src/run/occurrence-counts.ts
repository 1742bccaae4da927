import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, withRead } from '../db/context.ts'
import { validationFailed } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { type Occurrence, requireLedger } from './occurrences.ts'
import { stateCodes } from './run.ts'
import { clockSlack } from './select.ts'

/** What a ledger may be counted by, and how much of it at once. */
export const countedBy = { minute: 86_400_000 + 3_600_000, hour: 35 * 86_400_000, day: 400 * 86_400_000 }

export interface OccurrenceCount {
  /** When the minute, hour or day begins. */
  from: Date
  pending: number
  /** With those that failed. */
  run: number
  /** Whose run failed, or expired before it began. */
  failed: number
  skipped: number
  missed: number
}

/** Instants in a row that came to the same. */
export type Stretch = Pick<Occurrence, 'nominalAt' | 'untilAt' | 'count' | 'outcome' | 'reason'>

export interface CountedOccurrences {
  /** Without those in which nothing was. */
  counts: OccurrenceCount[]
  /** Entries that stand for several instants: they are in no count. */
  stretches: Stretch[]
}

type CountRow = [from: Date, outcome: Occurrence['outcome'] | 'failed', count: number]

/**
 * The ledger of a job between two instants (from inclusive, to exclusive), counted by the minutes, hours or days of a
 * zone. Throws `not-found`, and `validation-failed` for a range that is too long to count so finely.
 */
export const countOccurrences = (
  ctx: Ctx,
  jobId: Uuid,
  asked: { from: Date; to: Date; by: keyof typeof countedBy; timezone: string },
): Promise<CountedOccurrences> => {
  requireScope(ctx, 'jobs:read')
  const { from, to, by, timezone } = asked
  if (to.getTime() - from.getTime() > countedBy[by])
    throw validationFailed([{ pointer: '/from', detail: `The range is too long to be counted by the ${by}.` }])
  return withRead(ctx, async (tx) => {
    await requireLedger(tx, jobId)
    const rows = await runNamed<CountRow>(
      tx.client,
      'count_occurrences',
      `select date_trunc($5, nominal_at, $6) as at, outcome, count(*)::int from occurrences
       where tenant_id = $1 and job_id = $2 and nominal_at >= $3 and nominal_at < $4 and until_at is null group by 1, 2
       union all
       select date_trunc($5, nominal_at, $6), 'failed', count(*)::int from runs
       where tenant_id = $1 and job_id = $2 and nominal_at >= $3 and nominal_at < $4
         and state in (${stateCodes.failed}, ${stateCodes.expired}) and ended_at >= least($3,
           (select min(effective_at) from occurrences where tenant_id = $1 and job_id = $2 and nominal_at >= $3
             and nominal_at < $4 and moved)) - ${clockSlack}
       group by 1 order by 1`,
      [tx.tenantId, jobId, from, to, by, timezone],
    )
    const counts = new Map<number, OccurrenceCount>()
    for (const [at, outcome, count] of rows) {
      const entry = counts.get(at.getTime()) ?? { from: at, pending: 0, run: 0, failed: 0, skipped: 0, missed: 0 }
      counts.set(at.getTime(), { ...entry, [outcome]: count })
    }
    const stretches = await runNamed<[Date, Date, number, Occurrence['outcome'], string | null]>(
      tx.client,
      'occurrence_stretches',
      `select nominal_at, until_at, count, outcome, reason from occurrences
       where tenant_id = $1 and job_id = $2 and nominal_at < $4 and until_at >= $3 order by nominal_at limit 1000`,
      [tx.tenantId, jobId, from, to],
    )
    return {
      counts: [...counts.values()],
      stretches: stretches.map(([nominalAt, untilAt, count, outcome, reason]) => ({
        ...{ nominalAt, untilAt, count, outcome, reason },
      })),
    }
  })
}
