import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { createPool, type Pool } from '../src/db/client.ts'
import { withRead, withTx } from '../src/db/context.ts'
import { jobs } from '../src/db/schema.ts'
import { createJob } from '../src/job/create.ts'
import { updateJob } from '../src/job/update.ts'
import { acceptRuns } from '../src/run/accept.ts'
import { materialise } from '../src/run/materialise.ts'
import { prepareRun } from '../src/run/prepare.ts'
import { httpTargetValue } from '../src/run/target.ts'
import { createTenant, type TestTenant, testCtx } from '../src/testing/factories.ts'
import { sampleJob } from '../src/testing/job-samples.ts'
import { createTestDb, type TestDb } from '../src/testing/test-db.ts'

let db: TestDb
let ours: TestTenant
let theirs: TestTenant
/** Every table that has a tenant, found in the catalogue: a future one is covered the day it exists. */
let tenantTables: string[]

async function populate(tenant: TestTenant): Promise<void> {
  const ctx = testCtx(db, tenant)
  await createJob(ctx, sampleJob({ externalId: 'same', schedule: { type: 'every', every: 'PT1H' } }))
  const target = httpTargetValue.parse({ type: 'http', url: 'https://example.com/' })
  const dueAt = new Date(Date.now() + 3_600_000)
  const rows = [
    await prepareRun(ctx, { target, idempotencyKey: 'same', fingerprint: Buffer.alloc(32) }),
    await prepareRun(ctx, { target, dueAt }),
  ]
  await acceptRuns({ pool: db.app, keyRing: db.keyRing }, rows, false)
}

beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
  ours = await createTenant(db)
  theirs = await createTenant(db)
  await populate(ours)
  await populate(theirs)
  await materialise(db.engine, { keyRing: db.engineKeyRing, shard: 1, aheadMs: 3_600_000, limit: 10 })
  const { rows } = await db.owner.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and a.attname = 'tenant_id' and not a.attisdropped order by 1`,
  )
  tenantTables = rows.map(({ name }) => name)
})
afterAll(() => db.close())

const mayApp = async (table: string, privilege: 'select' | 'insert' | 'update' | 'delete'): Promise<boolean> =>
  (
    await db.owner.query<{ may: boolean }>(`select has_table_privilege('meridian_app', $1, $2) as may`, [
      table,
      privilege,
    ])
  ).rows[0]?.may ?? false

describe('the wall between tenants, as the catalogue tells it', () => {
  test('is forced on every table that has a tenant, and on the directory', async () => {
    expect(tenantTables.length).toBeGreaterThan(20)
    const { rows } = await db.owner.query<{ name: string }>(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relname = any($1)
         and not (relrowsecurity and relforcerowsecurity)`,
      [[...tenantTables, 'tenants', 'users', 'identities', 'sessions']],
    )
    expect(rows).toEqual([])
  })

  test('has one rule for the app on each of them: the tenant of the transaction, reading and writing', async () => {
    const { rows } = await db.owner.query<{ tablename: string; cmd: string; qual: string; with_check: string | null }>(
      `select tablename, cmd, qual, with_check from pg_policies where schemaname = 'public' and 'meridian_app' = any(roles)
         and tablename = any($1)`,
      [tenantTables],
    )
    expect(rows.map(({ tablename }) => tablename).toSorted()).toEqual(tenantTables)
    const rule = /^\(tenant_id = \( SELECT current_tenant\(\) AS current_tenant\)\)$/
    const loose = rows.filter(
      ({ cmd, qual, with_check }) => !rule.test(qual) || (cmd !== 'SELECT' && !rule.test(with_check ?? '')),
    )
    expect(loose).toEqual([])
  })

  test('has no rule that lets everybody through', async () => {
    const { rows } = await db.owner.query(
      "select tablename, policyname from pg_policies where schemaname = 'public' and 'public' = any(roles)",
    )
    expect(rows).toEqual([])
  })

  test('has no gap behind it: the app owns nothing, bypasses nothing, is member of nothing', async () => {
    const { rows } = await db.owner.query(
      `select rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb,
         exists (select from pg_class c where c.relowner = r.oid and c.relnamespace = 'public'::regnamespace) as owns,
         exists (select from pg_auth_members m where m.member = r.oid) as member
       from pg_roles r where rolname in ('meridian_app', 'meridian_engine') order by 1`,
    )
    const harmless = {
      rolsuper: false,
      rolbypassrls: false,
      rolcreaterole: false,
      rolcreatedb: false,
      owns: false,
      member: false,
    }
    expect(rows).toEqual([
      { rolname: 'meridian_app', ...harmless },
      { rolname: 'meridian_engine', ...harmless },
    ])
  })

  test('cannot be walked around by reading a partition directly', async () => {
    const { rows } = await db.owner.query<{ name: string }>(
      `select relname as name from pg_class where relispartition and relnamespace = 'public'::regnamespace and relkind = 'r'
         and (has_table_privilege('meridian_app', oid, 'select') or has_table_privilege('meridian_app', oid, 'insert, update, delete'))`,
    )
    expect(rows).toEqual([])
  })

  test('is not opened by a function: those that run as somebody else are a known few, with a fixed search path', async () => {
    const { rows } = await db.owner.query<{ name: string; path: string[] | null }>(
      `select p.proname as name, p.proconfig as path from pg_proc p
       where p.pronamespace = 'public'::regnamespace and p.prosecdef and has_function_privilege('meridian_app', p.oid, 'execute') order by 1`,
    )
    expect(rows.map(({ name }) => name)).toEqual([
      'accept_detailed',
      'accept_limited',
      'accept_minding',
      'accept_runs',
      'accept_within',
      'close_session',
      'find_api_key',
      'find_ping_url',
      'find_session',
      'list_memberships',
      'open_session',
      'return_own_tokens',
      'touch_api_keys',
      'uses_classes',
    ])
    for (const { path } of rows) expect(path).toContain('search_path=public, pg_temp')
  })
})

describe('the wall between tenants, as a connection feels it', () => {
  const readable = async (): Promise<string[]> => {
    const { rows } = await db.owner.query<{ name: string }>(
      "select t as name from unnest($1::text[]) t where has_table_privilege('meridian_app', t, 'select')",
      [tenantTables],
    )
    return rows.map(({ name }) => name)
  }

  const seen = async (pool: Pool, table: string, tenantId?: string): Promise<string[]> => {
    const client = await pool.connect()
    try {
      await client.query('begin')
      if (tenantId !== undefined) await client.query("select set_config('app.tenant_id', $1, true)", [tenantId])
      const { rows } = await client.query<{ tenant_id: string }>(`select distinct tenant_id from ${table}`)
      return rows.map((row) => row.tenant_id)
    } finally {
      await client.query('rollback')
      client.release()
    }
  }

  test('without a tenant no table shows a row', async () => {
    const seenWithout: string[] = []
    for (const table of await readable()) seenWithout.push(...(await seen(db.app, table)))
    expect(seenWithout).toEqual([])
    expect((await db.app.query('select from tenants')).rowCount).toBe(0)
    expect((await db.app.query('select from users')).rowCount).toBe(0)
  })

  test('with a tenant each table shows that tenant’s rows only, though the other’s are there', async () => {
    const both = new Set<string>()
    for (const table of await readable()) {
      const there = new Set(await seen(db.owner, table))
      if (there.has(ours.tenantId) && there.has(theirs.tenantId)) both.add(table)
      expect(await seen(db.app, table, ours.tenantId)).toEqual(there.has(ours.tenantId) ? [ours.tenantId] : [])
    }
    expect([...both]).toEqual(
      expect.arrayContaining([
        'api_keys',
        'audit_entries',
        'due',
        'events',
        'idempotency_keys',
        'inputs',
        'job_versions',
        'jobs',
        'limits',
        'memberships',
        'occurrences',
        'projects',
        'queues',
        'ready',
        'schedules',
      ]),
    )
  })

  test('no row can be written for, given to, or taken from another tenant', async () => {
    const attempt = (sql: string, values: unknown[]): Promise<string> =>
      withTx(testCtx(db, ours), (tx) => tx.client.query(sql, values)).then(
        ({ rowCount }) => `${rowCount} rows`,
        (refusal: { code: string }) => refusal.code,
      )
    const refused = '42501'
    const breaches: string[] = []
    const hold = async (what: string, wanted: string, sql: string, values: unknown[]): Promise<void> => {
      const answer = await attempt(sql, values)
      if (answer !== wanted) breaches.push(`${what}: ${answer}`)
    }
    let inserts = 0
    for (const table of tenantTables) {
      const theirRow = await db.owner.query<{ row: unknown }>(
        `select to_jsonb(t) as row from ${table} t where tenant_id = $1 limit 1`,
        [theirs.tenantId],
      )
      const row = theirRow.rows[0]?.row
      if (row !== undefined && (await mayApp(table, 'insert'))) {
        inserts++
        const copy = `insert into ${table} overriding system value select * from jsonb_populate_record(null::${table}, $1)`
        await hold(`insert into ${table}`, refused, copy, [JSON.stringify(row)])
      }
      if (row !== undefined && (await mayApp(table, 'update'))) {
        const give = `update ${table} set tenant_id = $1 where tenant_id = $2`
        await hold(`take from ${table}`, '0 rows', give, [ours.tenantId, theirs.tenantId])
        await hold(`give in ${table}`, refused, give, [theirs.tenantId, ours.tenantId])
      }
      if (await mayApp(table, 'delete')) {
        await hold(`delete from ${table}`, '0 rows', `delete from ${table} where tenant_id = $1`, [theirs.tenantId])
      }
    }
    expect(breaches).toEqual([])
    expect(inserts).toBeGreaterThan(8)
  })

  test('holds on shared connections under aborts, timeouts and missing contexts', async () => {
    const pool = createPool({ url: db.appUrl, max: 8, applicationName: 'wall' })
    const tenants = await Promise.all(Array.from({ length: 12 }, () => createTenant(db)))
    const contexts = tenants.map((tenant) => ({ ...testCtx(db, tenant), pool }))
    const own = await Promise.all(contexts.map((ctx) => createJob(ctx, sampleJob())))
    /** What a step saw: ids of its own job, or the code of what went wrong on purpose. */
    const step = async (index: number): Promise<unknown> => {
      const place = (index * 7) % contexts.length
      const ctx = contexts[place]
      const job = own[place]
      if (ctx === undefined || job === undefined) throw new Error('no such tenant')
      const failing = (sql: string): Promise<unknown> =>
        withTx(ctx, (tx) => tx.client.query(sql)).catch((error: { code: string }) => error.code)
      if (index % 5 === 0) return failing('select 1 / 0')
      if (index % 5 === 1) return failing('set local statement_timeout = 1; select pg_sleep(1)')
      if (index % 5 === 2) return (await pool.query('select from jobs')).rowCount
      if (index % 5 === 3) return (await updateJob(ctx, job.id, { name: `step ${index}` })).id === job.id
      const ids = await withRead(ctx, (tx) => tx.db.select({ id: jobs.id }).from(jobs))
      return ids.map(({ id }) => id === job.id)
    }
    const wanted = ['22012', 'dependency-unavailable', 0, true, [true]]
    const answers = await Promise.all(Array.from({ length: 600 }, (_, index) => step(index)))
    expect(answers).toEqual(answers.map((_, index) => wanted[index % 5]))
    expect(pool.waitingCount).toBe(0)
    await pool.end()
  })
})
