import { breakersAt } from '../breaker/trip.ts'
import { arrayLiteral, type Pool, runNamed } from '../db/client.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { Admitted } from './admit.ts'
import { readyPool } from './ready-pool.ts'
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
  /** Where the run's own request lies; null when it does what the job's version says. */
  request: { block: RequestBlock; offset: number } | null
  keepWeek: string
}

/** Requests of one tenant that were accepted together. Runs of one claim share it. */
export interface RequestBlock {
  id: Uuid
  /** Of the envelope. */
  bytes: number
  /** The envelope in base64, unless it is too large for a claim to carry: then `readBlock` fetches it. */
  sealed: string | null
  /** How many runs of the claim share it. */
  runs: number
}

export interface Claim {
  runs: Claimed[]
  /** The database's clock when it answered, epoch milliseconds. */
  nowMs: number
  /** When the latest of the breakers that are not closed changed, epoch milliseconds; 0: there are none. */
  breakersAtMs: number
}

/** How long a lease lasts without a heartbeat, where nothing else is configured. */
export const defaultLeaseSeconds = 15

/** A run; or, with ordinal 0, a block: then its id, size and content, and nothing else, mean something. */
type ClaimRow = [
  ordinal: number,
  projectId: Uuid,
  attempt: number,
  attemptsMax: number,
  nominalAtMs: number | null,
  jobId: Uuid | null,
  jobVersion: number | null,
  source: number,
  blockId: Uuid | null,
  offsetOrBytes: number | null,
  sealed: string | null,
  keepWeek: string,
  nowMs: number,
  breakersAtMs: number | null,
]

/** A claim takes a thousand runs: blocks beyond this are fetched one by one, or they would fill any memory. */
const carriedBytesMax = 65_536

// One index probe a row, then by place: whatever the planner believes about tables that are empty when analysed. Requests
// are fetched here, so they never travel through Redis: behind the runs (ordinal 0) come their blocks, each once. pg reads
// fields as UTF-8, hence base64.
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
    returning x.o::int as o, h.tenant_id, h.project_id, h.id, h.attempt, h.attempts_max, h.nominal_at, h.keep_week),
  r as materialized (
    select c.o, c.tenant_id, c.project_id, c.attempt, c.attempts_max, c.nominal_at, c.keep_week,
      n.job_id, n.job_version, n.source, n.payload_block, n.payload_offset
    from c cross join lateral (
      select i.job_id, i.job_version, i.source, i.payload_block, i.payload_offset from inputs i
      where i.keep_week = ${week} and i.tenant_id = c.tenant_id and i.project_id = c.project_id and i.id = c.id
      offset 0) n)
  select o, project_id, attempt, attempts_max, round(extract(epoch from nominal_at)::float8 * 1000), job_id, job_version,
    source, payload_block, payload_offset, null, keep_week, extract(epoch from clock_timestamp())::float8 * 1000, ${breakersAt}
  from r
  union all
  select 0, null, 0, 0, null, null, null, 0, b.id, octet_length(b.sealed),
    case when octet_length(b.sealed) <= ${carriedBytesMax} then encode(b.sealed, 'base64') end, null, 0, null
  from (
    select tenant_id, payload_block, min(keep_week) as week from r where payload_block is not null group by 1, 2) d
  cross join lateral (
    select i.id, i.sealed from input_blocks i
    where i.keep_week >= d.week and i.tenant_id = d.tenant_id and i.id = d.payload_block offset 0) b`

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
  const blocks = new Map<Uuid, RequestBlock>()
  for (const row of rows) {
    const [ordinal, , , , , , , , id, bytes, sealed] = row
    if (ordinal !== 0 || id === null) continue
    blocks.set(id, { id, bytes: bytes ?? 0, sealed, runs: 0 })
  }
  const runs: Claimed[] = []
  for (const row of rows) {
    const [ordinal, projectId, attempt, attemptsMax, nominalAtMs, jobId, jobVersion, source, blockId, offset] = row
    const admitted = parcel[ordinal - 1]
    if (admitted === undefined) continue
    const [tenantId, queueId, id, fence, dueAtMs] = admitted
    // A block that is gone is told as one that nobody can open.
    const block = blockId === null ? null : (blocks.get(blockId) ?? { id: blockId, bytes: 0, sealed: null, runs: 0 })
    if (block !== null) block.runs++
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
      request: block && { block, offset: offset ?? 0 },
      keepWeek: row[11],
    })
  }
  return { runs, nowMs: rows[0]?.[12] ?? 0, breakersAtMs: rows[0]?.[13] ?? 0 }
}

/** The envelope of a block, fetched when it was too large for its claim. Throws when it is gone. */
export async function readBlock(pool: Pool, { tenantId, keepWeek }: Claimed, block: RequestBlock): Promise<Buffer> {
  if (block.sealed !== null) return Buffer.from(block.sealed, 'base64')
  const rows = await runNamed<[Buffer]>(
    pool,
    'read_block',
    'select sealed from input_blocks where keep_week >= $1 and tenant_id = $2 and id = $3',
    [keepWeek, tenantId, block.id],
  )
  if (rows[0] === undefined) throw new Error('the request of the run is gone')
  return rows[0][0]
}

/** What names a held run and proves who holds it. */
export type Lease = Pick<Claimed, 'tenantId' | 'queueId' | 'id' | 'fence'>

export const leaseColumns = (leases: readonly Lease[]): [string, string, string, string] => [
  arrayLiteral(leases.map((lease) => lease.tenantId)),
  arrayLiteral(leases.map((lease) => lease.queueId)),
  arrayLiteral(leases.map((lease) => lease.id)),
  arrayLiteral(leases.map((lease) => lease.fence)),
]

/** A row may be touched by a heartbeat and by the janitor in one moment; more than that does not happen. */
const asksMax = 3

/**
 * Asks again for the rows that an answer left out. A held row that is touched while a statement runs (by a heartbeat,
 * or by the janitor) is not where the statement found it, and looks like somebody else's for that moment. Returns the
 * ids that came back at any time.
 */
export async function askAgain<Row>(
  rows: Row[],
  idOf: (row: Row) => Uuid,
  ask: (rows: Row[]) => Promise<Uuid[]>,
): Promise<Set<Uuid>> {
  const answered = new Set<Uuid>()
  let missing = rows
  for (let asks = 0; asks < asksMax && missing.length > 0; asks++) {
    for (const id of await ask(missing)) answered.add(id)
    missing = missing.filter((row) => !answered.has(idOf(row)))
  }
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
  askAgain(
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
 * that never started is not counted, nor what it took of a rate. Returns the ids that were still ours.
 */
export const handBack = (pool: Pool, poolId: number, leases: Lease[]): Promise<Set<Uuid>> =>
  askAgain(
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
         insert into ready (pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week, job_id, nominal_at, lane)
         select ${readyPool}, tenant_id, queue_id, priority, due_at, id, project_id, attempt - 1, attempts_max, fence, keep_week, job_id, nominal_at, lane
         from d returning id)
       select id from r cross join (select return_tokens(array_agg(tenant_id), array_agg(queue_id), array_agg(lane)) from d) back`,
        [poolId, ...leaseColumns(asked)],
      )
      return rows.map((row) => row[0])
    },
  )
