import { isDeepStrictEqual } from 'node:util'
import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withRead, withTx } from '../db/context.ts'
import { append } from '../event/append.ts'
import { databaseNowMs } from '../job/internal.ts'
import { AppError, notFound, validationFailed } from '../kernel/errors.ts'
import { toWireId, type Uuid } from '../kernel/ids.ts'
import { runBetween } from '../kernel/steps.ts'
import { compileTimes } from '../schedule/compile.ts'
import { leadMsOf } from '../schedule/decide.ts'
import type { FullSchedule } from '../schedule/full-schedule.ts'
import { nativeZones, type ZoneDatabase } from '../schedule/zone.ts'
import type { InstallationKey } from '../secret/installation-key.ts'
import { readLedger, readSpans, readWaiting, type Span, tooMuch } from './read-ledger.ts'
import { isoOf, type ReconciledSpan, type Reconciliation, reconcileSteps } from './reconcile.ts'

/** What the installation signs: all of it is on the wire. */
export interface Certificate {
  jobId: string
  projectId: string
  tenantId: string
  from: string
  /** Exclusive. */
  to: string
  issuedAt: string
  /** Of the time zone data that this process computes with. */
  tzVersion: string
  /** What the schedule was, and the data each was decided with. */
  spans: {
    from: string
    until: string | null
    jobVersion: number
    tzVersion: string
    isPaused: boolean
    schedule: FullSchedule | null
    /** False: its time zone data is not here, so that its instants were not computed again. */
    isRecomputed: boolean
  }[]
  /** The instants that the schedule has, and the SHA-256 of their lines. */
  expected: Reconciliation['expected']
  /** What the ledger tells, and the SHA-256 of its lines. */
  ledger: Reconciliation['ledger']
  outcomes: Reconciliation['outcomes']
  undecided: number
  atSeams: number
  unchecked: number
  mismatchCount: number
  /** The first 100. */
  mismatches: { at: string; kind: Reconciliation['mismatches'][number]['kind'] }[]
  /** Every instant was computed again, and is told of in the ledger exactly once. */
  isComplete: boolean
}

export interface Issuer {
  key: InstallationKey | null
  /** The time zone data of a version; undefined when it is not here. */
  zonesOf(version: string): ZoneDatabase | undefined
  /** What is younger is still being decided: 5 seconds. */
  settledMs?: number
}

const daysMax = 366
/** The scheduler writes so far ahead at most, beside what calendars roll back. */
const aheadMs = 5_000
const settledDefaultMs = 5_000

/**
 * Computes the instants of a job's schedule in [from, to) again, from what the schedule was and with the time zone data it
 * had, and holds its ledger against them. The answer is signed. Deleted jobs have one, too. A mismatch is told as an
 * event, once. Throws `not-found`, `validation-failed`, and `dependency-unavailable` when there is no key to sign with.
 */
export async function issueCertificate(
  ctx: Ctx,
  { key, zonesOf, settledMs = settledDefaultMs }: Issuer,
  { jobId, from, to }: { jobId: Uuid; from?: Date | undefined; to?: Date | undefined },
): Promise<{ certificate: Certificate; jws: string }> {
  requireScope(ctx, 'jobs:read')
  if (key === null) throw new AppError('dependency-unavailable', 'This installation has no key to sign with.')
  const { spans, waiting, range, nowMs } = await withRead(ctx, async (tx) => {
    await requireJob(tx, jobId)
    const nowMs = await databaseNowMs(tx)
    const range = toRange({ from, to }, nowMs - settledMs)
    return { spans: await readSpans(tx, jobId, range), waiting: await readWaiting(tx, jobId), range, nowMs }
  })
  const rows = await readLedger(ctx, jobId, range)
  const reconciled = spans.map((span, index) => {
    const following = spans[index + 1]
    const endsInSeam = following !== undefined && !isDeepStrictEqual(following.spec, span.spec)
    return { ...toReconciled(span, jobId, zonesOf), endsInSeam }
  })
  const result = await runBetween(reconcileSteps({ spans: reconciled, rows, waiting, ...range })).catch(whenTooMuch)
  const { mismatches, ...counts } = result
  const certificate: Certificate = {
    jobId: toWireId('job', jobId),
    projectId: toWireId('prj', ctx.projectId),
    tenantId: toWireId('ten', ctx.tenantId),
    from: isoOf(range.fromMs),
    to: isoOf(range.toMs),
    issuedAt: isoOf(nowMs),
    tzVersion: nativeZones.version,
    spans: spans.map((span, index) => toTold(span, reconciled[index]?.next !== undefined)),
    ...counts,
    mismatches: mismatches.map(({ atMs, kind }) => ({ at: isoOf(atMs), kind })),
    isComplete: result.mismatchCount === 0 && reconciled.every(({ next }) => next !== undefined),
  }
  if (result.mismatchCount > 0) await tellMismatch(ctx, jobId, certificate)
  return { certificate, jws: key.sign('meridian-certificate', certificate) }
}

async function requireJob(tx: Tx, id: Uuid): Promise<void> {
  const rows = await runNamed<[boolean]>(
    tx.client,
    'certified_job',
    `select p.has_test_clock from jobs j join projects p on p.tenant_id = j.tenant_id and p.id = j.project_id
     where j.tenant_id = $1 and j.project_id = $2 and j.id = $3`,
    [tx.tenantId, tx.projectId, id],
  )
  const [row] = rows
  if (row === undefined) throw notFound('job')
  if (row[0]) throw new AppError('conflict', 'What follows a test clock is not certified.')
}

function toRange({ from, to }: { from?: Date | undefined; to?: Date | undefined }, latestMs: number) {
  const toMs = Math.min(to?.getTime() ?? latestMs, latestMs)
  const fromMs = from?.getTime() ?? toMs - 30 * 86_400_000
  if (fromMs >= toMs) throw validationFailed([{ pointer: '/from', detail: 'must be before `to`, and in the past' }])
  if (toMs - fromMs > daysMax * 86_400_000)
    throw validationFailed([{ pointer: '/from', detail: `must be at most ${daysMax} days before \`to\`` }])
  return { fromMs, toMs }
}

function toReconciled(span: Span, jobId: Uuid, zonesOf: Issuer['zonesOf']): Omit<ReconciledSpan, 'endsInSeam'> {
  const { fromMs, untilMs, jobVersion, overMs, spec, tzVersion } = span
  const told = { fromMs, untilMs, jobVersion, overMs, aheadMs: aheadMs + (spec === null ? 0 : leadMsOf(spec)) }
  if (spec === null) return { ...told, next: null }
  const zones = zonesOf(tzVersion)
  try {
    return { ...told, next: zones && compileTimes(spec, zones, jobId).next }
  } catch (error) {
    // Its zone is not in that data.
    if (error instanceof RangeError) return { ...told, next: undefined }
    throw error
  }
}

const toTold = (
  { fromMs, untilMs, jobVersion, tzVersion, isPaused, spec }: Span,
  isRecomputed: boolean,
): Certificate['spans'][number] => ({
  from: isoOf(fromMs),
  until: untilMs === Number.POSITIVE_INFINITY ? null : isoOf(untilMs),
  ...{ jobVersion, tzVersion, isPaused, schedule: spec, isRecomputed },
})

function whenTooMuch(error: unknown): never {
  throw error instanceof RangeError ? tooMuch() : error
}

/** Nobody did anything, so there is no audit line. The same finding is told once. */
async function tellMismatch(ctx: Ctx, jobId: Uuid, { from, to, mismatchCount, mismatches, ledger }: Certificate) {
  await withTx(ctx, async (tx) => {
    const known = await tx.client.query(
      `select 1 from events where tenant_id = $1 and subject = $2 and type = 'certificate.mismatch' and data ->> 'ledger' = $3
         and at > now() - interval '7 days' limit 1`,
      [tx.tenantId, jobId, ledger.digest],
    )
    if (known.rows.length > 0) return
    const data = { from, to, mismatches: mismatchCount, first: mismatches[0], ledger: ledger.digest }
    await append(tx, { type: 'certificate.mismatch', subject: jobId, jobId, data })
  })
}
