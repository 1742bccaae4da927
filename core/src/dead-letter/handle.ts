import { and, eq, isNull, sql } from 'drizzle-orm'
import { actorText, audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { testClockNowMs, virtualPool } from '../clock/virtual.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withTx } from '../db/context.ts'
import { deadLetters } from '../db/schema.ts'
import { append } from '../event/append.ts'
import type { EventType } from '../event/event.ts'
import { seeBytes } from '../flow/cel.ts'
import { AppError } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { acceptRuns, type IntakeResult } from '../run/accept.ts'
import { deadlinesOf } from '../run/deadline.ts'
import { readLabels, readRequest } from '../run/get.ts'
import { takeLane } from '../run/lane.ts'
import { type IntakeRow, toIntakeRow } from '../run/prepare.ts'
import { bodyBytes, decodeRequest, encodeRequest } from '../run/request-codec.ts'
import type { Run } from '../run/run.ts'
import type { DeadLetter } from './dead-letter.ts'
import { lockLetter, readLetter } from './rows.ts'

export interface RedriveOptions {
  /** How long after now the new run is due. */
  delayMs: number
  /** Replaces the body, when given. */
  body?: unknown
  /** Also when it is quarantined. */
  evenQuarantined: boolean
}

/** The new run, and what whoever wakes dispatchers wants to know. */
export interface Redriven {
  run: Run
  row: IntakeRow
  result: IntakeResult
}

/**
 * Runs again what a dead letter's run did, as a new run that names it; the letter is handled. Load the key ring before.
 * Throws `not-found`, `conflict` when the letter is quarantined, and `invalid-transition` when it was handled already.
 */
export async function redriveLetter(ctx: Ctx, runId: Uuid, options: RedriveOptions): Promise<Redriven> {
  requireScope(ctx, 'runs:write')
  return withTx(ctx, async (tx) => {
    const letter = await lockOpen(tx, runId)
    if (letter.isQuarantined && !options.evenQuarantined) {
      const detail = `It has come to this end ${letter.failures} times and is quarantined. Say so to redrive it all the same.`
      throw new AppError('conflict', detail, { current: { failures: letter.failures } })
    }
    const row = await prepareRedrive(tx, letter, options)
    const [result] = await acceptRuns({ pool: tx.client, keyRing: tx.keyRing }, [row], false)
    if (result === undefined) throw new Error('a run was not answered')
    if (result.outcome === 'refused') throw result.error
    await settle(tx, letter, { handling: 'redriven', redrivenAs: result.run.id })
    await tell(tx, 'dead-letter.redriven', letter, { runId: result.run.id })
    return { run: result.run, row, result }
  })
}

async function prepareRedrive(tx: Tx, { runId, queueName }: DeadLetter, options: RedriveOptions): Promise<IntakeRow> {
  const rows = await runNamed<[Uuid | null, number | null, number]>(
    tx.client,
    'dead_input',
    `select i.job_id, i.job_version, i.priority from inputs i where i.tenant_id = $1 and i.project_id = $2 and i.id = $3`,
    [tx.tenantId, tx.projectId, runId],
  )
  const [jobId, jobVersion, priority] = rows[0] ?? [null, null, undefined]
  const request = decodeRequest(await readRequest(tx, runId))
  const { tags, metadata } = await readLabels(tx, runId)
  const row = await toIntakeRow(tx, {
    queue: queueName,
    priority,
    asks: request,
    attemptsMax: request.retry.limit + 1,
    source: 'replay',
    tags,
    metadata,
    ...deadlinesOf(request),
  })
  if (options.delayMs > 0) {
    const nowMs = row.pool === virtualPool ? await testClockNowMs(tx) : tx.clock.nowMs()
    row.dueAtMs = nowMs + options.delayMs
  }
  row.jobId = jobId
  row.jobVersion = jobVersion
  row.replayOf = runId
  const body = options.body === undefined ? request.body : bodyBytes(options.body)
  row.request = encodeRequest(request, body)
  return takeLane(tx, row, { ...request, body: () => seeBytes(body) })
}

/** Handles a dead letter by doing nothing more. Throws `not-found`, `invalid-transition` when it was handled already. */
export async function discardLetter(ctx: Ctx, runId: Uuid): Promise<DeadLetter> {
  requireScope(ctx, 'runs:write')
  return withTx(ctx, async (tx) => {
    const letter = await lockOpen(tx, runId)
    await settle(tx, letter, { handling: 'discarded', redrivenAs: null })
    await tell(tx, 'dead-letter.discarded', letter, {})
    return readLetter(tx, runId)
  })
}

/** Takes back that a letter was handled. Throws `not-found`, `conflict` when it was not, or was handled in another way since. */
export async function reopenLetter(
  ctx: Ctx,
  runId: Uuid,
  handled: Pick<DeadLetter, 'state' | 'redrivenAs'>,
): Promise<void> {
  requireScope(ctx, 'runs:write')
  return withTx(ctx, async (tx) => {
    const letter = await lockLetter(tx, runId)
    if (letter.state !== handled.state || letter.redrivenAs !== handled.redrivenAs) {
      throw new AppError('conflict', 'The dead letter has been handled otherwise since.')
    }
    await settle(tx, letter, { handling: null, redrivenAs: null })
    await tell(tx, 'dead-letter.reopened', letter, {})
  })
}

async function lockOpen(tx: Tx, runId: Uuid): Promise<DeadLetter> {
  const letter = await lockLetter(tx, runId)
  if (letter.state === 'open') return letter
  throw new AppError('invalid-transition', `The dead letter was handled already: it is ${letter.state}.`, {
    current: { state: letter.state },
  })
}

interface Handling {
  handling: 'redriven' | 'discarded' | null
  redrivenAs: Uuid | null
}

async function settle(tx: Tx, { runId }: DeadLetter, { handling, redrivenAs }: Handling): Promise<void> {
  await tx.db
    .update(deadLetters)
    .set({
      handling,
      redrivenAs,
      handledAt: handling === null ? null : sql`clock_timestamp()`,
      handledBy: handling === null ? null : actorText(tx.actor),
    })
    .where(
      and(
        eq(deadLetters.tenantId, tx.tenantId),
        eq(deadLetters.runId, runId),
        handling === null ? undefined : isNull(deadLetters.handledAt),
      ),
    )
}

const actions = {
  'dead-letter.redriven': 'dead-letter.redrive',
  'dead-letter.discarded': 'dead-letter.discard',
  'dead-letter.reopened': 'dead-letter.reopen',
} as const satisfies Partial<Record<EventType, string>>

async function tell(
  tx: Tx,
  type: keyof typeof actions,
  { runId, jobId }: DeadLetter,
  data: Record<string, unknown>,
): Promise<void> {
  await append(tx, { type, subject: runId, data, ...(jobId === null ? {} : { jobId }) })
  await audit(tx, actions[type], { subject: runId, data })
}
