import { requireScope } from '../access/scope.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withRead } from '../db/context.ts'
import { AppError, notFound } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { PageRequest } from '../kernel/page.ts'
import type { RunStatus } from './run.ts'
import { selectRunsById } from './select.ts'

export const occurrenceOutcomes = ['pending', 'run', 'skipped', 'missed'] as const

/** One nominal instant of a schedule and what became of it. */
export interface Occurrence {
  jobId: Uuid
  nominalAt: Date
  jobVersion: number
  outcome: (typeof occurrenceOutcomes)[number]
  /** Why it was skipped or missed. */
  reason: string | null
  runId: Uuid | null
  /** When it runs, or would have. */
  effectiveAt: Date
  /** The last of several instants that came to the same; its own when it stands for itself. */
  untilAt: Date
  /** How many there are. */
  count: number
  caughtUp: boolean
  /** A person moved it. */
  moved: boolean
  note: string | null
  /** Who skipped it, moved it or wrote the note, as the audit trail writes actors. */
  editedBy: string | null
  /** Version of the time zone database it was computed with. */
  tzVersion: string
  decidedAt: Date | null
}

type OccurrenceRow = [
  nominalAt: Date,
  jobVersion: number,
  outcome: Occurrence['outcome'],
  reason: string | null,
  runId: Uuid | null,
  caughtUp: boolean,
  tzVersion: string,
  decidedAt: Date | null,
  effectiveAt: Date,
  untilAt: Date,
  count: number,
  moved: boolean,
  note: string | null,
  editedBy: string | null,
]

/** An occurrence with how its run stands; null without one, when that is not kept any more, and without `runs:read`. */
export type ListedOccurrence = Occurrence & { runStatus: RunStatus | null }

/**
 * The ledger of a job between two instants (from inclusive, to exclusive), oldest first. The cursor is the last
 * instant of the page before. Throws `not-found`.
 */
export const listOccurrences = (
  ctx: Ctx,
  jobId: Uuid,
  range: { from: Date; to: Date },
  page: PageRequest,
): Promise<{ items: ListedOccurrence[]; nextCursor: string | null }> => {
  requireScope(ctx, 'jobs:read')
  return withRead(ctx, async (tx) => {
    await requireLedger(tx, jobId)
    const rows = await runNamed<OccurrenceRow>(
      tx.client,
      'list_occurrences',
      // Rows do not overlap, so of those that began earlier only the last can reach into the range.
      `select * from (
         (select ${columns} from occurrences where tenant_id = $1 and job_id = $2 and nominal_at < $3 order by nominal_at desc limit 1)
         union all
         (select ${columns} from occurrences where tenant_id = $1 and job_id = $2 and nominal_at >= $3 and nominal_at < $4
           and nominal_at > $5 order by nominal_at limit $6)) o
       where coalesce(until_at, nominal_at) >= $3 and nominal_at > $5 order by nominal_at limit $6`,
      [tx.tenantId, jobId, range.from, range.to, decodeInstant(page.cursor), page.limit + 1],
    )
    const items = rows.slice(0, page.limit).map((row) => toOccurrence(jobId, row))
    const last = items.at(-1)
    const ids = ctx.scopes.has('runs:read') ? items.flatMap(({ runId }) => runId ?? []) : []
    const runs = await selectRunsById(tx.client, tx.tenantId, tx.projectId, ids)
    const statusOf = (id: Uuid | null): RunStatus | null => (id === null ? null : (runs.get(id)?.status ?? null))
    return {
      items: items.map((item) => ({ ...item, runStatus: statusOf(item.runId) })),
      nextCursor:
        rows.length > page.limit && last ? Buffer.from(String(last.nominalAt.getTime())).toString('base64url') : null,
    }
  })
}

/** Throws `not-found` when the project has no such job. */
export async function requireLedger(tx: Tx, jobId: Uuid): Promise<void> {
  const job = await runNamed(
    tx.client,
    'occurrences_job',
    'select 1 from jobs where tenant_id = $1 and project_id = $2 and id = $3',
    [tx.tenantId, tx.projectId, jobId],
  )
  if (job.length === 0) throw notFound('job')
}

/** One row of the ledger. Throws `not-found`. */
export async function readOccurrence(tx: Tx, jobId: Uuid, nominalAt: Date): Promise<Occurrence> {
  const rows = await runNamed<OccurrenceRow>(
    tx.client,
    'read_occurrence',
    `select ${columns} from occurrences where tenant_id = $1 and job_id = $2 and nominal_at = $3`,
    [tx.tenantId, jobId, nominalAt],
  )
  if (rows[0] === undefined) throw notFound('occurrence')
  return toOccurrence(jobId, rows[0])
}

const columns = `nominal_at, job_version, outcome, reason, run_id, caught_up, tz_version, decided_at, coalesce(effective_at, nominal_at),
  coalesce(until_at, nominal_at) as until_at, count, moved, note, edited_by`

function toOccurrence(jobId: Uuid, row: OccurrenceRow): Occurrence {
  const [nominalAt, jobVersion, outcome, reason, runId, caughtUp, tzVersion, decidedAt, effectiveAt, untilAt] = row
  const [count, moved, note, editedBy] = row.slice(10) as [number, boolean, string | null, string | null]
  return {
    ...{ jobId, nominalAt, jobVersion, outcome, reason, runId, caughtUp, tzVersion, decidedAt, effectiveAt, untilAt },
    ...{ count, moved, note, editedBy },
  }
}

// Nominal instants are whole milliseconds, so this cursor loses nothing.
function decodeInstant(cursor: string | undefined): Date {
  if (cursor === undefined) return new Date(-8.64e13)
  const text = Buffer.from(cursor, 'base64url').toString()
  if (!/^\d{1,15}$/.test(text)) {
    throw new AppError('malformed-request', 'The cursor is not one that this list gave out.', {
      errors: [{ pointer: '/cursor', detail: 'not a cursor of this list' }],
    })
  }
  return new Date(Number(text))
}
