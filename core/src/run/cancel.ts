import { audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withTx } from '../db/context.ts'
import { append } from '../event/append.ts'
import { AppError } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { alreadyEnded, readRun } from './get.ts'
import { isFinal, type Run } from './run.ts'

export interface Cancelled {
  run: Run
  /** An executor that should be told to stop: tell it through `cancelChannel`. */
  interrupt: { pool: number; runId: Uuid; fence: number } | null
}

type GoneRow = [number, number, boolean]

// Whichever table holds the run, its row is taken out and written to the history as cancelled. The guarded deletes
// race with dispatcher and executor: one of them gets the row. What was queued gives back what it took of rates.
const statement = `
  with i as materialized (select * from inputs where tenant_id = $1 and project_id = $2 and id = $3),
  d as (delete from due t where t.tenant_id = $1 and t.project_id = $2 and t.id = $3 returning t.*),
  w as (delete from ready t where t.tenant_id = $1 and t.project_id = $2 and t.id = $3 returning t.*),
  h as (delete from held t using i where t.pool = i.pool and t.tenant_id = $1 and t.queue_id = i.queue_id and t.id = $3 returning t.*),
  gone as (
    select pool, queue_id, attempt, fence, due_at, job_id, nominal_at, null::timestamptz as since, null::uuid as executor_id, false as running from d
    union all select pool, queue_id, attempt, fence, due_at, job_id, nominal_at, null, null, false from w
    union all select pool, queue_id, attempt, fence, due_at, job_id, nominal_at, case when state = 3 then since end, executor_id, state = 3 from h),
  r as (
    insert into runs (tenant_id, project_id, id, queue_id, pool, state, attempt, fence, due_at, started_at, ended_at, duration_ms, error,
      job_id, nominal_at, executor_id)
    select $1, $2, $3, queue_id, abs(pool) % 1000, 6, attempt, fence, due_at, since, clock_timestamp(),
      (extract(epoch from clock_timestamp() - since) * 1000)::int, 'cancelled', job_id, nominal_at, executor_id from gone
    returning job_id, nominal_at),
  o as (
    update occurrences o set outcome = 'skipped', reason = 'cancelled', decided_at = clock_timestamp() from r
    where o.tenant_id = $1 and o.job_id = r.job_id and o.nominal_at = r.nominal_at and o.outcome = 'pending')
  select abs(pool)::int % 1000, fence, running from gone
  cross join (select return_own_tokens(array_agg(queue_id), array_agg(lane)) from h where state = 2) back`

// A run can slip from one table to the next under the statement's snapshot; a fresh one finds it.
const looks = 5

/**
 * Ends an open run as cancelled, wherever it stands; one that is being performed is told to stop, and whatever its
 * executor reports later is refused. Cancelling a cancelled run changes nothing. Throws `not-found`, or
 * `invalid-transition` when it ended otherwise.
 */
export async function cancelRun(ctx: Ctx, id: Uuid): Promise<Cancelled> {
  requireScope(ctx, 'runs:write')
  return withTx(ctx, async (tx) => {
    for (let look = 0; look < looks; look++) {
      const rows = await runNamed<GoneRow>(tx.client, 'cancel_run', statement, [tx.tenantId, tx.projectId, id])
      const run = await readRun(tx, id)
      const gone = rows[0]
      if (gone !== undefined) {
        await tell(tx, run)
        const [pool, fence, wasRunning] = gone
        return { run, interrupt: wasRunning ? { pool, runId: id, fence } : null }
      }
      if (run.status === 'cancelled') return { run, interrupt: null }
      if (isFinal(run.status)) throw alreadyEnded(run)
    }
    throw new AppError('conflict', 'The run is moving too fast to be cancelled. Try again.', { retryAfterSeconds: 1 })
  })
}

async function tell(tx: Tx, run: Run): Promise<void> {
  await append(tx, { type: 'run.cancelled', subject: run.id, ...(run.jobId === null ? {} : { jobId: run.jobId }) })
  await audit(tx, 'run.cancel', { subject: run.id, data: { attempt: run.attempt } })
}
