import { requireScope } from '../access/scope.ts'
import { arrayLiteral, runNamed } from '../db/client.ts'
import { type Ctx, withRead } from '../db/context.ts'
import { validationFailed } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { runBetween } from '../kernel/steps.ts'
import { type Ahead, instantsMax, instantsOf, readAhead } from './job-upcoming.ts'
import { countedBy } from './occurrence-counts.ts'

export interface UpcomingCounts {
  /** By when the minute, hour or day begins; without those in which nothing comes. */
  counts: { from: Date; coming: number; skipped: number }[]
  /** The last instant that was counted, where there were too many to count all; else null. */
  countedUntil: Date | null
}

interface Counted {
  comingMs: number[]
  skippedMs: number[]
  countedUntil: Date | null
}

const instantsPerStep = 64

/**
 * The instants of a job's schedule after now between two (from inclusive, to exclusive), counted by the minutes, hours or
 * days of a zone, as `countOccurrences` counts the ledger; what is in the ledger is in no count here. At most 100,000 are
 * counted. Throws `not-found`, and `validation-failed` for a range that is too long to count so finely.
 */
export async function countUpcoming(
  ctx: Ctx,
  jobId: Uuid,
  { from, to, by, timezone }: { from: Date; to: Date; by: keyof typeof countedBy; timezone: string },
): Promise<UpcomingCounts> {
  requireScope(ctx, 'jobs:read')
  if (to.getTime() - from.getTime() > countedBy[by])
    throw validationFailed([{ pointer: '/from', detail: `The range is too long to be counted by the ${by}.` }])
  const ahead = await withRead(ctx, (tx) => readAhead(tx, jobId))
  if (ahead === undefined) return { counts: [], countedUntil: null }
  // Long schedules take a while, in which no transaction is open.
  const { comingMs, skippedMs, countedUntil } = await runBetween(steps(ahead, from.getTime(), to.getTime() - 1))
  return withRead(ctx, async (tx) => {
    const rows = await runNamed<[Date, number, number]>(
      tx.client,
      'count_upcoming',
      `with o as materialized (select nominal_at from occurrences where tenant_id = $1 and job_id = $2 and nominal_at >= $3 and nominal_at < $4)
       select date_trunc($5, u.at, $6), count(*) filter (where u.comes)::int, count(*) filter (where not u.comes)::int
       from (select to_timestamp(ms / 1000.0) as at, true as comes from unnest($7::float8[]) ms
         union all select to_timestamp(ms / 1000.0), false from unnest($8::float8[]) ms) u
       where u.at not in (select nominal_at from o) group by 1 order by 1`,
      [tx.tenantId, jobId, from, to, by, timezone, arrayLiteral(comingMs), arrayLiteral(skippedMs)],
    )
    return { counts: rows.map(([at, coming, skipped]) => ({ from: at, coming, skipped })), countedUntil }
  })
}

function* steps(ahead: Ahead, fromMs: number, untilMs: number): Generator<undefined, Counted, undefined> {
  const counted: Counted = { comingMs: [], skippedMs: [], countedUntil: null }
  let looked = 0
  for (const instant of instantsOf(ahead, { fromMs, untilMs })) {
    if (++looked % instantsPerStep === 0) yield
    if (instant !== null)
      (instant.skipped === null ? counted.comingMs : counted.skippedMs).push(instant.nominalAt.getTime())
    if (looked === instantsMax) counted.countedUntil = instant?.nominalAt ?? new Date(fromMs)
  }
  return counted
}
