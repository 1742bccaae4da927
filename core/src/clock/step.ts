import { arrayLiteral, type Pool, type PoolClient, runNamed } from '../db/client.ts'
import { type Tx, withTx } from '../db/context.ts'
import { systemCtx } from '../job/keep.ts'
import { resumeIn } from '../job/set-state.ts'
import type { Uuid } from '../kernel/ids.ts'
import { materialiseIn } from '../run/materialise.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { virtualPool, virtualShard } from './virtual.ts'

/** What one look at a clock did: let runs go, waits for runs, arrived, or found nothing to do. */
export type ClockStep = { state: 'released'; pool: number } | { state: 'waits' | 'moved' | 'arrived' | 'still' }

interface ClockRow {
  tenantId: Uuid
  id: Uuid
  projectId: Uuid
  pool: number
  nowMs: number
  targetMs: number | null
  openRuns: Uuid[]
  openQueues: Uuid[]
}

const epochMs = (column: string): string => `round(extract(epoch from ${column})::float8 * 1000)`
const waitingOf = (table: string): string =>
  `(select min(due_at) from ${table} where pool = ${virtualPool} and tenant_id = c.tenant_id and project_id = c.project_id)`

/** What schedules have left behind: it is decided where the clock stands. */
const hasRests = `exists (select from schedule_rests r left join schedules s on s.tenant_id = r.tenant_id and s.job_id = r.job_id
  where r.shard_id = ${virtualShard} and r.tenant_id = c.tenant_id and r.project_id = c.project_id
    and not (r.reason is not distinct from 'edited' and coalesce(s.paused, false)))`

type BusyClock = [tenantId: Uuid, projectId: Uuid, id: Uuid]

/**
 * The clocks of a shard that have something to do: on their way, waiting for runs, or with something that is due or was
 * left behind.
 */
export async function findBusyClocks(engine: Pool, shard: number): Promise<BusyClock[]> {
  return runNamed<BusyClock>(
    engine,
    'busy_clocks',
    `select c.tenant_id, c.project_id, c.id from test_clocks c where c.shard_id = $1
       and (c.target_at is not null or c.open_runs <> '{}' or ${hasRests} or least(${waitingOf('due')}, ${waitingOf('ready')}) <= c.now_at)
     order by c.updated_at limit 100`,
    [shard],
  )
}

/**
 * Takes a clock one step on, in one transaction: to the next instant at which something is due, where occurrences are
 * written and what is due is let go into the pool that performs it, with the real instant as its due one. While runs of
 * an earlier instant are open it only waits, so that things happen in their order. Any number of workers may call it;
 * whoever dies in it leaves nothing behind. Null when somebody else is at it.
 */
export async function stepTestClock(
  engine: Pool,
  keyRing: KeyRing,
  [tenantId, projectId, id]: BusyClock,
): Promise<ClockStep | null> {
  // A key that is gone is found where it is needed.
  await keyRing.load(tenantId).catch(() => undefined)
  return withTx(systemCtx(engine, keyRing, [tenantId, projectId]), async (tx) => {
    const clock = await holdClock(tx.client, tenantId, id)
    return clock && stepIn(tx, clock)
  })
}

async function holdClock(client: PoolClient, tenantId: Uuid, id: Uuid): Promise<ClockRow | null> {
  const { rows } = await client.query<ClockRow>({
    name: 'hold_clock',
    text: `select tenant_id as "tenantId", id, project_id as "projectId", pool, ${epochMs('now_at')} as "nowMs",
        ${epochMs('target_at')} as "targetMs", open_runs as "openRuns", open_queues as "openQueues"
      from test_clocks where tenant_id = $1 and id = $2 for update skip locked`,
    values: [tenantId, id],
  })
  return rows[0] ?? null
}

async function stepIn(tx: Tx, clock: ClockRow): Promise<ClockStep> {
  const { client } = tx
  if (clock.openRuns.length > 0 && (await hasOpenRuns(client, clock))) return { state: 'waits' }
  const nextMs = await nextInstantOf(client, clock)
  const untilMs = clock.targetMs ?? clock.nowMs
  if (nextMs === null || nextMs > untilMs) return arrive(client, clock)
  const nowMs = Math.max(clock.nowMs, nextMs)
  const { tenantId, projectId } = clock
  await resumeDue(tx, clock, nowMs)
  const written = await materialiseIn(client, {
    keyRing: tx.keyRing,
    shard: virtualShard,
    aheadMs: 0,
    limit: schedulesMax,
    clock: { tenantId, projectId, nowMs },
  })
  // The rest of this instant in the next step, before anything of it is let go.
  const released = written.isFull ? [] : await release(client, clock, nowMs)
  await setClock(client, clock, { nowMs, targetMs: clock.targetMs, released })
  if (released.length > 0) return { state: 'released', pool: clock.pool }
  // A schedule that can't be computed is set aside for a while: no reason to look all the time.
  return { state: written.schedules > 0 ? 'moved' : 'waits' }
}

const schedulesMax = 500

/** Resumes the jobs whose pause is over by then. */
async function resumeDue(tx: Tx, clock: ClockRow, nowMs: number): Promise<void> {
  const paused = await runNamed<[Uuid]>(
    tx.client,
    'virtual_pauses_over',
    `select id from jobs where tenant_id = $1 and project_id = $2 and pause_until <= to_timestamp($3::float8 / 1000) order by id`,
    [clock.tenantId, clock.projectId, nowMs],
  )
  if (paused.length === 0) return
  // They go on from where the clock stands.
  await setClock(tx.client, clock, { nowMs, targetMs: clock.targetMs, released: [] })
  for (const [id] of paused) await resumeIn(tx, id)
}

/** A run is open until its end is written, or its next try waits for the clock again. */
async function hasOpenRuns(client: PoolClient, { tenantId, pool, openRuns, openQueues }: ClockRow): Promise<boolean> {
  const rows = await runNamed<[boolean]>(
    client,
    'open_virtual_runs',
    `select exists (
       select from unnest($3::uuid[], $4::uuid[]) u(i, q)
       where exists (select from due d where d.tenant_id = $1 and d.id = u.i and d.pool <> ${virtualPool} offset 0)
         or exists (select from ready r where r.tenant_id = $1 and r.id = u.i offset 0)
         or exists (select from held h where h.pool = $2 and h.tenant_id = $1 and h.queue_id = u.q and h.id = u.i offset 0))`,
    [tenantId, pool, arrayLiteral(openRuns), arrayLiteral(openQueues)],
  )
  return rows[0]?.[0] ?? false
}

async function nextInstantOf(client: PoolClient, { tenantId, id }: ClockRow): Promise<number | null> {
  const rows = await runNamed<[number | null]>(
    client,
    'next_virtual_instant',
    `select ${epochMs(`least(${waitingOf('due')}, ${waitingOf('ready')},
       (select min(look_at(s.next_at, s.lead_ms)) from schedules s where s.shard_id = ${virtualShard} and s.next_at is not null
          and not s.paused and s.tenant_id = c.tenant_id and s.project_id = c.project_id),
       (select min(j.pause_until) from jobs j where j.pause_until is not null and j.tenant_id = c.tenant_id and j.project_id = c.project_id),
       case when ${hasRests} then c.now_at end)`)}
     from test_clocks c where c.tenant_id = $1 and c.id = $2`,
    [tenantId, id],
  )
  return rows[0]?.[0] ?? null
}

/** Lets go what is due: from now on it is a run like any other. */
const release = (client: PoolClient, clock: ClockRow, nowMs: number): Promise<[id: Uuid, queueId: Uuid][]> =>
  runNamed<[Uuid, Uuid]>(
    client,
    'release_virtual',
    `with d as (
       delete from due where pool = ${virtualPool} and tenant_id = $1 and project_id = $2 and due_at <= to_timestamp($3::float8 / 1000)
       returning id, queue_id, priority, attempt, attempts_max, fence, keep_week, overlap, job_id, nominal_at, due_at, lane),
     r as (
       delete from ready where pool = ${virtualPool} and tenant_id = $1 and project_id = $2 and due_at <= to_timestamp($3::float8 / 1000)
       returning id, queue_id, priority, attempt, attempts_max, fence, keep_week, 1::smallint, job_id, nominal_at, due_at, lane),
     x as materialized (select * from d union all select * from r),
     i as (
       update inputs i set pool = $4, due_at = x.due_at from x
       where i.keep_week = x.keep_week and i.tenant_id = $1 and i.project_id = $2 and i.id = x.id),
     n as (
       insert into due (pool, due_at, id, tenant_id, project_id, queue_id, priority, attempt, attempts_max, fence, keep_week, overlap, job_id, nominal_at, lane)
       select $4, date_trunc('milliseconds', clock_timestamp()), id, $1, $2, queue_id, priority, attempt, attempts_max, fence, keep_week,
         overlap, job_id, nominal_at, lane from x)
     select id, queue_id from x`,
    [clock.tenantId, clock.projectId, nowMs, clock.pool],
  )

async function arrive(client: PoolClient, clock: ClockRow): Promise<ClockStep> {
  const { targetMs, openRuns } = clock
  if (targetMs === null && openRuns.length === 0) return { state: 'still' }
  await setClock(client, clock, { nowMs: targetMs ?? clock.nowMs, targetMs: null, released: [] })
  if (targetMs === null) return { state: 'still' }
  await runNamed(
    client,
    'tell_clock_advanced',
    `insert into events (tenant_id, project_id, type, subject, data)
     values ($1, $2, 'test-clock.advanced', $3, jsonb_build_object('now', $4::text))`,
    [clock.tenantId, clock.projectId, clock.id, new Date(targetMs).toISOString()],
  )
  return { state: 'arrived' }
}

async function setClock(
  client: PoolClient,
  { tenantId, id }: ClockRow,
  { nowMs, targetMs, released }: { nowMs: number; targetMs: number | null; released: [id: Uuid, queueId: Uuid][] },
): Promise<void> {
  await runNamed(
    client,
    'set_clock',
    `update test_clocks set now_at = to_timestamp($3::float8 / 1000), target_at = to_timestamp($4::float8 / 1000),
       open_runs = $5, open_queues = $6, updated_at = clock_timestamp() where tenant_id = $1 and id = $2`,
    [
      tenantId,
      id,
      nowMs,
      targetMs,
      arrayLiteral(released.map(([runId]) => runId)),
      arrayLiteral(released.map(([, queueId]) => queueId)),
    ],
  )
}
