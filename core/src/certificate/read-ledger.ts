import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withRead } from '../db/context.ts'
import { validationFailed } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { FullSchedule } from '../schedule/full-schedule.ts'
import { instantsMax, type LedgerRow } from './reconcile.ts'

/** What a job's schedule was from an instant on, until the next one. */
export interface Span {
  readonly fromMs: number
  readonly untilMs: number
  readonly jobVersion: number
  readonly spec: FullSchedule | null
  readonly isPaused: boolean
  readonly tzVersion: string
  readonly overMs: number | null
}

const ms = (column: string): string => `round(extract(epoch from ${column})::float8 * 1000)`

/** What the schedule was within [from, to), oldest first; nothing before the job had one. */
export async function readSpans(tx: Tx, jobId: Uuid, range: { fromMs: number; toMs: number }): Promise<Span[]> {
  const rows = await runNamed<[number, number | null, number, FullSchedule | null, boolean, string, number | null]>(
    tx.client,
    'schedule_spans',
    `select ${ms('s.from_at')}, ${ms('s.until_at')}, s.job_version, s.spec, s.paused, s.tz_version, case when s.spec ? 'maxRuns' then (
       select ${ms('min(o.nominal_at)')} from occurrences o where o.tenant_id = $1 and o.job_id = $2 and o.reason = 'max-runs'
         and o.nominal_at > s.from_at and (s.until_at is null or o.nominal_at <= s.until_at)) end
     from (select *, lead(from_at) over (order by from_at) as until_at from schedule_spans where tenant_id = $1 and job_id = $2) s
     where (s.until_at is null or s.until_at >= to_timestamp($3::float8 / 1000)) and s.from_at < to_timestamp($4::float8 / 1000)
     order by s.from_at`,
    [tx.tenantId, jobId, range.fromMs, range.toMs],
  )
  return rows.map(([fromMs, untilMs, jobVersion, spec, isPaused, tzVersion, overMs]) => ({
    ...{ fromMs, jobVersion, spec, isPaused, tzVersion, overMs },
    untilMs: untilMs ?? Number.POSITIVE_INFINITY,
  }))
}

/** The stretches of time that the scheduler has not decided: from the schedule's next instant on, and rests. */
export async function readWaiting(tx: Tx, jobId: Uuid): Promise<{ fromMs: number; untilMs: number }[]> {
  const rows = await runNamed<[number, number | null]>(
    tx.client,
    'undecided_stretches',
    `select ${ms('next_at')}, null::float8 from schedules where tenant_id = $1 and job_id = $2 and next_at is not null
     union all select ${ms('next_at')}, ${ms('until_at')} from schedule_rests where tenant_id = $1 and job_id = $2`,
    [tx.tenantId, jobId],
  )
  return rows.map(([fromMs, untilMs]) => ({ fromMs, untilMs: untilMs ?? Number.POSITIVE_INFINITY }))
}

type Row = [
  nominalMs: number,
  untilMs: number,
  count: number,
  outcome: LedgerRow['outcome'],
  reason: string | null,
  jobVersion: number,
]

const pageSize = 10_000

/** The ledger of a job in [from, to), oldest first, with the row that reaches into it. */
export async function readLedger(ctx: Ctx, jobId: Uuid, range: { fromMs: number; toMs: number }): Promise<LedgerRow[]> {
  const rows: LedgerRow[] = []
  for (let afterMs: number | null = null; ; ) {
    const page = await withRead(ctx, (tx) =>
      runNamed<Row>(
        tx.client,
        afterMs === null ? 'ledger_start' : 'ledger_page',
        `select ${ms('nominal_at')}, ${ms('coalesce(until_at, nominal_at)')}, count, outcome, reason, job_version from occurrences
         where tenant_id = $1 and job_id = $2 and nominal_at < to_timestamp($4::float8 / 1000)
           and ${afterMs === null ? startsWithin : 'nominal_at > to_timestamp($3::float8 / 1000)'}
         order by nominal_at limit ${pageSize}`,
        [tx.tenantId, jobId, afterMs ?? range.fromMs, range.toMs],
      ),
    )
    for (const [nominalMs, untilMs, count, outcome, reason, jobVersion] of page)
      rows.push({ nominalMs, untilMs, count, outcome, reason, jobVersion })
    if (page.length < pageSize) return rows
    if (rows.length > instantsMax) throw tooMuch()
    afterMs = rows.at(-1)?.nominalMs ?? null
  }
}

// Rows do not overlap, so of those that began earlier only the last can reach into the range.
const startsWithin = `(nominal_at >= to_timestamp($3::float8 / 1000) or nominal_at = (
  select o.nominal_at from (
    select nominal_at, until_at from occurrences where tenant_id = $1 and job_id = $2 and nominal_at < to_timestamp($3::float8 / 1000)
    order by nominal_at desc limit 1) o
  where o.until_at >= to_timestamp($3::float8 / 1000)))`

export const tooMuch = () =>
  validationFailed([{ pointer: '/from', detail: `There are more than ${instantsMax} instants: ask for less at once` }])
