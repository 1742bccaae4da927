import { audit } from '../access/audit.ts'
import { readLedger, readSpans, readWaiting } from '../certificate/read-ledger.ts'
import { reconcileSteps } from '../certificate/reconcile.ts'
import { virtualPool } from '../clock/virtual.ts'
import { runNamed } from '../db/client.ts'
import type { Tx } from '../db/context.ts'
import { append } from '../event/append.ts'
import { databaseNowMs, lockJob } from '../job/internal.ts'
import { firstInstant } from '../job/write-schedule.ts'
import type { Uuid } from '../kernel/ids.ts'
import { runBetween } from '../kernel/steps.ts'
import { compileTimes } from '../schedule/compile.ts'
import { leadMsOf } from '../schedule/decide.ts'
import { nativeZones } from '../schedule/zone.ts'

/** What was wrong with a schedule, or that nothing was. */
export interface Repair {
  isRepaired: boolean
  /** Instants of the last 31 days that the ledger does not tell of; the scheduler decides them now. */
  missing: number
  before: Date | null
  after: Date | null
}

/** How far back gaps are looked for. */
const backMs = 31 * 86_400_000
/** What is younger is still being decided, and may be written already. */
const settledMs = 5_000

/**
 * Sets a job's schedule to where its ledger says that it stands: at the first instant that is not told of, be it a gap or
 * the one after the last. The scheduler goes on from there and leaves alone what the ledger has. A schedule that stands
 * right, is paused, or follows a test clock, is left as it is, so that doing it twice changes nothing. Throws `not-found`.
 */
export async function repairSchedule(tx: Tx, id: Uuid): Promise<Repair> {
  const job = await lockJob(tx, id)
  const { spec, nextAt: before } = job
  const [[pool, isPaused, runsLeft] = [virtualPool, true, null]] = await runNamed<[number, boolean, number | null]>(
    tx.client,
    'schedule_to_repair',
    'select pool, paused, runs_left from schedules where tenant_id = $1 and job_id = $2',
    [tx.tenantId, id],
  )
  const unchanged: Repair = { isRepaired: false, missing: 0, before, after: before }
  if (spec === null || isPaused || pool === virtualPool || job.archivedAt !== null) return unchanged

  const nowMs = await databaseNowMs(tx)
  const range = { fromMs: nowMs - backMs, toMs: nowMs - settledMs }
  const spans = await readSpans(tx, id, range)
  const rows = await readLedger(tx, id, range)
  // Whatever the schedule says of itself is what is in doubt: only what it left behind is known to be worked off.
  const waiting = (await readWaiting(tx, id)).filter(({ untilMs }) => Number.isFinite(untilMs))
  const reconciled = spans.map((span, index) => ({
    ...span,
    aheadMs: settledMs + (span.spec === null ? 0 : leadMsOf(span.spec)),
    endsInSeam: index < spans.length - 1,
    next: span.spec === null || span.isPaused ? null : compileTimes(span.spec, nativeZones, id).next,
  }))
  const { mismatches } = await runBetween(reconcileSteps({ spans: reconciled, rows, waiting, ...range }))
  const current = spans.at(-1)
  // What an earlier version left out can't be decided by the rules of this one.
  const missing = mismatches.filter(({ kind, atMs }) => kind === 'missing' && atMs > (current?.fromMs ?? Infinity))
  const [[lastMs] = [null]] = await runNamed<[number | null]>(
    tx.client,
    'last_decided_instant',
    `select round(extract(epoch from max(coalesce(until_at, nominal_at)))::float8 * 1000) from occurrences
     where tenant_id = $1 and job_id = $2 and nominal_at <= to_timestamp($3::float8 / 1000)`,
    [tx.tenantId, id, nowMs + settledMs + leadMsOf(spec)],
  )
  const following = runsLeft === 0 ? null : firstInstant(spec, id, Math.max(lastMs ?? 0, current?.fromMs ?? nowMs))
  const after = missing[0] === undefined ? following : new Date(missing[0].atMs)
  if (after?.getTime() === before?.getTime()) return unchanged

  await runNamed(
    tx.client,
    'repair_schedule',
    'update schedules set next_at = $3, revisits = true, updated_at = now() where tenant_id = $1 and job_id = $2',
    [tx.tenantId, id, after],
  )
  const data = { before, after, missing: missing.length }
  await append(tx, { type: 'job.repaired', subject: id, jobId: id, data })
  await audit(tx, 'job.repair', { subject: id, data })
  return { isRepaired: true, missing: missing.length, before, after }
}
