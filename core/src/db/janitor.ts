import { isRetryable, type Pool, runNamed } from './client.ts'

const weeklyTables = [
  'occurrences',
  'inputs',
  'input_blocks',
  'runs',
  'attempts',
  'response_blocks',
  'run_logs',
  'events',
  'audit_entries',
]

/**
 * Makes the weekly partitions ahead of need, table by table. Returns how many were new. Throws at the end when a table was
 * too busy: the next call does it.
 */
export async function ensurePartitions(pool: Pool, weeksAhead: number): Promise<number> {
  let made = 0
  let busy: unknown
  for (const table of weeklyTables) {
    try {
      const rows = await runNamed<[number]>(pool, 'ensure_partitions', 'select ensure_partitions($1, $2)', [
        table,
        weeksAhead,
      ])
      made += rows[0]?.[0] ?? 0
    } catch (error) {
      if (!isRetryable(error)) throw error
      busy = error
    }
  }
  if (busy !== undefined) throw busy
  return made
}

/** Drops whole weeks that ended more than `days` ago; inputs of runs that are still open are kept. Returns their names. */
export async function dropPartitions(pool: Pool, days: number): Promise<string[]> {
  const dropped: string[] = []
  for (;;) {
    const rows = await runNamed<[string | null]>(pool, 'drop_partition', 'select drop_partition($1)', [days])
    const name = rows[0]?.[0] ?? null
    if (name === null) return dropped
    dropped.push(name)
  }
}

/** Weekly tables with rows outside every partition made ahead: a sign that the janitor was away too long. */
export async function findOverflow(pool: Pool): Promise<string[]> {
  const rows = await runNamed<[string]>(pool, 'find_overflow', 'select find_overflow()', [])
  return rows.map((row) => row[0])
}

/** Forgets idempotency keys older than `hours`, at most `limit` at a time. Returns how many. */
export async function forgetIdempotencyKeys(pool: Pool, hours: number, limit: number): Promise<number> {
  const rows = await runNamed<[number]>(pool, 'forget_idempotency_keys', 'select forget_idempotency_keys($1, $2)', [
    hours,
    limit,
  ])
  return rows[0]?.[0] ?? 0
}

// Here and below the clock is asked in a query of its own, so that it can be compared by index.

/** Deletes from inputs_far the payloads of runs that ended more than `days` ago, at most `limit` at a time. */
export async function forgetFarInputs(pool: Pool, days: number, limit: number): Promise<number> {
  const rows = await runNamed<[number]>(
    pool,
    'forget_far_inputs',
    `with gone as (
       delete from inputs where keep_week = date '9999-12-31' and ctid = any(array(
         select i.ctid from inputs i
         where i.keep_week = date '9999-12-31' and i.due_at < (select clock_timestamp() - $1 * interval '1 day')
           and not exists (select from due d where d.tenant_id = i.tenant_id and d.id = i.id offset 0)
           and not exists (select from ready w where w.tenant_id = i.tenant_id and w.id = i.id offset 0)
           and not exists (select from held h where h.pool = i.pool and h.tenant_id = i.tenant_id and h.queue_id = i.queue_id and h.id = i.id offset 0)
           and not exists (select from dead_letters l where l.tenant_id = i.tenant_id and l.run_id = i.id and l.handled_at is null offset 0)
           and not exists (select from runs r where r.tenant_id = i.tenant_id and r.project_id = i.project_id and r.id = i.id
             and r.ended_at >= (select clock_timestamp() - $1 * interval '1 day') offset 0)
         limit $2))
       returning 1)
     select count(*)::int from gone`,
    [days, limit],
  )
  return rows[0]?.[0] ?? 0
}

/** Deletes far blocks of requests that no far run needs any more, at most `limit` at a time. */
export async function forgetFarBlocks(pool: Pool, limit: number): Promise<number> {
  const rows = await runNamed<[number]>(
    pool,
    'forget_far_blocks',
    `with gone as (
       delete from input_blocks where keep_week = date '9999-12-31' and ctid = any(array(
         select b.ctid from input_blocks b
         where b.keep_week = date '9999-12-31' and not exists (
           select from inputs i
           where i.keep_week = date '9999-12-31' and i.tenant_id = b.tenant_id and i.payload_block = b.id offset 0)
         limit $1))
       returning 1)
     select count(*)::int from gone`,
    [limit],
  )
  return rows[0]?.[0] ?? 0
}

/** Forgets the tags and metadata of runs that nothing else is known of any more, at most `limit` runs' at a time. */
export async function forgetRunDetails(pool: Pool, days: number, limit: number): Promise<number> {
  const rows = await runNamed<[number]>(
    pool,
    'forget_run_details',
    `with gone as (
       delete from run_details where ctid = any(array(
         select x.ctid from run_details x
         where x.run_id < (lpad(to_hex((extract(epoch from clock_timestamp() - $1 * interval '1 day') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
           and not exists (select from inputs i where i.tenant_id = x.tenant_id and i.project_id = x.project_id and i.id = x.run_id offset 0)
         limit $2))
       returning tenant_id, project_id, run_id, tags),
     tags as (
       delete from run_tags t using gone g, unnest(g.tags) u(tag)
       where t.tenant_id = g.tenant_id and t.project_id = g.project_id and t.tag = u.tag and t.run_id = g.run_id)
     select count(*)::int from gone`,
    [days, limit],
  )
  return rows[0]?.[0] ?? 0
}

/** Forgets keys that have come to nothing, at most `limit`; where a test clock says what time it is, they stay. */
export async function forgetRunKeys(pool: Pool, limit: number): Promise<number> {
  const rows = await runNamed<[number]>(
    pool,
    'forget_run_keys',
    `with gone as (
       delete from run_keys where ctid = any(array(
         select k.ctid from run_keys k join projects p on p.tenant_id = k.tenant_id and p.id = k.project_id and not p.has_test_clock
         where k.expires_at < (select clock_timestamp() - interval '1 day') order by k.expires_at limit $1 for update of k skip locked))
       returning 1)
     select count(*)::int from gone`,
    [limit],
  )
  return rows[0]?.[0] ?? 0
}

/** Throws away counters of minutes and hours more than `days` ago. */
export async function forgetCounters(pool: Pool, days: number): Promise<void> {
  const age = "(select clock_timestamp() - $1 * interval '1 day')"
  await runNamed(pool, 'forget_minutes', `delete from run_minutes where minute < ${age}`, [days])
  await runNamed(pool, 'forget_shares', `delete from share_minutes where minute < ${age}`, [days])
  await runNamed(pool, 'forget_queue_shares', `delete from queue_share_minutes where minute < ${age}`, [days])
  await runNamed(pool, 'forget_pool_minutes', `delete from pool_minutes where minute < ${age}`, [days])
  await runNamed(pool, 'forget_hours', `delete from job_hours where hour < ${age}`, [days])
}

/** Takes executors off the list that have been silent for a day. */
export async function forgetExecutors(pool: Pool): Promise<void> {
  await runNamed(
    pool,
    'forget_executors',
    "delete from executors where seen_at < (select clock_timestamp() - interval '1 day')",
    [],
  )
}
