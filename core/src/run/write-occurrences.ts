import { arrayLiteral, type PoolClient, runNamed } from '../db/client.ts'
import type { Uuid } from '../kernel/ids.ts'
import { nativeZones } from '../schedule/zone.ts'
import { catchUpCodes, type Decision } from './decide-instants.ts'
import type { DueSchedule } from './due-schedules.ts'
import { overlapCodes } from './overlap.ts'
import { writeDeadlines } from './write-deadlines.ts'

export interface Written extends Decision {
  schedule: DueSchedule
  runId: Uuid | null
  /** The limits that it minds beside those of its queue; null: none. */
  laneId: Uuid | null
}

const weekOf = (due: string): string =>
  `case when greatest(${due}, now()) < now() + interval '8 weeks'
    then date_trunc('week', greatest(${due}, now()) at time zone 'UTC')::date else date '9999-12-31' end`

// An occurrence is unique per job and nominal instant: whatever was decided before stays decided, and its run with it.
// One that waits to be decided keeps what a person wrote beside it.
const writeStatement = `
  with u as materialized (
    select x.*, to_timestamp(n / 1000) as nominal, to_timestamp(d / 1000) as due from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[],
      $5::smallint[], $6::int[], $7::smallint[], $8::smallint[], $9::smallint[], $10::float8[], $11::uuid[], $12::text[], $13::boolean[],
      $15::float8[], $16::float8[], $17::int[], $18::text[], $19::uuid[])
      x(t, j, p, q, pool, v, ov, pr, am, n, i, outcome, caught, d, last, count, reason, lane)),
  o as (
    insert into occurrences (tenant_id, job_id, nominal_at, project_id, job_version, outcome, reason, run_id, caught_up, tz_version, decided_at,
      effective_at, until_at, count)
    select t, j, nominal, p, v, outcome, reason, i, caught, $14, case when outcome <> 'pending' then clock_timestamp() end,
      nullif(due, nominal), to_timestamp(last / 1000), count from u
    on conflict (tenant_id, job_id, nominal_at) do update set job_version = excluded.job_version, outcome = excluded.outcome,
      reason = excluded.reason, run_id = excluded.run_id, caught_up = excluded.caught_up, tz_version = excluded.tz_version,
      decided_at = excluded.decided_at, effective_at = excluded.effective_at
      where occurrences.outcome = 'pending' and occurrences.run_id is null
    returning tenant_id, job_id, nominal_at, run_id, outcome),
  w as materialized (
    select u.*, ${weekOf('u.due')} as week from u join o on o.run_id = u.i where o.outcome = 'pending'),
  i_ as (
    insert into inputs (tenant_id, project_id, id, keep_week, created_at, due_at, queue_id, pool, priority, source, job_id, job_version, nominal_at)
    select t, p, i, week, clock_timestamp(), due, q, pool, pr, 1, j, v, nominal from w),
  d as (
    insert into due (pool, due_at, id, tenant_id, project_id, queue_id, priority, attempts_max, keep_week, overlap, job_id, nominal_at, lane)
    select pool, due, i, t, p, q, pr, am, week, ov, j, nominal, lane from w
    returning 1),
  e as (
    insert into events (tenant_id, project_id, type, subject, job_id, data)
    select t, (array_agg(p))[1], 'occurrence.missed', j, j,
      jsonb_build_object('count', sum(count), 'from', min(nominal), 'to', max(coalesce(to_timestamp(last / 1000), nominal)))
    from u join o on o.tenant_id = u.t and o.job_id = u.j and o.nominal_at = u.nominal where o.outcome = 'missed' group by t, j),
  f as (
    insert into events (tenant_id, project_id, type, subject, job_id, data)
    select t, (array_agg(p))[1], 'occurrence.skipped', j, j,
      jsonb_build_object('reason', 'quota', 'count', sum(count), 'from', min(nominal), 'to', max(nominal))
    from u join o on o.tenant_id = u.t and o.job_id = u.j and o.nominal_at = u.nominal where u.reason = 'quota' group by t, j)
  select count(*)::int from d`

/** Writes decisions into the ledger, and the runs of those that have one. Returns how many runs. */
export async function writeOccurrences(client: PoolClient, written: readonly Written[]): Promise<number> {
  const column = (pick: (each: Written) => string | number | boolean | null): string => arrayLiteral(written.map(pick))
  const rows = await runNamed<[number]>(client, 'write_occurrences', writeStatement, [
    column(({ schedule }) => schedule.tenantId),
    column(({ schedule }) => schedule.jobId),
    column(({ schedule }) => schedule.projectId),
    column(({ schedule }) => schedule.queueId),
    column(({ schedule }) => schedule.pool),
    column(({ schedule }) => schedule.jobVersion),
    column(overlapOf),
    column(({ schedule }) => schedule.priority),
    column(({ schedule }) => schedule.attemptsMax),
    column((each) => each.nominalAtMs),
    column((each) => each.runId),
    column((each) => each.outcome),
    column((each) => each.caughtUp),
    nativeZones.version,
    column((each) => each.dueAtMs),
    column((each) => (each.count === 1 ? null : each.untilMs)),
    column((each) => each.count),
    column((each) => each.reason),
    column((each) => each.laneId),
  ])
  await writeDeadlines(client, written)
  return rows[0]?.[0] ?? 0
}

/** Those that make up for a whole outage wait for each other, where others would be skipped. */
const overlapOf = ({ schedule: { overlap, catchUp }, caughtUp }: Written): number =>
  caughtUp && catchUp === catchUpCodes.all && overlap === overlapCodes.skip ? overlapCodes['queue-all'] : overlap

export interface Moved {
  schedule: DueSchedule
  nextAtMs: number | null
  revisits: boolean
  /** Runs written for it. */
  runs: number
}

/** Moves schedules on; a rest that is worked off is gone. */
export async function advanceSchedules(client: PoolClient, moved: readonly Moved[]): Promise<void> {
  const going = moved.filter(({ schedule }) => schedule.untilMs === null)
  await runNamed(
    client,
    'advance_schedules',
    `update schedules s set next_at = to_timestamp(u.n / 1000), revisits = u.r, runs_left = s.runs_left - u.c
     from unnest($1::uuid[], $2::uuid[], $3::float8[], $4::boolean[], $5::int[]) u(t, j, n, r, c)
     where s.tenant_id = u.t and s.job_id = u.j`,
    [
      arrayLiteral(going.map(({ schedule }) => schedule.tenantId)),
      arrayLiteral(going.map(({ schedule }) => schedule.jobId)),
      arrayLiteral(going.map(({ nextAtMs }) => nextAtMs)),
      arrayLiteral(going.map(({ revisits }) => revisits)),
      arrayLiteral(going.map(({ runs }) => runs)),
    ],
  )
  for (const { schedule, nextAtMs, runs } of moved) {
    const { tenantId, jobId, untilMs } = schedule
    if (untilMs === null) continue
    const isDone = nextAtMs === null || nextAtMs > untilMs
    await runNamed(
      client,
      isDone ? 'end_rest' : 'advance_rest',
      isDone
        ? 'delete from schedule_rests where tenant_id = $1 and job_id = $2 and until_at = to_timestamp($3::float8 / 1000)'
        : `update schedule_rests set next_at = to_timestamp($4::float8 / 1000), runs_left = runs_left - $5
           where tenant_id = $1 and job_id = $2 and until_at = to_timestamp($3::float8 / 1000)`,
      [tenantId, jobId, untilMs, ...(isDone ? [] : [nextAtMs, runs])],
    )
  }
}
