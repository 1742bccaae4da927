import { requireScope } from '../access/scope.ts'
import { coversOf } from '../calendar/resolve.ts'
import { virtualPool } from '../clock/virtual.ts'
import { runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withRead } from '../db/context.ts'
import { type JobRow, readJob } from '../job/internal.ts'
import type { Uuid } from '../kernel/ids.ts'
import { compileSchedule } from '../schedule/compile.ts'
import type { FullSchedule } from '../schedule/full-schedule.ts'
import { nativeZones } from '../schedule/zone.ts'
import { backlogReasons } from './backlog.ts'
import { limitReasons } from './limits.ts'
import { evidenceOf, type Reason, type Why, whyOf } from './why.ts'

/** Why a job does not run at this moment, or did not at its last instant. Throws `not-found`. */
export const explainJob = async (ctx: Ctx, id: Uuid): Promise<Why> => {
  requireScope(ctx, 'jobs:read')
  await ctx.keyRing.load(ctx.tenantId)
  return withRead(ctx, async (tx) => {
    const job = await readJob(tx, id)
    const facts = await readFacts(tx, job)
    return whyOf([...standing(job), ...(await coming(tx, job, facts)), ...past(facts)])
  })
}

interface Facts {
  nowMs: number
  pool: number
  last: { outcome: string; reason: string | null; nominalAt: Date } | null
  pending: { dueAt: Date; runId: Uuid } | null
  open: Uuid[]
  /** The first of them that waits for a slot. */
  waiting: Uuid | null
}

const shownMax = 10

type FactRow = [
  nowMs: number,
  pool: number,
  lastOutcome: string | null,
  lastReason: string | null,
  lastAt: Date | null,
  pendingRun: Uuid | null,
  pendingAt: Date | null,
  open: Uuid[],
  waiting: Uuid | null,
]

async function readFacts(tx: Tx, { id, queueId }: JobRow): Promise<Facts> {
  const rows = await runNamed<FactRow>(
    tx.client,
    'why_job',
    `select extract(epoch from coalesce(c.now_at, clock_timestamp()))::float8 * 1000, q.pool, l.outcome, l.reason, l.nominal_at, p.id, p.due_at,
       array(select id from (
         select id from held where tenant_id = $1 and job_id = $2 union all select id from ready where tenant_id = $1 and job_id = $2
         union all select id from due where tenant_id = $1 and job_id = $2 and (attempt > 0 or pool < 0)) x order by id limit ${shownMax}),
       (select id from ready where tenant_id = $1 and job_id = $2 and pool > 0 order by due_at, id limit 1)
     from queues q
     left join test_clocks c on c.tenant_id = $1 and c.project_id = q.project_id
     left join lateral (
       select outcome, reason, nominal_at from occurrences o where o.tenant_id = $1 and o.job_id = $2 and o.outcome <> 'pending'
         and o.nominal_at <= coalesce(c.now_at, clock_timestamp()) order by o.nominal_at desc limit 1) l on true
     left join lateral (
       select id, due_at from due d where d.tenant_id = $1 and d.job_id = $2 and d.attempt = 0 and d.pool >= 0
       order by d.due_at limit 1) p on true
     where q.tenant_id = $1 and q.id = $3`,
    [tx.tenantId, id, queueId],
  )
  if (rows[0] === undefined) throw new Error('a job without a queue')
  const [nowMs, pool, outcome, reason, nominalAt, runId, dueAt, open, waiting] = rows[0]
  return {
    nowMs,
    pool,
    last: outcome === null || nominalAt === null ? null : { outcome, reason, nominalAt },
    pending: runId === null || dueAt === null ? null : { runId, dueAt },
    open,
    waiting,
  }
}

/** What holds of the job as a whole. */
function standing({ archivedAt, state, pausedAt, pausedBy, pauseReason, pauseUntil, shadow, spec }: JobRow): Reason[] {
  const reasons: Reason[] = []
  if (archivedAt !== null) {
    const evidence = evidenceOf({ since: archivedAt })
    reasons.push({ code: 'job-archived', detail: 'The job is archived.', evidence, expectedAt: null })
  } else if (state === 'paused') {
    const evidence = evidenceOf({ by: pausedBy, reason: pauseReason, since: pausedAt, until: pauseUntil })
    reasons.push({ code: 'job-paused', detail: 'The job is paused.', evidence, expectedAt: pauseUntil })
  }
  if (spec === null) {
    const detail = 'The job has no schedule: it runs when it is told to.'
    reasons.push({ code: 'no-schedule', detail, evidence: {}, expectedAt: null })
  } else if (shadow) {
    const detail = 'The job is in shadow: it only notes what it would have started.'
    reasons.push({ code: 'in-shadow', detail, evidence: {}, expectedAt: null })
  }
  return reasons
}

/** How long a scheduler may take to write what is due before it counts as behind. */
const behindMs = 5_000

/** What stands between now and the next run. */
async function coming(tx: Tx, job: JobRow, { nowMs, pool, pending, open, waiting }: Facts): Promise<Reason[]> {
  const reasons: Reason[] = []
  if (open.length > 0) {
    const detail = 'It has runs that have not ended.'
    reasons.push({ code: 'running', detail, evidence: { runIds: open }, expectedAt: null })
  }
  if (waiting !== null) reasons.push(...(await limitReasons(tx, waiting)))
  if (!job.shadow && job.archivedAt === null) reasons.push(...(await backlogReasons(tx, job)))
  if (job.spec === null) return reasons
  if (pending !== null) {
    const { runId, dueAt } = pending
    const detail = 'Its next run is written down, and not due yet.'
    reasons.push({ code: 'not-due', detail, evidence: { at: dueAt, runIds: [runId] }, expectedAt: dueAt })
    return reasons
  }
  const { nextAt, state, archivedAt } = job
  if (nextAt === null) {
    const detail = 'Its schedule is over: there is no further instant.'
    return [...reasons, { code: 'schedule-over', detail, evidence: {}, expectedAt: null }]
  }
  if (state === 'paused' || archivedAt !== null) return reasons
  if (nextAt.getTime() < nowMs - behindMs) {
    const clock = 'The test clock of the project stands still.'
    const detail = pool === virtualPool ? clock : 'An instant has passed and is not written down yet.'
    return [...reasons, { code: 'scheduler-behind', detail, evidence: { at: nextAt }, expectedAt: null }]
  }
  return [...reasons, await nextInstant(tx, job, job.spec, nextAt)]
}

/** Looked at before saying that nobody can tell. */
const instantsMax = 1_000

/** The next instant: what calendars and blackouts make of it, and when it runs. */
async function nextInstant(tx: Tx, { id }: JobRow, spec: FullSchedule, nextAt: Date): Promise<Reason> {
  const covers = await coversOf(tx, spec, { sinceMs: nextAt.getTime() })
  const { next, decide } = compileSchedule(spec, nativeZones, { seed: id, ...covers })
  let barred: Pick<Reason, 'code' | 'detail' | 'evidence'> | null = null
  let hit = next(nextAt.getTime() - 1)
  for (let looked = 0; hit !== undefined && looked < instantsMax; looked++) {
    const { at } = hit
    const { skipped, effectiveMs } = decide(hit)
    const expectedAt = new Date(effectiveMs)
    if (skipped === undefined) {
      const evidence = { at: expectedAt }
      return { ...(barred ?? { code: 'not-due', detail: 'It is not due yet.', evidence }), expectedAt }
    }
    if (skipped === 'blackout') {
      const over = covers.blackouts.find(({ fromMs, untilMs }) => fromMs <= effectiveMs && effectiveMs < untilMs)
      const evidence = evidenceOf({ at: new Date(at), name: over?.name, until: over && new Date(over.untilMs) })
      barred ??= { code: 'blackout', detail: 'Its next instant falls into a blackout.', evidence }
    } else {
      const evidence = { at: new Date(at) }
      barred ??= { code: 'calendar', detail: 'Its next instant is on a day that its calendars leave out.', evidence }
    }
    hit = next(at)
  }
  const over: Pick<Reason, 'code' | 'detail' | 'evidence'> = {
    code: 'schedule-over',
    detail: 'Its schedule is over: there is no further instant.',
    evidence: {},
  }
  return { ...(barred ?? over), expectedAt: null }
}

/** What became of its last instant, when that was no run. */
function past({ last }: Facts): Reason[] {
  if (last === null || last.outcome === 'run') return []
  const { outcome, reason, nominalAt } = last
  const evidence = evidenceOf({ at: nominalAt, reason })
  const because = reason === null ? '' : ` (${reason})`
  return outcome === 'skipped'
    ? [{ code: 'last-skipped', detail: `Its last instant was skipped${because}.`, evidence, expectedAt: null }]
    : [{ code: 'last-missed', detail: `Its last instant was missed${because}.`, evidence, expectedAt: null }]
}
