import { arrayLiteral, type PoolClient, runNamed } from '../db/client.ts'
import { isCarried } from '../flow/lanes.ts'
import { nilUuid, type Uuid } from '../kernel/ids.ts'
import type { FullSchedule } from '../schedule/full-schedule.ts'
import type { InstantRules, KnownRow } from './decide-instants.ts'

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
  /** How many of its tenant's runs may wait before it starts no more; null: any number. */
  waitingMax: number | null
  /** Its tenant has limits that runs carry. */
  isLimited: boolean
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
  waitingMax: number | null,
  isLimited: boolean,
]

const rulesOf = (
  s: string,
): string => `${s}.tenant_id, ${s}.job_id, ${s}.project_id, ${s}.queue_id, ${s}.pool, ${s}.job_version, ${s}.spec,
  ${s}.overlap, ${s}.grace_seconds * 1000, ${s}.priority, ${s}.attempts_max, round(extract(epoch from ${s}.next_at)::float8 * 1000),
  ${s}.catch_up, ${s}.catch_up_max, ${s}.catch_up_window_ms::float8, ${s}.runs_left`

const waitingMaxOf = (tenant: string): string =>
  `(select l.waiting_max from limits l where l.tenant_id = ${tenant} and l.queue_id = '${nilUuid}')`

const isLimitedOf = (tenant: string): string =>
  `exists (select from flow_limits f where f.tenant_id = ${tenant} and ${isCarried('f')})`

const schedulesStatement = (now: string, whose: string): string => `
  select ${rulesOf('s')}, s.revisits, null::float8, null::text, s.shadow, s.start_within_ms::float8, s.end_within_ms::float8,
    extract(epoch from ${now})::float8 * 1000, ${waitingMaxOf('s.tenant_id')}, ${isLimitedOf('s.tenant_id')}
  from schedules s
  where s.shard_id = $1 and look_at(s.next_at, s.lead_ms) <= (select ${now} + $2 * interval '1 millisecond')
    and s.next_at is not null and not s.paused and s.job_id || '.' || s.job_version <> all ($4::text[]) ${whose}
  order by look_at(s.next_at, s.lead_ms) limit $3 for update skip locked`

/** A rest has no deadlines of its own: those that its job has by now hold. */
const withinOf = (which: 'start' | 'end'): string =>
  `(select x.${which}_within_ms::float8 from schedules x where x.tenant_id = s.tenant_id and x.job_id = s.job_id)`

const restsStatement = (now: string, whose: string): string => `
  select ${rulesOf('s')}, true, round(extract(epoch from s.until_at)::float8 * 1000), s.reason, false, ${withinOf('start')},
    ${withinOf('end')}, extract(epoch from ${now})::float8 * 1000, ${waitingMaxOf('s.tenant_id')}, ${isLimitedOf('s.tenant_id')}
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
    s.start_within_ms::float8, s.end_within_ms::float8, extract(epoch from ${now})::float8 * 1000, ${waitingMaxOf('r.tenant_id')}, ${isLimitedOf('r.tenant_id')}
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
    ,
    waitingMax,
    isLimited,
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
      waitingMax,
      isLimited,
    },
    reason: reason === 'edited' ? null : reason,
    isEdit: reason === 'edited',
  }
}

/** How many runs each of these tenants may still add to those that wait for a slot, or for another run of their job. */
export async function readRoom(client: PoolClient, schedules: readonly DueSchedule[]): Promise<Map<Uuid, number>> {
  const limits = new Map<Uuid, number>()
  for (const { tenantId, waitingMax } of schedules) if (waitingMax !== null) limits.set(tenantId, waitingMax)
  if (limits.size === 0) return limits
  const rows = await runNamed<[Uuid, number]>(
    client,
    'room_to_wait',
    `select u.t, u.m - (select count(*)::int from (
         select from ready r where r.tenant_id = u.t
         union all select from due d where d.tenant_id = u.t and d.pool < 0
         union all select from due d where d.pool = any($3::smallint[]) and d.due_at <= (select clock_timestamp()) + interval '5 seconds'
           and d.tenant_id = u.t
         limit u.m) x)
     from unnest($1::uuid[], $2::int[]) u(t, m)`,
    [
      arrayLiteral([...limits.keys()]),
      arrayLiteral([...limits.values()]),
      arrayLiteral([...new Set(schedules.map(({ pool }) => pool))]),
    ],
  )
  return new Map(rows)
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
