import { actorText, audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withTx } from '../db/context.ts'
import { append } from '../event/append.ts'
import { databaseNowMs, type JobRow, lockOpenJob } from '../job/internal.ts'
import { AppError, notFound, validationFailed } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { proseValue } from '../kernel/text.ts'
import { compileTimes } from '../schedule/compile.ts'
import { nativeZones } from '../schedule/zone.ts'
import { type Occurrence, readOccurrence } from './occurrences.ts'
import { editedRestOf, restColumns } from './rests.ts'

export const occurrenceNoteValue = proseValue(2_000)

/** What a person wants of one occurrence; what is left out stays. */
export interface OccurrenceEdit {
  /** Whether it is left out. */
  skip?: boolean | undefined
  /** When it runs instead; null: when its schedule says. */
  moveTo?: Date | null | undefined
  note?: string | null | undefined
}

const dayMs = 86_400_000
/** The ledger is made so far ahead. */
const aheadMaxMs = 56 * dayMs
const moveMaxMs = 366 * dayMs

/** An occurrence as it stands before an edit. */
interface Standing {
  isSkipped: boolean
  /** It is written ahead: its run waits for its time. */
  runId: Uuid | null
  movedToMs: number | null
  note: string | null
}

/**
 * Skips one occurrence that is still to come, moves it, writes a note beside it, or takes that back. Calendars and
 * blackouts do not hold for one that was moved. Throws `not-found` for what is no instant of the job's schedule,
 * `validation-failed`, and `invalid-transition` once it is due or decided.
 */
export async function editOccurrence(
  ctx: Ctx,
  jobId: Uuid,
  nominalAt: Date,
  edit: OccurrenceEdit,
): Promise<Occurrence> {
  requireScope(ctx, 'jobs:write')
  return withTx(ctx, async (tx) => {
    const job = await lockOpenJob(tx, jobId)
    const nowMs = await databaseNowMs(tx)
    const before = await readStanding(tx, job, { nominalAt, nowMs })
    const after = merge(before, edit)
    checkMove(edit, { after, job, nominalAt, nowMs })
    if (before.runId !== null && !isSameTime(before, after)) await withdrawRun(tx, job, nominalAt)
    await writeEdit(tx, job, { nominalAt, after, keepsRun: before.runId !== null && isSameTime(before, after) })
    if (!isSameTime(before, after)) await handOver(tx, job, { nominalAt, before, after })
    const data = {
      nominalAt: nominalAt.toISOString(),
      skip: after.isSkipped,
      moveTo: after.movedToMs === null ? null : new Date(after.movedToMs).toISOString(),
      note: after.note,
    }
    await append(tx, { type: 'occurrence.edited', subject: jobId, jobId, data })
    await audit(tx, 'occurrence.edit', { subject: jobId, data })
    return readOccurrence(tx, jobId, nominalAt)
  })
}

function merge(before: Standing, { skip, moveTo, note }: OccurrenceEdit): Standing {
  const movedToMs = moveTo === undefined ? before.movedToMs : (moveTo?.getTime() ?? null)
  // Moving one that was left out means that it runs.
  const isSkipped = skip ?? (moveTo instanceof Date ? false : before.isSkipped)
  return { ...before, isSkipped, movedToMs, note: note === undefined ? before.note : note }
}

const isSameTime = (before: Standing, after: Standing): boolean =>
  before.isSkipped === after.isSkipped && before.movedToMs === after.movedToMs

function checkMove(
  { skip, moveTo }: OccurrenceEdit,
  { after, job, nominalAt, nowMs }: { after: Standing; job: JobRow; nominalAt: Date; nowMs: number },
): void {
  const refuse = (detail: string): never => {
    throw validationFailed([{ pointer: '/moveTo', detail }])
  }
  if (!(moveTo instanceof Date)) return
  if (skip === true) refuse('Either `skip` or `moveTo`, not both')
  if (moveTo.getTime() <= nowMs) refuse('It has passed.')
  if (Math.abs(moveTo.getTime() - nominalAt.getTime()) > moveMaxMs) refuse('It is more than a year away.')
  if (job.state === 'paused' && after.movedToMs !== null)
    throw new AppError('invalid-transition', 'The job is paused: nothing of it can be moved.', {
      current: { state: 'paused' },
    })
}

type LedgerRow = [
  outcome: Occurrence['outcome'],
  reason: string | null,
  runId: Uuid | null,
  effectiveMs: number | null,
  moved: boolean,
  note: string | null,
  isWaiting: boolean,
]

async function readStanding(
  tx: Tx,
  { id, spec, nextAt }: JobRow,
  { nominalAt, nowMs }: { nominalAt: Date; nowMs: number },
): Promise<Standing> {
  const nominalMs = nominalAt.getTime()
  const rows = await runNamed<LedgerRow>(
    tx.client,
    'occurrence_to_edit',
    `select o.outcome, o.reason, o.run_id, round(extract(epoch from o.effective_at)::float8 * 1000), o.moved, o.note,
       exists (select from due d where d.tenant_id = $1 and d.id = o.run_id and d.attempt = 0 and d.pool >= 0)
     from occurrences o where o.tenant_id = $1 and o.job_id = $2 and o.nominal_at = $3 and o.until_at is null for update`,
    [tx.tenantId, id, nominalAt],
  )
  const [row] = rows
  if (row === undefined) {
    const isToCome = nextAt !== null && nominalAt >= nextAt && nominalMs > nowMs
    if (!isToCome || spec === null || compileTimes(spec, nativeZones, id).next(nominalMs - 1)?.at !== nominalMs)
      throw notFound('occurrence')
    if (nominalMs - nowMs > aheadMaxMs)
      throw validationFailed([{ pointer: '/nominalAt', detail: 'It is more than 8 weeks ahead.' }])
    return { isSkipped: false, runId: null, movedToMs: null, note: null }
  }
  const [outcome, reason, runId, effectiveMs, moved, note, isWaiting] = row
  const isSkipped = outcome === 'skipped' && ['edited', 'calendar', 'blackout'].includes(reason ?? '')
  const isOpen = outcome === 'pending' && (runId === null || isWaiting)
  if (!(isOpen || isSkipped) || (isSkipped ? nominalMs : (effectiveMs ?? nominalMs)) <= nowMs)
    throw new AppError('invalid-transition', 'The occurrence is due, or decided, already.', {
      current: { outcome, reason },
    })
  return { isSkipped, runId, movedToMs: moved ? effectiveMs : null, note }
}

/** Takes its run away before an executor can get it. Its run is not counted any more. */
async function withdrawRun(tx: Tx, { id }: JobRow, nominalAt: Date): Promise<void> {
  const rows = await runNamed<[number]>(
    tx.client,
    'withdraw_run',
    `with d as (
       delete from due d where d.tenant_id = $1 and d.job_id = $2 and d.nominal_at = $3 and d.attempt = 0 and d.pool >= 0
       returning d.id, d.project_id, d.keep_week),
     i as (
       delete from inputs i using d where i.tenant_id = $1 and i.project_id = d.project_id and i.keep_week = d.keep_week and i.id = d.id),
     s as (update schedules set runs_left = runs_left + 1 where tenant_id = $1 and job_id = $2 and exists (select from d))
     select count(*)::int from d`,
    [tx.tenantId, id, nominalAt],
  )
  if (rows[0]?.[0] !== 1)
    throw new AppError('invalid-transition', 'The occurrence is on its way already.', {
      current: { outcome: 'pending' },
    })
}

async function writeEdit(
  tx: Tx,
  { id, version }: JobRow,
  { nominalAt, after, keepsRun }: { nominalAt: Date; after: Standing; keepsRun: boolean },
): Promise<void> {
  const { isSkipped, movedToMs, note } = after
  await runNamed(
    tx.client,
    'write_occurrence_edit',
    `insert into occurrences as o (tenant_id, job_id, nominal_at, project_id, job_version, outcome, reason, tz_version, decided_at,
       effective_at, moved, note, edited_by)
     values ($1, $2, $3, $4, $5, case when $6 then 'skipped' else 'pending' end, case when $6 then 'edited' end, $7,
       case when $6 then clock_timestamp() end, $8, $8::timestamptz is not null, $9, $10)
     on conflict (tenant_id, job_id, nominal_at) do update set outcome = excluded.outcome, reason = excluded.reason,
       decided_at = excluded.decided_at, moved = excluded.moved, note = excluded.note, edited_by = excluded.edited_by,
       run_id = case when $11 then o.run_id end, effective_at = case when $11 then o.effective_at else excluded.effective_at end`,
    [
      tx.tenantId,
      id,
      nominalAt,
      tx.projectId,
      version,
      isSkipped,
      nativeZones.version,
      movedToMs === null || isSkipped ? null : new Date(movedToMs),
      note,
      actorText(tx.actor),
      keepsRun,
    ],
  )
}

/**
 * Lets the scheduler write the run of one that is not its schedule's next to decide any more, or that starts at another
 * time. All others are decided when their time comes.
 */
async function handOver(
  tx: Tx,
  { id, nextAt }: JobRow,
  { nominalAt, before, after }: { nominalAt: Date; before: Standing; after: Standing },
): Promise<void> {
  const isPassed = nextAt === null || nominalAt < nextAt
  const isHandedOver = ({ isSkipped, movedToMs }: Standing): boolean => !isSkipped && (movedToMs !== null || isPassed)
  const isOurs = isHandedOver(after)
  // Handed over before, and not written yet: counted already.
  const wasOurs = before.runId === null && isHandedOver(before)
  await runNamed(
    tx.client,
    'hand_over_occurrence',
    `with r as (
       insert into schedule_rests (${restColumns})
       select ${editedRestOf('s', '$3::timestamptz')} from schedules s where s.tenant_id = $1 and s.job_id = $2 and $4
       on conflict (tenant_id, job_id, until_at) do nothing)
     update schedules set revisits = true, runs_left = runs_left - $5 where tenant_id = $1 and job_id = $2`,
    [tx.tenantId, id, nominalAt, isOurs, Number(isOurs) - Number(wasOurs)],
  )
}
