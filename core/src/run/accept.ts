import {
  arrayLiteral,
  byteaArray,
  type Pool,
  type PoolClient,
  runNamed,
  textArrayLiteral,
  toAppError,
} from '../db/client.ts'
import { laneColumns } from '../flow/lanes.ts'
import { AppError } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { sealTogether } from '../secret/block.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { showKey } from './create-key.ts'
import { detailsJson } from './details.ts'
import { type OverlapRule, overlapCodes } from './overlap.ts'
import type { IntakeRow } from './prepare.ts'
import { type Run, runSources } from './run.ts'

/** How its key led a create to an earlier run: nothing was made, or that run does now what was asked for. */
export type FoundBy = 'deduplicated' | 'debounced'

/**
 * How one row was answered. A replayed run is shown as it was when it was created. Of a run that was found by a key only
 * its id is known here, and not of which batch one is that was collected: read them.
 */
export type IntakeResult =
  | { outcome: 'accepted' | 'collected' | 'replayed' | FoundBy; run: Run; dueAtMs: number }
  | { outcome: 'refused'; error: AppError }

/** What accepting takes. */
export interface AcceptMeans {
  pool: Pool | PoolClient
  keyRing: KeyRing
}

/** A claim fetches whole blocks, and runs that are due apart are claimed apart: so they are small. */
const blockBytes = 16_384
/** Runs that are all due at once are claimed together. Still small enough for a claim to carry. */
const blockBytesAtOnce = 49_152
const weekMs = 7 * 86_400_000

/** Blocks are kept as long as the longest kept of them, so only what is due at about the same time shares one. */
const weekOf = (dueAtMs: number | null): number => (dueAtMs === null ? 0 : Math.floor(dueAtMs / weekMs))

/** A debounced run is put off by itself, and its request with it. */
const groupOf = ({ dueAtMs, details }: IntakeRow, index: number): number =>
  details?.key?.kind === 'debounce' ? -1 - index : weekOf(dueAtMs)

type AcceptedRow = [number, number, Uuid, number, number, boolean]

const places22 = Array.from({ length: 22 }, (_, index) => `$${index + 1}`).join(',')
const statement = `select * from accept_runs(${places22})`
const mindingStatement = `select * from accept_minding(${places22},$23::smallint)`
const withinStatement = `select * from accept_within(${places22},$23::smallint,$24,$25)`
const detailedStatement = `select * from accept_detailed(${places22},$23::smallint,$24,$25,$26)`
const limitedStatement = `select * from accept_limited(${places22},$23::smallint,$24,$25,$26,$27,$28,$29,$30,$31,$32,$33)`

/**
 * Writes the runs of one flush in one transaction; returning means they are on disk. Each row is answered by itself,
 * in order. With `batch` all rows are of one caller and tell one event and one audit line, which carries `digest`.
 * Throws `dependency-unavailable` when the database is away; then nothing was written.
 */
export async function acceptRuns(
  means: AcceptMeans,
  rows: IntakeRow[],
  batch: boolean,
  digest = '',
): Promise<IntakeResult[]> {
  try {
    const values = await parametersOf(means.keyRing, rows, batch, digest)
    if (rows.some(isMore)) return toResults(rows, await acceptMore(means, rows, [...values, null]))
    return toResults(rows, await runNamed<AcceptedRow>(means.pool, 'accept_runs', statement, values))
  } catch (error) {
    throw toAppError(error)
  }
}

/**
 * Writes one run of a job by hand that minds the job's other runs: a moment later its overlap rule decides whether it
 * runs, waits, or ends as skipped. Throws as `acceptRuns`.
 */
export async function acceptMinding(means: AcceptMeans, row: IntakeRow, rule: OverlapRule): Promise<IntakeResult> {
  try {
    const values = [...(await parametersOf(means.keyRing, [row], false, '')), overlapCodes[rule]]
    const answers = isMore(row)
      ? await acceptMore(means, [row], values)
      : await runNamed<AcceptedRow>(means.pool, 'accept_minding', mindingStatement, values)
    const [result] = toResults([row], answers)
    if (result === undefined) throw new Error('a run was not answered')
    return result
  } catch (error) {
    throw toAppError(error)
  }
}

const hasLane = ({ lane }: IntakeRow): boolean => lane !== null

const hasDeadline = ({ startWithinMs, endWithinMs }: IntakeRow): boolean =>
  startWithinMs !== undefined || endWithinMs !== undefined

/** Whether it takes more than what all runs have: such flushes go through functions that cost the others nothing. */
const isMore = (row: IntakeRow): boolean => hasDeadline(row) || row.details !== undefined || hasLane(row)

function acceptMore(means: AcceptMeans, rows: IntakeRow[], values: unknown[]): Promise<AcceptedRow[]> {
  const within = [
    ...values,
    arrayLiteral(rows.map(({ startWithinMs }) => startWithinMs)),
    arrayLiteral(rows.map(({ endWithinMs }) => endWithinMs)),
  ]
  const details = rows.map((row) => row.details)
  const json = details.every((each) => each === undefined) ? null : detailsJson(details)
  if (rows.some(hasLane)) {
    const lanes = [arrayLiteral(rows.map(({ lane }) => lane?.id)), ...laneColumns(rows)]
    return runNamed<AcceptedRow>(means.pool, 'accept_limited', limitedStatement, [...within, json, ...lanes])
  }
  return json === null
    ? runNamed<AcceptedRow>(means.pool, 'accept_within', withinStatement, within)
    : runNamed<AcceptedRow>(means.pool, 'accept_detailed', detailedStatement, [...within, json])
}

async function parametersOf(keyRing: KeyRing, rows: IntakeRow[], batch: boolean, digest: string): Promise<unknown[]> {
  const { blocks, places, lost } = await sealTogether(
    keyRing,
    rows.map((row, index) => ({ tenantId: row.tenantId, bytes: row.request, group: groupOf(row, index) })),
    rows.every(({ dueAtMs }) => dueAtMs === rows[0]?.dueAtMs) ? blockBytesAtOnce : blockBytes,
  )
  // Nothing may be written of a batch that is not whole; alone, a row without its request is refused by itself.
  for (const error of lost.values()) throw error
  const column = (pick: (row: IntakeRow) => string | number | null): string => arrayLiteral(rows.map(pick))
  const base64 = (bytes: Buffer | null): string | null => bytes?.toString('base64') ?? null
  return [
    column((row) => row.tenantId),
    column((row) => row.projectId),
    column((row) => row.id),
    column((row) => row.queueId),
    column((row) => row.priority),
    column((row) => row.attemptsMax),
    column((row) => row.dueAtMs),
    arrayLiteral(places.map((place) => place?.blockId)),
    arrayLiteral(places.map((place) => place?.offset)),
    column((row) => runSources.indexOf(row.source)),
    column((row) => row.jobId),
    column((row) => row.jobVersion),
    column((row) => row.replayOf),
    textArrayLiteral(rows.map((row) => row.idempotencyKey)),
    column((row) => base64(row.fingerprint)),
    column((row) => row.actor),
    textArrayLiteral(rows.map((row) => row.requestId)),
    batch,
    digest,
    arrayLiteral(blocks.map((block) => block.tenantId)),
    arrayLiteral(blocks.map((block) => block.id)),
    byteaArray(blocks.map((block) => block.sealed)),
  ]
}

function toResults(rows: IntakeRow[], answers: AcceptedRow[]): IntakeResult[] {
  const results = new Array<IntakeResult>(rows.length)
  for (const answer of answers) {
    const row = rows[answer[0] - 1]
    if (row !== undefined) results[answer[0] - 1] = toResult(row, answer)
  }
  return results
}

const outcomes = { 0: 'accepted', 1: 'replayed', 4: 'deduplicated', 5: 'debounced' } as Partial<
  Record<number, 'accepted' | 'replayed' | FoundBy>
>

const labelsOf = ({ details, jobTags }: IntakeRow): string[] =>
  details === undefined && jobTags.length === 0 ? [] : [...new Set([...(details?.tags ?? []), ...jobTags])].toSorted()

function toResult(row: IntakeRow, [, outcome, id, dueAtMs, createdAtMs, isReady]: AcceptedRow): IntakeResult {
  if (outcome === 2) {
    return {
      outcome: 'refused',
      error: new AppError('idempotency-mismatch', 'This idempotency key was used for another request.'),
    }
  }
  if (outcome === 6) {
    return {
      outcome: 'refused',
      error: new AppError('rate-limited', 'As many runs wait as a limit of its backlog allows.', {
        retryAfterSeconds: 1,
      }),
    }
  }
  if (outcome === 3) return { outcome: 'refused', error: new AppError('not-found', 'The queue is gone. Try again.') }
  const run: Run = {
    id,
    projectId: row.projectId,
    jobId: row.jobId,
    jobVersion: row.jobVersion,
    queueId: row.queueId,
    queueName: row.queueName,
    status: isReady ? 'ready' : 'scheduled',
    source: row.source,
    priority: row.priority,
    attempt: 0,
    attemptsMax: row.attemptsMax,
    fence: 0,
    createdAt: new Date(createdAtMs),
    dueAt: new Date(dueAtMs),
    nominalAt: null,
    startedAt: null,
    finishedAt: null,
    durationMs: null,
    latenessMs: null,
    httpStatus: null,
    error: null,
    replayOf: row.replayOf,
    tags: labelsOf(row),
    metadata: row.details?.metadata ?? {},
    createKey: row.details?.key === undefined ? null : showKey(row.details.key, row),
    callbackOf: row.details?.callbackOf ?? null,
    batchRunId: null,
  }
  const isCollected = outcome === 0 && row.details?.key?.kind === 'collect'
  return { outcome: isCollected ? 'collected' : (outcomes[outcome] ?? 'accepted'), run, dueAtMs }
}
