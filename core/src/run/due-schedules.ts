import { arrayLiteral, type PoolClient, runNamed } from '../db/client.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { FullSchedule } from '../schedule/full-schedule.ts'
import { nativeZones } from '../schedule/zone.ts'
import { catchUpCodes, type Decision, type InstantRules, type KnownRow } from './decide-instants.ts'
import { overlapCodes } from './overlap.ts'
import { writeDeadlines } from './write-deadlines.ts'

/** A schedule whose time has come, locked; or the rest of one that was changed, resumed or removed. */
export interface DueSchedule extends InstantRules {
  tenantId: Uuid
  jobId: Uuid
  projectId: Uuid
  queueId: Uuid
  pool: number
  jobVersion: number
  spec: FullSchedule
  overlap: number
  priority: number
  attemptsMax: number
  startWithinMs: number | null
  endWithinMs: number | null
  /** The ledger may hold rows from `nextAtMs` on. */
  revisits: boolean
  /** The last instant of a rest; null: it goes on. */
  untilMs: number | null
  /** It only notes what it would have started. */
  shadow: boolean
  /** One instant that a person edited: there is something to decide only while the ledger waits for it. */
  isEdit: boolean
}

type Row = [
  ...ids: [Uuid, Uuid, Uuid, Uuid],
  pool: number,
  jobVersion: number,
  spec: FullSchedule,
  overlap: number,
  graceMs: number,
  priority: number,
  attemptsMax: number,
  nextAtMs: number,
  catchUp: number,
  catchUpMax: number,
  catchUpWindowMs: number | null,
  runsLeft: number | null,
  revisits: boolean,
  untilMs: number | null,
  reason: string | null,
  shadow: boolean,
  startWithinMs: number | null,
  endWithinMs: number | null,
  nowMs: number,
]

const rulesOf = (
  s: string,
): string => `${s}.tenant_id, ${s}.job_id, ${s}.project_id, ${s}.queue_id, ${s}.pool, ${s}.job_version, ${s}.spec,
  ${s}.overlap, ${s}.grace_seconds * 1000, ${s}.priority, ${s}.attempts_max, round(extract(epoch from ${s}.next_at)::float8 * 1000),
  ${s}.catch_up, ${s}.catch_up_max, ${s}.catch_up_window_ms::float8, ${s}.runs_left`

const schedulesStatement = (now: string, whose: string): string => `
  select ${rulesOf('s')}, s.revisits, null::float8, null::text, s.shadow, s.start_within_ms::float8, s.end_within_ms::float8,
    extract(epoch from ${now})::float8 * 1000
  from schedules s
  where s.shard_id = $1 and look_at(s.next_at, s.lead_ms) <= (select ${now} + $2 * interval '1 millisecond')
    and s.next_at is not null and not s.paused and s.job_id || '.' || s.job_version <> all ($4::text[]) ${whose}
  order by look_at(s.next_at, s.lead_ms) limit $3 for update skip locked`

/** A rest has no deadlines of its own: those that its job has by now hold. */
const withinOf = (which: 'start' | 'end'): string =>
  `(select x.${which}_within_ms::float8 from schedules x where x.tenant_id = s.tenant_id and x.job_id = s.job_id)`

const restsStatement = (now: string, whose: string): string => `
  select ${rulesOf('s')}, true, round(extract(epoch from s.until_at)::float8 * 1000), s.reason, false, ${withinOf('start')},
    ${withinOf('end')}, extract(epoch from ${now})::float8 * 1000
  from schedule_rests s where s.shard_id = $1 and $2::float8 is not null and s.reason is distinct from 'edited'
    and s.job_id || '.' || s.job_version <> all ($4::text[]) ${whose}
  limit $3 for update skip locked`

// As the schedule is by now: without one there is nothing left to decide, and while it is paused it has to wait.
const editsStatement = (now: string, whose: string): string => `
  select r.tenant_id, r.job_id, r.project_id, coalesce(s.queue_id, r.queue_id), coalesce(s.pool, r.pool),
    coalesce(s.job_version, r.job_version), coalesce(s.spec, r.spec), coalesce(s.overlap, r.overlap), r.grace_seconds * 1000,
    coalesce(s.priority, r.priority), coalesce(s.attempts_max, r.attempts_max), round(extract(epoch from r.next_at)::float8 * 1000),
    coalesce(s.catch_up, r.catch_up), r.catch_up_max, r.catch_up_window_ms::float8, null::int, true,
    round(extract(epoch from r.until_at)::float8 * 1000), r.reason, coalesce(s.shadow, false),
    s.start_within_ms::float8, s.end_within_ms::float8, extract(epoch from ${now})::float8 * 1000
  from schedule_rests r left join schedules s on s.tenant_id = r.tenant_id and s.job_id = r.job_id
  where r.shard_id = $1 and $2::float8 is not null and r.reason = 'edited' and not coalesce(s.paused, false) and r.job_id || '.' || r.job_version <> all ($4::text[]) ${whose}
  limit $3 for update of r skip locked`

/** What a project's time is taken from, where it is not the database's clock. */
export interface OtherClock {
  tenantId: Uuid
  projectId: Uuid
  nowMs: number
}

const statementsOf = (now: string, whose: (alias: string) => string) => ({
  schedules: schedulesStatement(now, whose('s')),
  rests: restsStatement(now, whose('s')),
  edits: editsStatement(now, whose('r')),
})
const realStatements = statementsOf('clock_timestamp()', () => '')
const otherStatements = statementsOf(
  'to_timestamp($5::float8 / 1000)',
  (alias) => `and ${alias}.tenant_id = $6 and ${alias}.project_id = $7`,
)

const restsMax = 50

/** The schedules that have something to write within `aheadMs`, and rests, each locked for this transaction. */
export async function takeDueSchedules(
  client: PoolClient,
  {
    shard,
    aheadMs,
    limit,
    setAside,
    clock,
  }: { shard: number; aheadMs: number; limit: number; setAside: string[]; clock?: OtherClock },
): Promise<{ schedules: DueSchedule[]; nowMs: number }> {
  const { schedules, rests, edits } = clock === undefined ? realStatements : otherStatements
  const kind = clock === undefined ? '' : '_of_clock'
  const whose = clock === undefined ? [] : [clock.nowMs, clock.tenantId, clock.projectId]
  const take = (name: string, text: string, most: number): Promise<Row[]> =>
    runNamed<Row>(client, `${name}${kind}`, text, [shard, aheadMs, most, setAside, ...whose])
  const rows = await take('due_schedules', schedules, limit)
  if (await hasRests(client, shard)) {
    rows.push(...(await take('schedule_rests', rests, restsMax)))
    rows.push(...(await take('edited_rests', edits, restsMax)))
  }
  return { schedules: rows.map(toSchedule), nowMs: rows[0]?.[22] ?? 0 }
}

const hasRests = async (client: PoolClient, shard: number): Promise<boolean> =>
  (await runNamed(client, 'has_rests', 'select 1 from schedule_rests where shard_id = $1 limit 1', [shard])).length > 0

const toSchedule = (row: Row): DueSchedule => {
  const [tenantId, jobId, projectId, queueId, pool, jobVersion, spec, overlap, graceMs, priority, attemptsMax] = row
  const [
    ,
    ,
    ,
    ,
    ,
    ,
    ,
    ,
    ,
    ,
    ,
    nextAtMs,
    catchUp,
    catchUpMax,
    catchUpWindowMs,
    runsLeft,
    revisits,
    untilMs,
    reason,
    shadow,
    startWithinMs,
    endWithinMs,
  ] = row
  return {
    ...{ tenantId, jobId, projectId, queueId, pool, jobVersion, spec, overlap, graceMs, priority, attemptsMax },
    ...{
      nextAtMs,
      catchUp,
      catchUpMax,
      catchUpWindowMs,
      runsLeft,
      revisits,
      untilMs,
      shadow,
      startWithinMs,
      endWithinMs,
    },
    reason: reason === 'edited' ? null : reason,
    isEdit: reason === 'edited',
  }
}

/** What the ledger holds of a schedule from its next instant on. */
export interface KnownRows {
  rows: Map<number, KnownRow>
  /** There may be more after this instant; null: that is all. */
  readUntilMs: number | null
}

const knownMax = 2_000

/** What the ledger holds already, of those schedules that were set back or edited: of all others it holds nothing. */
export async function readKnownRows(
  client: PoolClient,
  schedules: readonly DueSchedule[],
): Promise<Map<DueSchedule, KnownRows>> {
  const asked = schedules.filter((schedule) => schedule.revisits)
  const known = new Map<DueSchedule, KnownRows>()
  if (asked.length === 0) return known
  for (const schedule of asked) known.set(schedule, { rows: new Map(), readUntilMs: null })
  const rows = await runNamed<[number, number, number, boolean, number | null]>(
    client,
    'known_occurrences',
    `select u.i::int, round(extract(epoch from o.nominal_at)::float8 * 1000),
       round(extract(epoch from coalesce(o.until_at, o.nominal_at))::float8 * 1000), o.outcome = 'pending' and o.run_id is null,
       case when o.moved then round(extract(epoch from o.effective_at)::float8 * 1000) end
     from unnest($1::uuid[], $2::uuid[], $3::float8[]) with ordinality u(t, j, n, i)
     cross join lateral (
       select * from occurrences o where o.tenant_id = u.t and o.job_id = u.j and o.nominal_at >= to_timestamp(u.n / 1000)
       order by o.nominal_at limit ${knownMax}) o
     order by o.nominal_at`,
    [
      arrayLiteral(asked.map(({ tenantId }) => tenantId)),
      arrayLiteral(asked.map(({ jobId }) => jobId)),
      arrayLiteral(asked.map(({ nextAtMs }) => nextAtMs)),
    ],
  )
  for (const [ordinal, nominalMs, untilMs, isOpen, movedToMs] of rows) {
    const schedule = asked[ordinal - 1]
    const found = schedule && known.get(schedule)
    found?.rows.set(nominalMs, { untilMs, isOpen, movedToMs })
    if (found?.rows.size === knownMax) found.readUntilMs = nominalMs
  }
  return known
}

export interface Written extends Decision {
  schedule: DueSchedule
  runId: Uuid | null
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
      $15::float8[], $16::float8[], $17::int[], $18::text[])
      x(t, j, p, q, pool, v, ov, pr, am, n, i, outcome, caught, d, last, count, reason)),
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
    insert into due (pool, due_at, id, tenant_id, project_id, queue_id, priority, attempts_max, keep_week, overlap, job_id, nominal_at)
    select pool, due, i, t, p, q, pr, am, week, ov, j, nominal from w
    returning 1),
  e as (
    insert into events (tenant_id, project_id, type, subject, job_id, data)
    select t, (array_agg(p))[1], 'occurrence.missed', j, j,
      jsonb_build_object('count', sum(count), 'from', min(nominal), 'to', max(coalesce(to_timestamp(last / 1000), nominal)))
    from u join o on o.tenant_id = u.t and o.job_id = u.j and o.nominal_at = u.nominal where o.outcome = 'missed' group by t, j)
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
