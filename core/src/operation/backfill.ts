import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import { coversOf } from '../calendar/resolve.ts'
import { runNamed } from '../db/client.ts'
import type { Tx } from '../db/context.ts'
import { Backlogs } from '../flow/backlogs.ts'
import type { Lane } from '../flow/lanes.ts'
import { readJob } from '../job/internal.ts'
import { notFound, validationFailed } from '../kernel/errors.ts'
import { isUuid, type Uuid, uuidv7 } from '../kernel/ids.ts'
import { lineValue } from '../kernel/text.ts'
import { cancelRun } from '../run/cancel.ts'
import { readRun } from '../run/get.ts'
import { currentJobLane } from '../run/job-lanes.ts'
import { runSources } from '../run/run.ts'
import { compileSchedule } from '../schedule/compile.ts'
import type { FullSchedule } from '../schedule/extras.ts'
import { nativeZones } from '../schedule/zone.ts'
import type { Item, OperationKind } from './kind.ts'

export const backfillFields = {
  jobId: z.string().refine(isUuid),
  from: z.coerce.date(),
  to: z.coerce.date(),
  again: z
    .boolean()
    .default(false)
    .meta({ description: 'Also the instants that have run already. Otherwise only those that have not.' }),
  concurrency: z
    .int()
    .min(1)
    .max(100)
    .default(1)
    .meta({ description: 'How many of its runs may be open at once. 1: one after another.' }),
  tag: lineValue(63).nullable().default(null).meta({ description: 'What to call it.' }),
}
const backfillPlan = z
  .strictObject(backfillFields)
  .refine(({ from, to }) => from < to, { path: ['to'], message: 'must be after from' })
type BackfillPlan = z.output<typeof backfillPlan>

interface Instant {
  nominalAtMs: number
}
interface Made extends Instant {
  runId: Uuid
}

/** Computing is not allowed to keep a process from everything else. */
const instantsPerTurn = 500

async function selectInstants(tx: Tx, plan: BackfillPlan, limit: number): Promise<Item[]> {
  const { jobId, from, to, again } = plan
  const { spec }: { spec: FullSchedule | null } = await readJob(tx, jobId)
  if (spec === null) throw validationFailed([{ pointer: '/jobId', detail: 'The job has no schedule.' }])
  const untilMs = Math.min(to.getTime(), await undecidedFromMs(tx, jobId))
  const taken = again ? new Set<number>() : await takenInstants(tx, plan)
  const { calendars } = await coversOf(tx, spec, { sinceMs: from.getTime() })
  // What was blacked out then is what is run now.
  const { next, decide } = compileSchedule(spec, nativeZones, { seed: jobId, calendars })
  const items: Item[] = []
  for (
    let hit = next(from.getTime() - 1), turn = 1;
    hit !== undefined && hit.at < untilMs;
    hit = next(hit.at), turn++
  ) {
    if (turn % instantsPerTurn === 0) await setImmediate()
    if (taken.has(hit.at) || decide(hit).skipped !== undefined) continue
    if (items.length === limit) break
    const data: Instant = { nominalAtMs: hit.at }
    items.push({ id: null, name: new Date(hit.at).toISOString(), data })
  }
  return items
}

/** From here on instants are the schedule's own to decide. */
async function undecidedFromMs(tx: Tx, jobId: Uuid): Promise<number> {
  const rows = await runNamed<[number]>(
    tx.client,
    'undecided_from',
    `select round(extract(epoch from least(s.next_at, coalesce(c.now_at, clock_timestamp())))::float8 * 1000)
     from schedules s left join test_clocks c on c.tenant_id = s.tenant_id and c.project_id = s.project_id
     where s.tenant_id = $1 and s.job_id = $2`,
    [tx.tenantId, jobId],
  )
  return rows[0]?.[0] ?? Number.NEGATIVE_INFINITY
}

async function takenInstants(tx: Tx, { jobId, from, to }: BackfillPlan): Promise<Set<number>> {
  const rows = await runNamed<[number]>(
    tx.client,
    'taken_instants',
    `select round(extract(epoch from nominal_at)::float8 * 1000) from occurrences
     where tenant_id = $1 and job_id = $2 and nominal_at >= $3 and nominal_at < $4 and outcome in ('run', 'pending')
     union select round(extract(epoch from nominal_at)::float8 * 1000) from backfills
     where tenant_id = $1 and job_id = $2 and nominal_at >= $3 and nominal_at < $4`,
    [tx.tenantId, jobId, from, to],
  )
  return new Set(rows.map(([ms]) => ms))
}

// An instant is one run's: whoever comes second finds it in the ledger, or among the backfilled, and leaves it alone.
const makeStatement = `
  with j as (
    select j.project_id, j.version, q.id as queue_id, q.pool, coalesce((v.definition->>'priority')::int, 3) as priority,
      coalesce((v.definition->'retry'->>'limit')::int, 5) + 1 as attempts_max,
      (v.definition->>'startWithin')::interval as start_within, (v.definition->>'endWithin')::interval as end_within,
      date_trunc('milliseconds', coalesce(c.now_at, clock_timestamp())) as due_at, to_timestamp($4::float8 / 1000) as nominal_at
    from jobs j
    join job_versions v on v.tenant_id = j.tenant_id and v.job_id = j.id and v.version = j.version
    join queues q on q.tenant_id = j.tenant_id and q.id = j.queue_id
    left join test_clocks c on c.tenant_id = j.tenant_id and c.project_id = j.project_id
    where j.tenant_id = $1 and j.id = $2 and j.state <> 'deleted'),
  b as (
    insert into backfills (tenant_id, job_id, nominal_at, run_id, operation_id)
    select $1, $2, nominal_at, $3, $5 from j
    where $6 or not exists (select from occurrences o where o.tenant_id = $1 and o.job_id = $2 and o.nominal_at = j.nominal_at
      and o.outcome in ('run', 'pending') offset 0)
    on conflict (tenant_id, job_id, nominal_at) do update set run_id = excluded.run_id, operation_id = excluded.operation_id where $6
    returning 1),
  m as materialized (select j.*, date_trunc('week', clock_timestamp() at time zone 'UTC')::date as week from j where exists (select from b)),
  i as (
    insert into inputs (tenant_id, project_id, id, keep_week, created_at, due_at, queue_id, pool, priority, source, job_id, job_version, nominal_at)
    select $1, project_id, $3, week, clock_timestamp(), due_at, queue_id, pool, priority, ${runSources.indexOf('backfill')}, $2, version, nominal_at from m),
  r as (
    insert into ready (pool, tenant_id, queue_id, priority, due_at, id, project_id, attempts_max, keep_week, job_id, nominal_at, lane)
    select case when $7::uuid is null or pool = 0 then pool else pool + 1000 end, $1, queue_id, priority, due_at, $3, project_id, attempts_max,
      week, $2, nominal_at, $7 from m),
  l as (
    insert into run_deadlines (tenant_id, run_id, project_id, pool, queue_id, start_by, end_by, check_at)
    select $1, $3, project_id, pool, queue_id, due_at + start_within, due_at + end_within, due_at + least(start_within, end_within)
    from m where pool <> 0 and (start_within is not null or end_within is not null)),
  e as (
    insert into events (tenant_id, project_id, type, subject, job_id, data)
    select $1, project_id, 'run.created', $3, $2, '{"source": "backfill"}' from m)
  select j.pool, exists (select from b) from j`

/** The limits that its runs mind beside those of its queue, and the backlogs that they add to. */
async function limitsOf(tx: Tx, jobId: Uuid): Promise<{ lane: Lane | undefined; backlogs: Backlogs }> {
  const lane = await currentJobLane(tx, jobId)
  const lanes = lane === undefined ? [] : [{ tenantId: tx.tenantId, lane }]
  return { lane, backlogs: await Backlogs.lock(tx.client, lanes) }
}

/**
 * Runs the instants of a job's schedule between two past ones that have not run: as the job is now, oldest first, each
 * once, however many backfills are under way. The ledger keeps saying what the schedule did at the time. Its undo
 * cancels the runs that have not begun.
 */
export const backfillJob: OperationKind<BackfillPlan> = {
  scope: 'runs:write',
  things: 'runs',
  plan: backfillPlan,
  select: selectInstants,
  async apply(tx, { jobId, again }, { data, operationId }) {
    const { nominalAtMs } = data as Instant
    const runId = uuidv7(tx.clock.nowMs())
    const { lane, backlogs } = await limitsOf(tx, jobId)
    const rows = await runNamed<[pool: number, isMade: boolean]>(tx.client, 'make_backfill_run', makeStatement, [
      tx.tenantId,
      jobId,
      runId,
      nominalAtMs,
      operationId,
      again,
      lane?.id ?? null,
    ])
    if (rows[0] === undefined) throw notFound('job')
    const [pool, isMade] = rows[0]
    if (!isMade) return { state: 'unchanged', detail: 'It has run already.' }
    await backlogs.drop()
    return { state: 'done', madeId: runId, before: { runId, nominalAtMs } satisfies Made, wakes: pool }
  },
  async undo(tx, { jobId }, { data }) {
    const { runId, nominalAtMs } = data as Made
    const { status } = await readRun(tx, runId)
    if (status !== 'scheduled' && status !== 'ready') return { state: 'unchanged', detail: 'It has begun already.' }
    await cancelRun(tx, runId)
    await runNamed(
      tx.client,
      'forget_backfill',
      `delete from backfills where tenant_id = $1 and job_id = $2 and nominal_at = to_timestamp($3::float8 / 1000) and run_id = $4`,
      [tx.tenantId, jobId, nominalAtMs, runId],
    )
    return { state: 'done' }
  },
  async room(tx, { jobId, concurrency }, operationId) {
    const { lane, backlogs } = await limitsOf(tx, jobId)
    const rows = await runNamed<[number]>(
      tx.client,
      'open_backfill_runs',
      `select count(*)::int from (
         select id, nominal_at from due where tenant_id = $1 and job_id = $2
         union all select id, nominal_at from ready where tenant_id = $1 and job_id = $2
         union all select id, nominal_at from held where tenant_id = $1 and job_id = $2) x
       join backfills b on b.tenant_id = $1 and b.job_id = $2 and b.nominal_at = x.nominal_at and b.run_id = x.id
       where b.operation_id = $3`,
      [tx.tenantId, jobId, operationId],
    )
    const left = concurrency - (rows[0]?.[0] ?? 0)
    // Where a backlog refuses what is too much, the rest waits until there is room.
    return lane === undefined ? left : Math.min(left, backlogs.roomOf(lane))
  },
}
