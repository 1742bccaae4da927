import { hash } from 'node:crypto'
import { arrayLiteral, isAway, type Pool, runNamed } from '../db/client.ts'
import { type Tx, withTx } from '../db/context.ts'
import type { StoredEvent } from '../event/event.ts'
import { systemCtx } from '../job/keep.ts'
import { toWireId, type Uuid } from '../kernel/ids.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { acceptRuns } from './accept.ts'
import { readRequest } from './get.ts'
import { takeLane } from './lane.ts'
import { type IntakeRow, toIntakeRow } from './prepare.ts'
import { decodeRequest, encodeRequest, type RunRequest } from './request-codec.ts'
import { retryPolicyValue, toRetryPolicy } from './retry-policy.ts'
import type { Run } from './run.ts'
import { selectRunsById } from './select.ts'
import type { Callback, CallbackEnd } from './target.ts'

/** Where runs that tell of others wait, apart from what a project does otherwise. */
const queue = 'callbacks'
const timeoutMs = 30_000
/** Over three hours: 5 s, 20 s, 80 s, ... up to an hour apart. */
const retry = toRetryPolicy(retryPolicyValue.parse({ limit: 8, delay: 'PT5S', factor: 4, maxDelay: 'PT1H' }))

const endOf: Partial<Record<string, CallbackEnd>> = {
  'run.succeeded': 'success',
  'run.failed': 'failure',
  'run.expired': 'failure',
}

interface Told {
  tenantId: Uuid
  projectId: Uuid
  runId: Uuid
  end: CallbackEnd
}

// Where nobody is told of anything this reads no more than that.
const findStatement = `
  with u as materialized (
    select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[]) u(t, p, i, j, e)
    where exists (select from run_callbacks) or exists (select from job_versions where definition->'target' ? 'callbacks'))
  select u.t, u.p, u.i, u.e from u
  where exists (
      select from run_callbacks c where c.tenant_id = u.t and c.run_id = u.i
        and case u.e when 'success' then c.on_success else c.on_failure end offset 0)
    or u.j is not null and exists (
      select from job_versions v join inputs i on i.tenant_id = v.tenant_id and i.job_id = v.job_id and i.job_version = v.version
      where v.tenant_id = u.t and v.job_id = u.j and v.definition->'target' ? 'callbacks' and v.definition->'target'->'callbacks' ? u.e
        and i.tenant_id = u.t and i.project_id = u.p and i.id = u.i offset 0)`

/**
 * Starts the runs that tell of runs that have ended, by these events. Telling an event again starts nothing anew. One
 * that can't be made, since its tenant's key is gone, is told to `onLost`. Returns the runs started.
 */
export async function startCallbacks(
  pool: Pool,
  keyRing: KeyRing,
  events: readonly StoredEvent[],
  onLost: (error: unknown, runId: Uuid) => void,
): Promise<number> {
  const told = await findTold(pool, events)
  let started = 0
  for (const [, these] of Map.groupBy(told, ({ projectId }) => projectId)) {
    const [first] = these
    if (first === undefined) continue
    const { tenantId, projectId } = first
    // A key that is gone is found where it is needed, run by run.
    await keyRing.load(tenantId).catch(() => undefined)
    started += await withTx(systemCtx(pool, keyRing, [tenantId, projectId]), (tx) => startIn(tx, these, onLost))
  }
  return started
}

async function findTold(pool: Pool, events: readonly StoredEvent[]): Promise<Told[]> {
  const ended = events.filter(({ type, subject }) => endOf[type] !== undefined && subject !== null)
  if (ended.length === 0) return []
  const rows = await runNamed<[Uuid, Uuid, Uuid, CallbackEnd]>(pool, 'find_told', findStatement, [
    arrayLiteral(ended.map(({ tenantId }) => tenantId)),
    arrayLiteral(ended.map(({ projectId }) => projectId)),
    arrayLiteral(ended.map(({ subject }) => subject)),
    arrayLiteral(ended.map(({ jobId }) => jobId)),
    arrayLiteral(ended.map(({ type }) => endOf[type])),
  ])
  return rows.map(([tenantId, projectId, runId, end]) => ({ tenantId, projectId, runId, end }))
}

async function startIn(tx: Tx, told: readonly Told[], onLost: (error: unknown, runId: Uuid) => void): Promise<number> {
  const ids = told.map(({ runId }) => runId)
  const runs = await selectRunsById(tx.client, tx.tenantId, tx.projectId, ids)
  const rows: IntakeRow[] = []
  for (const { runId, end } of told) {
    const run = runs.get(runId)
    const callback = run && (await readCallback(tx, run, end, onLost))
    if (run !== undefined && callback !== undefined) rows.push(await toRow(tx, run, callback))
  }
  if (rows.length > 0) await acceptRuns({ pool: tx.client, keyRing: tx.keyRing }, rows, false)
  await runNamed(
    tx.client,
    'forget_told',
    'delete from run_callbacks where tenant_id = $1 and run_id = any($2::uuid[])',
    [tx.tenantId, ids],
  )
  return rows.length
}

async function readCallback(
  tx: Tx,
  { id }: Run,
  end: CallbackEnd,
  onLost: (error: unknown, runId: Uuid) => void,
): Promise<Callback | undefined> {
  try {
    return decodeRequest(await readRequest(tx, id)).callbacks?.[end]
  } catch (error) {
    if (isAway(error)) throw error
    onLost(error, id)
    return undefined
  }
}

/** The run that tells of a run. It has no callbacks itself, so nothing is told of it. */
async function toRow(tx: Tx, run: Run, { url, headers }: Callback): Promise<IntakeRow> {
  const asks: RunRequest = { method: 'POST', url, headers, timeoutMs, retry }
  const row = await toIntakeRow(tx, {
    queue,
    asks,
    attemptsMax: retry.limit + 1,
    source: 'callback',
    callbackOf: run.id,
    idempotencyKey: `\u001fcallback\u001f${run.id}`,
    fingerprint: hash('sha256', run.id, 'buffer'),
  })
  const facts = factsOf(run)
  row.request = encodeRequest(asks, Buffer.from(JSON.stringify(facts)))
  return takeLane(tx, row, { ...asks, body: () => facts })
}

/** What the target is told. */
const factsOf = (run: Run): Record<string, unknown> => ({
  type: `run.${run.status}`,
  run: {
    id: toWireId('run', run.id),
    status: run.status,
    jobId: run.jobId && toWireId('job', run.jobId),
    jobVersion: run.jobVersion,
    queue: run.queueName,
    attempt: run.attempt,
    createdAt: run.createdAt,
    dueAt: run.dueAt,
    nominalAt: run.nominalAt,
    startedAt: run.startedAt,
    finishedAt: run.finishedAt,
    durationMs: run.durationMs,
    httpStatus: run.httpStatus,
    error: run.error,
    replayOf: run.replayOf && toWireId('run', run.replayOf),
    tags: run.tags,
    metadata: run.metadata,
  },
})
