import { arrayLiteral, type Pool, runNamed } from '../db/client.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { Admitted } from './admit.ts'
import { type RunSource, runSources } from './run.ts'

/** A run that an executor holds the lease of. */
export interface Claimed {
  tenantId: Uuid
  projectId: Uuid
  queueId: Uuid
  id: Uuid
  fence: number
  attempt: number
  attemptsMax: number
  dueAtMs: number
  nominalAtMs: number | null
  jobId: Uuid | null
  jobVersion: number | null
  source: RunSource
  /** Size of the run's own sealed request; null when it does what the job's version says. */
  payloadBytes: number | null
  /** The run's own sealed request, unless it is too large for a claim to carry: then `readPayload` fetches it. */
  sealed: Buffer | null
  keepWeek: string
}

export interface Claim {
  runs: Claimed[]
  /** The database's clock when it answered, epoch milliseconds. */
  nowMs: number
}

/** How long a lease lasts without a heartbeat, where nothing else is configured. */
export const defaultLeaseSeconds = 15

type ClaimRow = [
  number,
  Uuid,
  number,
  number,
  number | null,
  Uuid | null,
  number | null,
  number,
  number | null,
  string | null,
  string,
  number,
]

/** A claim takes a thousand runs: payloads beyond this are fetched one by one, or they would fill any memory. */
const carriedBytesMax = 65_536

// One index probe a row, then by place: whatever the planner believes about tables that are empty when analysed. A
// payload is fetched here, so it never travels through Redis; pg reads fields as UTF-8, hence base64.
const statement = (week: string): string => `
  with c as (
    update held h set state = 3, attempt = h.attempt + 1, since = clock_timestamp(),
      lease_until = clock_timestamp() + $7 * interval '1 second', executor_id = $6
    from (
      select u.o, k.place from unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::int[]) with ordinality u(t, q, i, f, o)
      cross join lateral (
        select h.ctid as place from held h
        where h.pool = $1 and h.tenant_id = u.t and h.queue_id = u.q and h.id = u.i and h.fence = u.f and h.state + 0 = 2
        offset 0) k) x
    where h.ctid = x.place and h.state + 0 = 2
    returning x.o::int as o, h.tenant_id, h.project_id, h.id, h.attempt, h.attempts_max, h.nominal_at, h.keep_week
  )
  select c.o, c.project_id, c.attempt, c.attempts_max, round(extract(epoch from c.nominal_at)::float8 * 1000), n.job_id, n.job_version,
    n.source, octet_length(n.payload), case when octet_length(n.payload) <= ${carriedBytesMax} then encode(n.payload, 'base64') end,
    c.keep_week, extract(epoch from clock_timestamp())::float8 * 1000
  from c cross join lateral (
    select i.job_id, i.job_version, i.source, i.payload from inputs i
    where i.keep_week = ${week} and i.tenant_id = c.tenant_id and i.project_id = c.project_id and i.id = c.id
    offset 0) n`

const acrossWeeks = statement('c.keep_week')
const ofOneWeek = statement('$8::date')

/**
 * Claims the runs of parcels, queued -> running, in one statement. A run that does not come back belongs to somebody
 * else, was cancelled, or was given up as lost. An attempt is counted here.
 */
export async function claimRuns(
  pool: Pool,
  poolId: number,
  executorId: Uuid,
  parcel: Admitted[],
  leaseSeconds = defaultLeaseSeconds,
): Promise<Claim> {
  // Runs of one claim are mostly due in one week: then the other partitions are ruled out once, not row by row.
  const weeks = new Set(parcel.map((run) => run[5]))
  const [week] = weeks.size === 1 ? weeks : []
  const [name, text] = week === undefined ? ['claim_runs', acrossWeeks] : ['claim_runs_of_week', ofOneWeek]
  const rows = await runNamed<ClaimRow>(pool, name, text, [
    poolId,
    arrayLiteral(parcel.map((run) => run[0])),
    arrayLiteral(parcel.map((run) => run[1])),
    arrayLiteral(parcel.map((run) => run[2])),
    arrayLiteral(parcel.map((run) => run[3])),
    executorId,
    leaseSeconds,
    ...(week === undefined ? [] : [week]),
  ])
  const runs: Claimed[] = []
  for (const [
    ordinal,
    projectId,
    attempt,
    attemptsMax,
    nominalAtMs,
    jobId,
    jobVersion,
    source,
    payloadBytes,
    payload,
    keepWeek,
  ] of rows) {
    const admitted = parcel[ordinal - 1]
    if (admitted === undefined) continue
    const [tenantId, queueId, id, fence, dueAtMs] = admitted
    runs.push({
      tenantId,
      projectId,
      queueId,
      id,
      fence,
      attempt,
      attemptsMax,
      dueAtMs,
      nominalAtMs,
      jobId,
      jobVersion,
      source: runSources[source] ?? 'api',
      payloadBytes,
      sealed: payload === null ? null : Buffer.from(payload, 'base64'),
      keepWeek,
    })
  }
  return { runs, nowMs: rows[0]?.[11] ?? 0 }
}

/** The sealed request of a run that was too large for its claim. Throws when it is gone. */
export async function readPayload(pool: Pool, { tenantId, projectId, id, keepWeek }: Claimed): Promise<Buffer> {
  const rows = await runNamed<[Buffer | null]>(
    pool,
    'read_payload',
    'select payload from inputs where keep_week = $1 and tenant_id = $2 and project_id = $3 and id = $4',
    [keepWeek, tenantId, projectId, id],
  )
  const payload = rows[0]?.[0]
  if (payload === undefined || payload === null) throw new Error('the payload of the run is gone')
  return payload
}

/** What names a held run and proves who holds it. */
export type Lease = Pick<Claimed, 'tenantId' | 'queueId' | 'id' | 'fence'>

export const leaseColumns = (leases: readonly Lease[]): [string, string, string, string] => [
  arrayLiteral(leases.map((lease) => lease.tenantId)),
  arrayLiteral(leases.map((lease) => lease.queueId)),
  arrayLiteral(leases.map((lease) => lease.id)),
  arrayLiteral(leases.map((lease) => lease.fence)),
]

/**
 * Asks once more for the rows that an answer left out. A held row that is touched while a statement runs (by a
 * heartbeat, or by the janitor) is not where the statement found it, and looks like somebody else's for that moment.
 * Returns the ids that came back at either time.
 */
export async function askTwice<Row>(
  rows: Row[],
  idOf: (row: Row) => Uuid,
  ask: (rows: Row[]) => Promise<Uuid[]>,
): Promise<Set<Uuid>> {
  const answered = new Set(await ask(rows))
  const missing = rows.filter((row) => !answered.has(idOf(row)))
  if (missing.length > 0) for (const id of await ask(missing)) answered.add(id)
  return answered
}

/**
 * Prolongs leases. Returns the ids that are still held; the others were cancelled or taken away, and their attempts
 * must stop.
 */
export const renewLeases = (
  pool: Pool,
  poolId: number,
  leases: Lease[],
  leaseSeconds = defaultLeaseSeconds,
): Promise<Set<Uuid>> =>
  askTwice(
    leases,
    (lease) => lease.id,
    async (asked) => {
      const rows = await runNamed<[Uuid]>(
        pool,
        'renew_leases',
        `update held h set lease_until = clock_timestamp() + $6 * interval '1 second'
       from (
         select k.place from unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::int[]) u(t, q, i, f)
         cross join lateral (
           select h.ctid as place from held h
           where h.pool = $1 and h.tenant_id = u.t and h.queue_id = u.q and h.id = u.i and h.fence = u.f offset 0) k) x
       where h.ctid = x.place and h.state + 0 = 3 returning h.id`,
        [poolId, ...leaseColumns(asked), leaseSeconds],
      )
      return rows.map((row) => row[0])
    },
  )

/**
 * Hands runs back that this executor won't perform (it is going down): running -> ready, at once, and the attempt
 * that never started is not counted. Returns the ids that were still ours.
 */
export const handBack = (pool: Pool, poolId: number, leases: Lease[]): Promise<Set<Uuid>> =>
  askTwice(
    leases,
    (lease) => lease.id,
    async (asked) => {
      const rows = await runNamed<[Uuid]>(
        pool,
        'hand_back',
        `with d as (
         delete from held h using (
           select k.place from unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::int[]) u(t, q, i, f)
           cross join lateral (
             select h.ctid as place from held h
             where h.pool = $1 and h.tenant_id = u.t and h.queue_id = u.q and h.id = u.i and h.fence = u.f offset 0) k) x
         where h.ctid = x.place and h.state + 0 = 3 returning h.*),
       r as (
         insert into ready (pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week, job_id, nominal_at)
         select pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt - 1, attempts_max, fence, keep_week, job_id, nominal_at
         from d returning id)
       select id from r`,
        [poolId, ...leaseColumns(asked)],
      )
      return rows.map((row) => row[0])
    },
  )
