import { LRUCache } from 'lru-cache'
import { arrayLiteral, type Pool, type PoolClient, runNamed } from '../db/client.ts'
import { type Uuid, uuidv7 } from '../kernel/ids.ts'
import { type CompiledSchedule, compileSchedule, nextInstantMs } from '../schedule/occurrences.ts'
import type { Schedule } from '../schedule/schedule.ts'
import { nativeZones } from '../schedule/zone.ts'

export interface MaterialiseOptions {
  shard: number
  /** How far ahead of the database's clock occurrences are written. */
  aheadMs: number
  /** The most schedules to look at in one pass. */
  limit: number
}

export interface Materialised {
  schedules: number
  runs: number
  missed: number
  /** Earliest due instant of each pool that got runs: whom to wake, and when. */
  wakes: Map<number, number>
  /** Schedules that could not be computed. They are left as they were, and set aside for a minute. */
  broken: { jobId: Uuid; error: unknown }[]
  /** There was more to do than one pass takes. */
  isFull: boolean
}

interface DueSchedule {
  tenantId: Uuid
  jobId: Uuid
  projectId: Uuid
  queueId: Uuid
  pool: number
  jobVersion: number
  spec: Schedule
  overlap: number
  graceMs: number
  priority: number
  attemptsMax: number
  nextAtMs: number
  shadow: boolean
}

type ScheduleRow = [
  Uuid,
  Uuid,
  Uuid,
  Uuid,
  number,
  number,
  Schedule,
  number,
  number,
  number,
  number,
  number,
  number,
  boolean,
]

/**
 * Instants written in one pass, in equal shares, and how long it may compute them; the rest follows in the next. After
 * an outage there are thousands, and a pass that took longer than a transaction may be idle would never end.
 */
const instantsMax = 2_000
const computeMs = 500

// Version by version, so that an edit brings a schedule back at once.
const setAside = new LRUCache<string, true>({ max: 10_000, ttl: 60_000 })
const versionKey = (schedule: Pick<DueSchedule, 'jobId' | 'jobVersion'>): string =>
  `${schedule.jobId}.${schedule.jobVersion}`

const compiled = new LRUCache<string, CompiledSchedule>({ max: 20_000 })

function compile(schedule: DueSchedule): CompiledSchedule {
  const key = versionKey(schedule)
  const known = compiled.get(key)
  if (known !== undefined) return known
  const made = compileSchedule(schedule.spec)
  compiled.set(key, made)
  return made
}

/** What becomes of one instant of a schedule. */
export type Decision = { nominalAtMs: number; outcome: 'pending' | 'missed' | 'skipped'; caughtUp: boolean }

/**
 * The instants of a schedule from `nextAtMs` up to `untilMs`, each with its fate under the catch-up rule `one`: what is
 * at most `graceMs` late runs normally; of older ones only the last runs, marked as caught up, the others are missed.
 * Pure. Goes on while `mayGoOn` lets it, but decides one at least. `nextAtMs` in the answer is the first instant that was
 * not decided, null when the schedule has none left.
 */
export function decideInstants(
  next: (afterMs: number) => number | null,
  schedule: { nextAtMs: number; graceMs: number },
  clock: { nowMs: number; untilMs: number },
  mayGoOn: (decided: number) => boolean = () => true,
): { decisions: Decision[]; nextAtMs: number | null } {
  const decisions: Decision[] = []
  let instant: number | null = schedule.nextAtMs
  while (instant !== null && instant <= clock.untilMs && (decisions.length === 0 || mayGoOn(decisions.length))) {
    const following: number | null = next(instant)
    const late = clock.nowMs - instant > schedule.graceMs
    const followedByLate = following !== null && clock.nowMs - following > schedule.graceMs
    decisions.push(
      late && followedByLate
        ? { nominalAtMs: instant, outcome: 'missed', caughtUp: false }
        : { nominalAtMs: instant, outcome: 'pending', caughtUp: late },
    )
    instant = following
  }
  return { decisions, nextAtMs: instant }
}

const selectStatement = `
  select s.tenant_id, s.job_id, s.project_id, s.queue_id, s.pool, s.job_version, s.spec, s.overlap, s.grace_seconds * 1000, s.priority,
    s.attempts_max, round(extract(epoch from s.next_at)::float8 * 1000), extract(epoch from clock_timestamp())::float8 * 1000, s.shadow
  from schedules s
  where s.shard_id = $1 and s.next_at <= (select clock_timestamp() + $2 * interval '1 millisecond') and not s.paused
    and s.job_id || '.' || s.job_version <> all ($4::text[])
  order by s.next_at limit $3 for update skip locked`

const weekOf = (due: string): string =>
  `case when greatest(${due}, now()) < now() + interval '8 weeks'
    then date_trunc('week', greatest(${due}, now()) at time zone 'UTC')::date else date '9999-12-31' end`

// An occurrence is unique per job and nominal instant: whatever was decided before stays decided, and its run with it.
const writeStatement = `
  with u as materialized (
    select x.*, to_timestamp(n / 1000) as nominal from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::smallint[], $6::int[],
      $7::smallint[], $8::smallint[], $9::smallint[], $10::float8[], $11::uuid[], $12::text[], $13::boolean[])
      x(t, j, p, q, pool, v, ov, pr, am, n, i, outcome, caught)),
  o as (
    insert into occurrences (tenant_id, job_id, nominal_at, project_id, job_version, outcome, reason, run_id, caught_up, tz_version, decided_at)
    select t, j, nominal, p, v, outcome, case outcome when 'missed' then 'catch-up' when 'skipped' then 'shadow' end, i, caught, $14,
      case when outcome <> 'pending' then clock_timestamp() end from u
    on conflict (tenant_id, job_id, nominal_at) do nothing
    returning tenant_id, job_id, nominal_at, run_id, outcome),
  w as materialized (
    select u.*, ${weekOf('u.nominal')} as week from u join o on o.run_id = u.i where o.outcome = 'pending'),
  i_ as (
    insert into inputs (tenant_id, project_id, id, keep_week, created_at, due_at, queue_id, pool, priority, source, job_id, job_version, nominal_at)
    select t, p, i, week, clock_timestamp(), nominal, q, pool, pr, 1, j, v, nominal from w),
  d as (
    insert into due (pool, due_at, id, tenant_id, project_id, queue_id, priority, attempts_max, keep_week, overlap, job_id, nominal_at)
    select pool, nominal, i, t, p, q, pr, am, week, ov, j, nominal from w
    returning 1),
  e as (
    insert into events (tenant_id, project_id, type, subject, job_id, data)
    select t, (array_agg(p))[1], 'occurrence.missed', j, j, jsonb_build_object('count', count(*), 'from', min(nominal), 'to', max(nominal))
    from u join o on o.tenant_id = u.t and o.job_id = u.j and o.nominal_at = u.nominal where o.outcome = 'missed' group by t, j)
  select count(*)::int from d`

/**
 * Writes what schedules will do next: for each instant up to the look-ahead its occurrence and its run, and moves
 * `next_at` on, all in one transaction. Any number of schedulers may do this at once; a schedule is one scheduler's at
 * a time.
 */
export async function materialise(pool: Pool, options: MaterialiseOptions): Promise<Materialised> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query('begin')
    const result = await materialiseIn(client, options)
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch((rollbackError: Error) => {
      broken = rollbackError
    })
    throw error
  } finally {
    client.release(broken)
  }
}

/** What a job in shadow does: it is noted that it would have run. */
const inShadow = ({ nominalAtMs }: Decision): Decision => ({ nominalAtMs, outcome: 'skipped', caughtUp: false })

interface Written extends Decision {
  schedule: DueSchedule
  runId: Uuid | null
}

async function materialiseIn(client: PoolClient, options: MaterialiseOptions): Promise<Materialised> {
  const { shard, aheadMs, limit } = options
  const rows = await runNamed<ScheduleRow>(client, 'due_schedules', selectStatement, [
    shard,
    aheadMs,
    limit,
    [...setAside.keys()],
  ])
  const result: Materialised = {
    schedules: rows.length,
    runs: 0,
    missed: 0,
    wakes: new Map(),
    broken: [],
    isFull: rows.length >= limit,
  }
  if (rows.length === 0) return result
  const nowMs = rows[0]?.[12] ?? 0
  const untilMs = nowMs + aheadMs
  const computeUntilMs = performance.now() + computeMs
  const share = Math.ceil(instantsMax / rows.length)
  const mayGoOn = (decided: number): boolean => decided < share && performance.now() < computeUntilMs
  const written: Written[] = []
  const moved: { schedule: DueSchedule; nextAtMs: number | null }[] = []
  for (const row of rows) {
    if (performance.now() > computeUntilMs) {
      result.isFull = true
      break
    }
    const schedule = toSchedule(row)
    try {
      const plan = compile(schedule)
      const next = (afterMs: number): number | null => nextInstantMs(plan, afterMs)
      const { decisions, nextAtMs } = decideInstants(next, schedule, { nowMs, untilMs }, mayGoOn)
      for (const decided of decisions) {
        const decision = schedule.shadow ? inShadow(decided) : decided
        written.push({ ...decision, schedule, runId: decision.outcome === 'pending' ? uuidv7(nowMs) : null })
        if (decision.outcome === 'pending') {
          result.wakes.set(
            schedule.pool,
            Math.min(result.wakes.get(schedule.pool) ?? Number.POSITIVE_INFINITY, decision.nominalAtMs),
          )
        }
      }
      moved.push({ schedule, nextAtMs })
      if (nextAtMs !== null && nextAtMs <= untilMs) result.isFull = true
    } catch (error) {
      setAside.set(versionKey(schedule), true)
      result.broken.push({ jobId: schedule.jobId, error })
    }
  }
  result.missed = written.filter((each) => each.outcome === 'missed').length
  if (written.length > 0) result.runs = await write(client, written)
  await advance(client, moved)
  return result
}

async function write(client: PoolClient, written: Written[]): Promise<number> {
  const column = (pick: (each: Written) => string | number | boolean | null): string => arrayLiteral(written.map(pick))
  const rows = await runNamed<[number]>(client, 'write_occurrences', writeStatement, [
    column(({ schedule }) => schedule.tenantId),
    column(({ schedule }) => schedule.jobId),
    column(({ schedule }) => schedule.projectId),
    column(({ schedule }) => schedule.queueId),
    column(({ schedule }) => schedule.pool),
    column(({ schedule }) => schedule.jobVersion),
    column(({ schedule }) => schedule.overlap),
    column(({ schedule }) => schedule.priority),
    column(({ schedule }) => schedule.attemptsMax),
    column((each) => each.nominalAtMs),
    column((each) => each.runId),
    column((each) => each.outcome),
    column((each) => each.caughtUp),
    nativeZones.version,
  ])
  return rows[0]?.[0] ?? 0
}

async function advance(client: PoolClient, moved: { schedule: DueSchedule; nextAtMs: number | null }[]): Promise<void> {
  await runNamed(
    client,
    'advance_schedules',
    `update schedules s set next_at = to_timestamp(u.n / 1000) from unnest($1::uuid[], $2::uuid[], $3::float8[]) u(t, j, n)
     where s.tenant_id = u.t and s.job_id = u.j`,
    [
      arrayLiteral(moved.map(({ schedule }) => schedule.tenantId)),
      arrayLiteral(moved.map(({ schedule }) => schedule.jobId)),
      arrayLiteral(moved.map(({ nextAtMs }) => nextAtMs)),
    ],
  )
}

const toSchedule = (row: ScheduleRow): DueSchedule => {
  const [
    tenantId,
    jobId,
    projectId,
    queueId,
    pool,
    jobVersion,
    spec,
    overlap,
    graceMs,
    priority,
    attemptsMax,
    nextAtMs,
    _nowMs,
    shadow,
  ] = row
  return {
    tenantId,
    jobId,
    projectId,
    queueId,
    pool,
    jobVersion,
    spec,
    overlap,
    graceMs,
    priority,
    attemptsMax,
    nextAtMs,
    shadow,
  }
}

/** When the next schedule of a shard wants to be looked at, epoch milliseconds; null when none does. */
export async function nextScheduleMs(pool: Pool, shard: number): Promise<number | null> {
  const rows = await runNamed<[number | null]>(
    pool,
    'next_schedule',
    `select round(extract(epoch from (select next_at from schedules where shard_id = $1 and next_at is not null and not paused
       order by next_at limit 1))::float8 * 1000)`,
    [shard],
  )
  return rows[0]?.[0] ?? null
}
