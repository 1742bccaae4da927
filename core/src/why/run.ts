import { requireScope } from '../access/scope.ts'
import { virtualPool } from '../clock/virtual.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withRead } from '../db/context.ts'
import type { QueueClass } from '../flow/classes.ts'
import { nilUuid, type Uuid } from '../kernel/ids.ts'
import { listAttempts, readRun } from '../run/get.ts'
import type { Run, RunStatus } from '../run/run.ts'
import { heldReasons } from './held.ts'
import { limitReasons } from './limits.ts'
import { evidenceOf, type Reason, type Why, type WhyCode, whyOf } from './why.ts'

/** Why a run is not performed at this moment, or how it ended. Throws `not-found`. */
export const explainRun = (ctx: Ctx, id: Uuid): Promise<Why> => {
  requireScope(ctx, 'runs:read')
  return withRead(ctx, async (tx) => {
    const run = await readRun(tx, id)
    if (run.finishedAt !== null) return whyOf([endedReason(run)])
    const place = await readPlace(tx, run)
    const reasons = await openReasons(tx, run, place)
    return whyOf(reasons, place.expiresAt)
  })
}

const endCodes: Partial<Record<RunStatus, [WhyCode, string]>> = {
  succeeded: ['succeeded', 'It has run, and succeeded.'],
  cancelled: ['cancelled', 'It was cancelled.'],
  skipped: ['skipped', 'It was skipped.'],
  failed: ['failed', 'It has run, and failed.'],
}

function endedReason({ status, error, attempt, finishedAt }: Run): Reason {
  const evidence = evidenceOf({ at: finishedAt, error, attempt })
  if (status === 'expired') {
    const what = error === 'start-deadline' ? 'begun' : 'ended'
    return { code: 'deadline-passed', detail: `It had not ${what} in time and expired.`, evidence, expectedAt: null }
  }
  if (status === 'skipped' && error === 'backlog') {
    const detail = 'It was skipped: as many waited as a limit lets wait.'
    return { code: 'backlog-full', detail, evidence, expectedAt: null }
  }
  const [code, detail] = endCodes[status] ?? ['failed', 'It has ended.']
  return { code, detail, evidence, expectedAt: null }
}

/** Where an open run waits, and what holds there. */
interface Place {
  pool: number
  waitsForEarlier: boolean
  /** A breaker holds it. */
  isHeld: boolean
  expiresAt: Date | null
}

async function readPlace(tx: Tx, { id, queueId, attempt }: Run): Promise<Place> {
  const rows = await runNamed<[number, boolean, boolean, Date | null, Date | null]>(
    tx.client,
    'why_place',
    `select q.pool, coalesce((select d.pool < 0 from due d where d.tenant_id = $1 and d.id = $2), false),
       coalesce((select r.pool < 0 from ready r where r.tenant_id = $1 and r.id = $2), false), l.start_by, l.end_by
     from queues q left join run_deadlines l on l.tenant_id = $1 and l.run_id = $2
     where q.tenant_id = $1 and q.id = $3`,
    [tx.tenantId, id, queueId],
  )
  const [pool, waitsForEarlier, isHeld, startBy, endBy] = rows[0] ?? [virtualPool, false, false, null, null]
  return { pool, waitsForEarlier, isHeld, expiresAt: (attempt === 0 ? startBy : null) ?? endBy }
}

async function openReasons(tx: Tx, run: Run, place: Place): Promise<Reason[]> {
  if (run.status === 'running') {
    const detail = `Attempt ${run.attempt} is being performed.`
    const evidence = evidenceOf({ attempt: run.attempt, attemptsMax: run.attemptsMax, since: run.startedAt })
    return [{ code: 'running', detail, evidence, expectedAt: null }]
  }
  if (run.status === 'queued') {
    const executors = await readExecutors(tx, place.pool)
    const detail = 'It has a slot and is on its way to an executor.'
    const onItsWay: Reason = { code: 'on-its-way', detail, evidence: {}, expectedAt: null }
    return executors.alive === 0 ? [noExecutor(executors), onItsWay] : [onItsWay]
  }
  if (run.batchRunId !== null) return [waitsForBatch(run, run.batchRunId)]
  if (place.waitsForEarlier) return [await earlierRun(tx, run)]
  if (place.isHeld) return heldReasons(tx, run)
  const reasons = place.pool === virtualPool ? [await testClock(tx, run)] : []
  if (run.status === 'scheduled') reasons.push(run.attempt > 0 ? await retryReason(tx, run) : notDue(run))
  if (run.status === 'ready') reasons.push(...(await slotReasons(tx, run, place.pool)))
  return reasons
}

const notDue = ({ dueAt }: Run): Reason => ({
  code: 'not-due',
  detail: 'It is not due yet.',
  evidence: { at: dueAt },
  expectedAt: dueAt,
})

const waitsForBatch = ({ dueAt }: Run, batchRunId: Uuid): Reason => ({
  code: 'waits-for-batch',
  detail: 'It waits for others of its key, and for the run that performs them together.',
  evidence: { runIds: [batchRunId], until: dueAt },
  expectedAt: dueAt,
})

async function retryReason(tx: Tx, run: Run): Promise<Reason> {
  const last = (await listAttempts(tx, run.id)).at(-1)
  const { attempt, attemptsMax, dueAt } = run
  return {
    code: 'waits-for-retry',
    detail: `Attempt ${attempt} failed; the next one is not due yet.`,
    evidence: evidenceOf({ attempt, attemptsMax, error: last?.error, at: dueAt }),
    expectedAt: dueAt,
  }
}

async function testClock(tx: Tx, { dueAt }: Run): Promise<Reason> {
  const rows = await runNamed<[Date]>(
    tx.client,
    'why_test_clock',
    'select now_at from test_clocks where tenant_id = $1 and project_id = $2',
    [tx.tenantId, tx.projectId],
  )
  const at = rows[0]?.[0]
  const detail = 'The test clock of the project has not reached its instant.'
  return { code: 'waits-for-test-clock', detail, evidence: evidenceOf({ at, until: dueAt }), expectedAt: null }
}

const shownMax = 10

async function earlierRun(tx: Tx, { id, jobId }: Run): Promise<Reason> {
  const rows = await runNamed<[Uuid]>(
    tx.client,
    'why_earlier_runs',
    `select id from (
       select id, due_at from held where tenant_id = $1 and job_id = $2
       union all select id, due_at from ready where tenant_id = $1 and job_id = $2
       union all select id, due_at from due where tenant_id = $1 and job_id = $2 and (attempt > 0 or pool < 0)) x
     where id <> $3 and id < $3 order by due_at, id limit ${shownMax}`,
    [tx.tenantId, jobId, id],
  )
  const runIds = rows.map(([runId]) => runId)
  const detail = 'It waits until an earlier run of its job has ended.'
  return { code: 'waits-for-earlier-run', detail, evidence: evidenceOf({ runIds, jobId }), expectedAt: null }
}

interface Executors {
  alive: number
  slots: number
  /** Of them, what is kept free for critical runs where queues have classes. */
  spare: number
  held: number
  lastSeenAt: Date | null
}

async function readExecutors(tx: Tx, pool: number): Promise<Executors> {
  const rows = await runNamed<[number, number, number, number, Date | null]>(
    tx.client,
    'why_executors',
    `select count(*) filter (where alive)::int, coalesce(sum(capacity) filter (where alive), 0)::int,
       coalesce(sum(spare) filter (where alive), 0)::int, coalesce(sum(running) filter (where alive), 0)::int, max(seen_at)
     from (select *, seen_at > clock_timestamp() - interval '6 seconds' as alive from executors where pool = $1) e`,
    [pool],
  )
  const [alive, slots, spare, held, lastSeenAt] = rows[0] ?? [0, 0, 0, 0, null]
  return { alive, slots, spare, held, lastSeenAt }
}

const noExecutor = ({ lastSeenAt }: Executors): Reason => ({
  code: 'no-executor',
  detail: 'No executor of its pool is alive.',
  evidence: evidenceOf({ since: lastSeenAt }),
  expectedAt: null,
})

type SlotRow = [
  queue: string,
  pausedAt: Date | null,
  pausedBy: string | null,
  pauseReason: string | null,
  limit: number,
  used: number,
  holders: Uuid[],
  tenantLimit: number,
  tenantPaused: boolean,
  tenantUsed: number,
  tenantHolders: Uuid[],
  ahead: number,
  averageMs: number | null,
  nowMs: number,
  queueClass: QueueClass,
  usesClasses: boolean,
  preemptedAt: Date | null,
]

const aheadMax = 10_000

// As admission counts: slots are live rows, of the queue and of the tenant in the pool.
const slotStatement = `
  select q.name, q.paused_at, q.paused_by, q.pause_reason, ql.concurrency,
    (select count(*)::int from held h where h.pool = $2 and h.tenant_id = $1 and h.queue_id = q.id),
    array(select h.id from held h where h.pool = $2 and h.tenant_id = $1 and h.queue_id = q.id order by h.since, h.id limit ${shownMax}),
    tl.concurrency, tl.paused, (select count(*)::int from held h where h.pool = $2 and h.tenant_id = $1),
    array(select h.id from held h where h.pool = $2 and h.tenant_id = $1 order by h.since, h.id limit ${shownMax}),
    (select count(*)::int from (select from generate_series(1, 5) p cross join lateral (
      select from ready w where w.pool in ($2, ($2 + 1000)::smallint) and w.tenant_id = $1 and w.queue_id = q.id and w.priority = p
        and (w.due_at, w.id) < ($5::timestamptz + ($4::smallint - p) * priority_step(), $6::uuid) limit ${aheadMax}) w limit ${aheadMax}) one),
    (select avg(duration_ms)::float8 from (select queue_id, duration_ms from runs
      where tenant_id = $1 and project_id = q.project_id order by id desc limit 200) r where r.queue_id = q.id),
    extract(epoch from clock_timestamp())::float8 * 1000,
    (array['critical', 'standard', 'bulk'])[ql.class + 1], uses_classes(),
    case when ql.preemptible then (select max(e.at) from events e where e.tenant_id = $1 and e.subject = $6 and e.type = 'run.preempted') end
  from queues q
  join limits ql on ql.tenant_id = $1 and ql.queue_id = q.id
  join limits tl on tl.tenant_id = $1 and tl.queue_id = '${nilUuid}'
  where q.tenant_id = $1 and q.id = $3`

/** Why a run that is due has no slot: everything that stands in its way, or that it is simply next. */
async function slotReasons(tx: Tx, { queueId, priority, dueAt, id }: Run, pool: number): Promise<Reason[]> {
  const executors = await readExecutors(tx, pool)
  const values = [tx.tenantId, pool, queueId, priority, dueAt, id]
  const rows = await runNamed<SlotRow>(tx.client, 'why_slot', slotStatement, values)
  if (rows[0] === undefined) return []
  const [queue, pausedAt, by, reason, limit, used, holders, ...rest] = rows[0]
  const [tenantLimit, tenantPaused, tenantUsed, tenantHolders, ahead, averageMs, nowMs, ...classed] = rest
  const [queueClass, usesClasses, preemptedAt] = classed
  const reasons: Reason[] = []
  if (pausedAt !== null) {
    const evidence = evidenceOf({ queue, by, reason, since: pausedAt })
    reasons.push({ code: 'queue-paused', detail: `The queue ${queue} is paused.`, evidence, expectedAt: null })
  }
  if (tenantPaused) {
    reasons.push({ code: 'tenant-paused', detail: 'The organisation is paused.', evidence: {}, expectedAt: null })
  }
  // At the pace of late: as many at once as the queue allows, each for as long as they took.
  const roundsMs = averageMs === null ? null : averageMs * Math.ceil((ahead + 1) / Math.max(1, limit))
  const expectedAt = roundsMs === null ? null : new Date(nowMs + roundsMs)
  if (used >= limit) {
    const detail = `The queue ${queue} is full: ${used} of ${limit} at once.`
    reasons.push({ code: 'queue-full', detail, evidence: { queue, limit, used, ahead, runIds: holders }, expectedAt })
  }
  if (tenantUsed >= tenantLimit) {
    const detail = `The organisation has all its slots in use: ${tenantUsed} of ${tenantLimit}.`
    const evidence = { limit: tenantLimit, used: tenantUsed, ahead, runIds: tenantHolders }
    reasons.push({ code: 'tenant-full', detail, evidence, expectedAt })
  }
  reasons.push(...(await limitReasons(tx, id)))
  if (executors.alive === 0) reasons.push(noExecutor(executors))
  else if (executors.held >= executors.slots) {
    const detail = `All executors are busy: ${executors.held} of ${executors.slots} slots are taken.`
    const evidence = { limit: executors.slots, used: executors.held, ahead }
    reasons.push({ code: 'pool-full', detail, evidence, expectedAt })
  } else if (usesClasses && queueClass !== 'critical' && executors.held >= executors.slots - executors.spare) {
    const detail = `The slots that are free are kept for critical runs, and its queue ${queue} is ${queueClass}.`
    const evidence = { queue, class: queueClass, limit: executors.slots, used: executors.held, ahead }
    reasons.push({ code: 'class-waits', detail, evidence, expectedAt })
  }
  if (reasons.length === 0) {
    const detail = ahead === 0 ? 'It is next in its queue.' : `It waits its turn; ${ahead} in its queue come before it.`
    reasons.push({ code: 'next-in-line', detail, evidence: { queue, limit, used, ahead }, expectedAt })
  }
  if (preemptedAt !== null) {
    const detail = 'It was put back, so that a critical run has its slot; no attempt was spent.'
    reasons.push({
      code: 'preempted',
      detail,
      evidence: { queue, class: queueClass, at: preemptedAt },
      expectedAt: null,
    })
  }
  return reasons
}
