import { virtualShard } from '../clock/virtual.ts'
import { arrayLiteral, type Pool, type PoolClient, runNamed } from '../db/client.ts'
import type { Uuid } from '../kernel/ids.ts'
import { compileTimes } from '../schedule/compile.ts'
import type { FullSchedule } from '../schedule/full-schedule.ts'
import { nativeZones } from '../schedule/zone.ts'
import { takeBackPendingOf } from './take-back.ts'

type Row = [Uuid, Uuid, Uuid, FullSchedule, nextMs: number | null, tzVersion: string, nowMs: number]

const ms = (column: string): string => `round(extract(epoch from ${column})::float8 * 1000)`

const staleStatement = `
  select s.tenant_id, s.project_id, s.job_id, s.spec, ${ms('s.next_at')}, s.tz_version,
    floor(extract(epoch from coalesce(
      (select c.now_at from test_clocks c where c.tenant_id = s.tenant_id and c.project_id = s.project_id), clock_timestamp())) * 1000)::float8
  from schedules s where s.shard_id in ($1, ${virtualShard}) and s.tz_version <> $2 limit $3 for update skip locked`

/** What became of schedules that were computed with other time zone data. */
export interface Refreshed {
  schedules: number
  /** Those whose next instant is another one now. */
  moved: number
}

/**
 * Computes schedules again whose next instant came from another version of the time zone data than this process has: what
 * they had written ahead is taken back, and those that move are told as events. What is due by now stays as it was. One
 * transaction; any number of workers may call it at once.
 */
export async function refreshZones(
  engine: Pool,
  { shard, limit }: { shard: number; limit: number },
): Promise<Refreshed> {
  const client = await engine.connect()
  let broken: Error | undefined
  try {
    await client.query('begin')
    const rows = await runNamed<Row>(client, 'stale_schedules', staleStatement, [shard, nativeZones.version, limit])
    const moved = rows.length === 0 ? 0 : await refresh(client, rows)
    await client.query('commit')
    return { schedules: rows.length, moved }
  } catch (error) {
    await client.query('rollback').catch((rollbackError: Error) => {
      broken = rollbackError
    })
    throw error
  } finally {
    client.release(broken)
  }
}

async function refresh(client: PoolClient, rows: readonly Row[]): Promise<number> {
  const takenBack = await takeBackByProject(client, rows)
  const changes = rows.map(([tenantId, projectId, jobId, spec, nextMs, tzVersion, nowMs]) => {
    const firstMs = Math.min(nextMs ?? Number.POSITIVE_INFINITY, takenBack.get(jobId) ?? Number.POSITIVE_INFINITY)
    const isDue = firstMs <= nowMs || firstMs === Number.POSITIVE_INFINITY
    const nextNow = isDue ? nextMs : (nextAfter(spec, jobId, nowMs) ?? null)
    return { tenantId, projectId, jobId, tzVersion, beforeMs: isDue ? nextMs : firstMs, nextMs: nextNow }
  })
  const column = (pick: (change: (typeof changes)[number]) => string | number | null) => arrayLiteral(changes.map(pick))
  const told = await runNamed<[number]>(
    client,
    'refresh_schedules',
    `with u as materialized (
       select *, to_timestamp(b / 1000) as before, to_timestamp(n / 1000) as after
       from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::float8[], $6::float8[]) x(t, p, j, v, b, n)),
     s as (
       update schedules s set next_at = u.after, tz_version = $7, updated_at = now() from u where s.tenant_id = u.t and s.job_id = u.j),
     e as (
       insert into events (tenant_id, project_id, type, subject, job_id, data)
       select t, p, 'job.moved', j, j, jsonb_build_object('tzVersion', $7::text, 'from', v, 'before', before, 'after', after)
       from u where before is distinct from after returning 1),
     m as (
       insert into zone_moves (tenant_id, project_id, tz_version, job_id, from_version, before_at, after_at)
       select t, p, $7, j, v, before, after from u where before is distinct from after
       on conflict (tenant_id, project_id, tz_version, job_id) do update
         set from_version = excluded.from_version, at = excluded.at, before_at = excluded.before_at, after_at = excluded.after_at)
     select count(*)::int from e`,
    [
      column(({ tenantId }) => tenantId),
      column(({ projectId }) => projectId),
      column(({ jobId }) => jobId),
      changes.map(({ tzVersion }) => tzVersion),
      column(({ beforeMs }) => beforeMs),
      column(({ nextMs }) => nextMs),
      nativeZones.version,
    ],
  )
  return told[0]?.[0] ?? 0
}

/** The earliest instant that was taken back of each job. */
async function takeBackByProject(client: PoolClient, rows: readonly Row[]): Promise<Map<Uuid, number>> {
  const jobs = new Map<Uuid, { tenantId: Uuid; ids: Uuid[]; after: Date }>()
  for (const [tenantId, projectId, jobId, , , , nowMs] of rows) {
    const own = jobs.get(projectId) ?? { tenantId, ids: [], after: new Date(nowMs) }
    own.ids.push(jobId)
    jobs.set(projectId, own)
  }
  const earliest = new Map<Uuid, number>()
  for (const { tenantId, ids, after } of jobs.values())
    for (const [jobId, at] of await takeBackPendingOf({ client, tenantId }, ids, { after }))
      earliest.set(jobId, at.getTime())
  return earliest
}

/** Undefined when the data lacks its zone, too: it is found broken when its time comes. */
function nextAfter(spec: FullSchedule, jobId: Uuid, afterMs: number): number | undefined {
  try {
    return compileTimes(spec, nativeZones, jobId).next(afterMs)?.at
  } catch (error) {
    if (error instanceof RangeError) return afterMs + 1
    throw error
  }
}
