import { type Pool, runNamed } from './client.ts'

/** Makes the weekly partitions ahead of need. Returns how many were new. */
export async function ensurePartitions(pool: Pool, weeksAhead: number): Promise<number> {
  const rows = await runNamed<[number]>(pool, 'ensure_partitions', 'select ensure_partitions($1)', [weeksAhead])
  return rows[0]?.[0] ?? 0
}

/** Drops whole weeks that ended before an instant; inputs of runs that are still open are kept. Returns their names. */
export async function dropPartitions(pool: Pool, before: Date): Promise<string[]> {
  const rows = await runNamed<[string[]]>(pool, 'drop_partitions', 'select drop_partitions($1::date)', [
    before.toISOString().slice(0, 10),
  ])
  return rows[0]?.[0] ?? []
}

const weekly = ['occurrences', 'inputs', 'runs', 'attempts', 'run_logs', 'events', 'audit_entries'] as const

/** Weekly tables with rows outside every partition made ahead: a sign that the janitor was away too long. */
export async function findOverflow(pool: Pool): Promise<string[]> {
  const probes = weekly.map(
    (table) => `select '${table}' where exists (select from ${table} where tableoid = '${table}_default'::regclass)`,
  )
  const rows = await runNamed<[string]>(pool, 'find_overflow', probes.join(' union all '), [])
  return rows.map((row) => row[0])
}

/** Forgets idempotency keys older than `hours`, at most `limit` at a time. Returns how many. */
export async function forgetIdempotencyKeys(pool: Pool, hours: number, limit: number): Promise<number> {
  const rows = await runNamed<[number]>(
    pool,
    'forget_idempotency_keys',
    `with gone as (
       delete from idempotency_keys where (tenant_id, project_id, key) in (
         select tenant_id, project_id, key from idempotency_keys
         where created_at < clock_timestamp() - $1 * interval '1 hour' limit $2)
       returning 1)
     select count(*)::int from gone`,
    [hours, limit],
  )
  return rows[0]?.[0] ?? 0
}

/** Deletes from inputs_far the payloads of runs that ended more than `days` ago, at most `limit` at a time. */
export async function forgetFarInputs(pool: Pool, days: number, limit: number): Promise<number> {
  const rows = await runNamed<[number]>(
    pool,
    'forget_far_inputs',
    `with old as (
       select i.tenant_id, i.project_id, i.id from inputs i
       where i.keep_week = date '9999-12-31' and i.due_at < clock_timestamp() - $1 * interval '1 day'
         and not exists (select from due d where d.tenant_id = i.tenant_id and d.id = i.id)
         and not exists (select from ready w where w.tenant_id = i.tenant_id and w.id = i.id)
         and not exists (select from held h where h.pool = i.pool and h.tenant_id = i.tenant_id and h.queue_id = i.queue_id and h.id = i.id)
       limit $2),
     gone as (
       delete from inputs i using old
       where i.keep_week = date '9999-12-31' and i.tenant_id = old.tenant_id and i.project_id = old.project_id and i.id = old.id
       returning 1)
     select count(*)::int from gone`,
    [days, limit],
  )
  return rows[0]?.[0] ?? 0
}

/** Takes executors off the list that have been silent for a day. */
export async function forgetExecutors(pool: Pool): Promise<void> {
  await runNamed(
    pool,
    'forget_executors',
    "delete from executors where seen_at < clock_timestamp() - interval '1 day'",
    [],
  )
}
