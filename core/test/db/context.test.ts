import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createPool,
  isRetryable,
  isUnavailable,
  isUniqueViolation,
  type Pool,
  textArrayLiteral,
  toAppError,
} from '../../src/db/client.ts'
import { type Ctx, type Tx, withRead, withTx } from '../../src/db/context.ts'
import { AppError } from '../../src/kernel/errors.ts'
import { acceptRuns } from '../../src/run/accept.ts'
import { getRun } from '../../src/run/get.ts'
import { prepareRun } from '../../src/run/prepare.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { startOwnPostgres, type TestPostgres } from '../../src/testing/test-db.ts'
import { createStage, type Stage, target } from '../run/stage.ts'

// These take the server down, so it is one of their own.
let postgres: TestPostgres
let stage: Stage
beforeAll(async () => {
  postgres = await startOwnPostgres()
  stage = await createStage(postgres.url)
})
afterAll(async () => {
  await stage.db.close()
  await postgres.stop()
})

const smallPool = (settings: Record<string, string> = {}): Pool =>
  createPool({ url: stage.db.appUrl, max: 2, applicationName: 'small', waitMs: 2_000, settings })
const one = (ctx: Ctx): Promise<number> =>
  withTx(ctx, async (tx) => (await tx.client.query<{ n: number }>('select 1 as n')).rows[0]?.n ?? 0)
const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code

describe('a transaction', () => {
  it('commits what its work did, and nothing of work that threw', async () => {
    const name = (tx: Tx): Promise<string> =>
      tx.client
        .query<{ name: string }>('select name from projects where id = $1', [tx.projectId])
        .then((result) => result.rows[0]?.name ?? '')
    await withTx(stage.ctx, (tx) =>
      tx.client.query("update projects set name = 'Changed' where id = $1", [tx.projectId]),
    )
    expect(await withRead(stage.ctx, name)).toBe('Changed')
    const failing = withTx(stage.ctx, async (tx) => {
      await tx.client.query("update projects set name = 'Lost' where id = $1", [tx.projectId])
      throw new AppError('conflict', 'no')
    })
    await expect(failing).rejects.toMatchObject({ code: 'conflict' })
    expect(await withRead(stage.ctx, name)).toBe('Changed')
  })

  it('inside another is that other one', async () => {
    const failing = withTx(stage.ctx, async (tx) => {
      await withTx(tx, (inner) =>
        inner.client.query("update projects set name = 'Inner' where id = $1", [inner.projectId]),
      )
      expect(await withRead(tx, async (inner) => inner.client)).toBe(tx.client)
      throw new AppError('conflict', 'no')
    })
    await expect(failing).rejects.toMatchObject({ code: 'conflict' })
    expect(await stage.value('select name as value from projects where id = $1', stage.ctx.projectId)).not.toBe('Inner')
  })

  it('for reading writes nothing', async () => {
    await expect(withRead(stage.ctx, (tx) => tx.client.query("update projects set name = 'x'"))).rejects.toMatchObject({
      code: '25006',
    })
  })

  it('sees its tenant only, and the next user of the connection sees nothing of it', async () => {
    const pool = createPool({ url: stage.db.appUrl, max: 1, applicationName: 'one' })
    const other = testCtx(stage.db, await createTenant(stage.db))
    const projects = (tx: Tx): Promise<(string | undefined)[]> =>
      tx.client
        .query<{ tenant_id: string }>('select tenant_id from projects')
        .then((result) => result.rows.map((row) => row.tenant_id))
    expect(await withRead({ ...stage.ctx, pool }, projects)).toEqual([stage.ctx.tenantId])
    expect(await withRead({ ...other, pool }, projects)).toEqual([other.tenantId])
    expect((await pool.query('select tenant_id from projects')).rows).toEqual([])
    await pool.end()
  })

  it('without a tenant is none', async () => {
    for (const tenantId of ['', "'; drop table runs; --", 'x'])
      await expect(one({ ...stage.ctx, tenantId })).rejects.toThrow('needs a tenant')
  })

  it('that met a conflict runs again, from its beginning, and gives up after three times', async () => {
    for (const code of ['40001', '40P01', '55P03']) {
      let tries = 0
      const failing = (tx: Tx): Promise<unknown> => {
        tries++
        return tx.client.query(`do $$ begin raise exception 'conflict' using errcode = '${code}'; end $$`)
      }
      await expect(withTx(stage.ctx, failing)).rejects.toMatchObject({ code })
      expect(tries, code).toBe(3)
      tries = 0
      expect(await withTx(stage.ctx, async (tx) => (tries < 2 ? failing(tx) : 'done'))).toBe('done')
    }
  })

  it('that drizzle wrapped an error of is judged by the error', async () => {
    let tries = 0
    const done = withTx(stage.ctx, async (tx) => {
      if (++tries === 1)
        await tx.db.execute(sql`do $$ begin raise exception 'conflict' using errcode = '40001'; end $$`)
      return tries
    })
    expect(await done).toBe(2)
  })

  it('two that wait for each other both end', async () => {
    const ids = await Promise.all([createTenant(stage.db), createTenant(stage.db)]).then((tenants) =>
      tenants.map((tenant) => tenant.tenantId),
    )
    const lock = (tx: Tx, id: string | undefined): Promise<unknown> =>
      tx.client.query('select pg_advisory_xact_lock(hashtext($1))', [id])
    let arrived = 0
    const both = (first: string | undefined, second: string | undefined): Promise<string> =>
      withTx(stage.ctx, async (tx) => {
        await lock(tx, first)
        arrived++
        while (arrived < 2) await new Promise(setImmediate)
        await lock(tx, second)
        return 'done'
      })
    expect(await Promise.all([both(ids[0], ids[1]), both(ids[1], ids[0])])).toEqual(['done', 'done'])
  })
})

describe('a pool', () => {
  it('O-45: whose BEGIN fails three times serves every later request, and nobody waits', async () => {
    const pool = smallPool()
    let failures = 3
    // As when the server goes away between handing a connection out and using it.
    const flaky = Object.create(pool) as Pool
    flaky.connect = (async () => {
      const client = await pool.connect()
      if (failures-- > 0)
        await stage.db.owner.query('select pg_terminate_backend($1)', [
          (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid,
        ])
      return client
    }) as never
    const ctx = { ...stage.ctx, pool: flaky }
    for (let attempt = 0; attempt < 3; attempt++)
      await expect(one(ctx)).rejects.toMatchObject({ code: 'dependency-unavailable' })
    expect(await Promise.all(Array.from({ length: 50 }, () => one(ctx)))).toEqual(Array.from({ length: 50 }, () => 1))
    expect(pool.waitingCount).toBe(0)
    expect(pool.totalCount).toBeLessThanOrEqual(2)
    await pool.end()
  })

  it('of which two hundred connections are killed in use is well within a moment', async () => {
    const pool = createPool({ url: stage.db.appUrl, max: 10, applicationName: 'killed', waitMs: 2_000 })
    const ctx = { ...stage.ctx, pool }
    const kill = "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'killed'"
    let killing = true
    const killer = (async () => {
      for (let round = 0; round < 40; round++) await stage.db.owner.query(kill)
      killing = false
    })()
    const users = Array.from({ length: 20 }, async () => {
      while (killing) await one(ctx).catch((error: unknown) => expect(codeOf(error)).toBe('dependency-unavailable'))
    })
    await Promise.all([killer, ...users])
    expect(pool.totalCount).toBeLessThanOrEqual(10)
    expect(pool.waitingCount).toBe(0)
    expect(
      (await Promise.allSettled(Array.from({ length: 100 }, () => one(ctx)))).filter(
        (result) => result.status === 'rejected',
      ).length,
    ).toBeLessThanOrEqual(10)
    expect(await Promise.all(Array.from({ length: 100 }, () => one(ctx)))).toHaveLength(100)
    await pool.end()
  })

  it('that is all in use says so in time, and gives connections back', async () => {
    const pool = createPool({ url: stage.db.appUrl, max: 1, applicationName: 'busy', waitMs: 1_500 })
    const ctx = { ...stage.ctx, pool }
    const { promise: gate, resolve: open } = Promise.withResolvers<void>()
    const holder = withTx(ctx, () => gate)
    await expect(one(ctx)).rejects.toMatchObject({ code: 'dependency-unavailable', extra: { retryAfterSeconds: 1 } })
    open()
    await holder
    expect(await one(ctx)).toBe(1)
    await pool.end()
  })

  it('takes a transaction back from a process that went silent inside it', async () => {
    const pool = createPool({
      url: stage.db.appUrl,
      max: 1,
      applicationName: 'frozen',
      settings: { idle_in_transaction_session_timeout: '100ms' },
    })
    const silent = withTx({ ...stage.ctx, pool }, async (tx) => {
      await tx.client.query('select from projects where id = $1 for update', [tx.projectId])
      await stage.value('select pg_sleep(0.4)::text as value')
      return tx.client.query('select 1')
    })
    await expect(silent).rejects.toMatchObject({ code: 'dependency-unavailable' })
    expect(await one({ ...stage.ctx, pool })).toBe(1)
    await pool.end()
    const timeout = await withRead(stage.ctx, (tx) =>
      tx.client.query<{ idle_in_transaction_session_timeout: string }>('show idle_in_transaction_session_timeout'),
    )
    expect(timeout.rows[0]?.idle_in_transaction_session_timeout).not.toBe('0')
  })
})

describe('the server crashing', () => {
  it('O-46: is survived by idle and busy pools; what was acknowledged is there; the next requests succeed', async () => {
    const acknowledged: string[] = []
    let failed = 0
    let crashed = false
    const row = await prepareRun(stage.ctx, { target })
    const writers = Array.from({ length: 4 }, async () => {
      for (let afterwards = 0; afterwards < 3; ) {
        try {
          const [result] = await acceptRuns(
            stage.intake,
            [{ ...row, id: (await prepareRun(stage.ctx, { target })).id }],
            false,
          )
          if (result?.outcome === 'accepted') acknowledged.push(result.run.id)
          if (crashed) afterwards++
        } catch (error) {
          expect(codeOf(error)).toBe('dependency-unavailable')
          failed++
          await new Promise(setImmediate)
        }
      }
    })
    while (acknowledged.length < 10) await new Promise(setImmediate)
    await postgres.crash()
    crashed = true
    await Promise.all(writers)
    expect(failed).toBeGreaterThan(0)
    for (const id of acknowledged) expect((await getRun(stage.ctx, id)).id).toBe(id)
    expect((await stage.admit()).length).toBeGreaterThanOrEqual(acknowledged.length)
  })
})

describe('what an error means', () => {
  it('is read from its code', () => {
    expect(isUniqueViolation({ code: '23505' })).toBe(true)
    expect(isRetryable({ code: '40001' })).toBe(true)
    for (const code of ['08006', '53300', '57P01', '57P03', '57014', '25P03', 'ECONNREFUSED', 'EPIPE'])
      expect(isUnavailable({ code }), code).toBe(true)
    for (const message of ['Connection terminated unexpectedly', 'timeout exceeded when trying to connect'])
      expect(isUnavailable(new Error(message)), message).toBe(true)
    for (const error of [{ code: '23505' }, { code: '42P01' }, new Error('else'), null, 'text', { code: 7 }])
      expect(isUnavailable(error)).toBe(false)
    const own = new AppError('conflict', 'x')
    expect(toAppError(own)).toBe(own)
    expect(toAppError({ code: '08006' })).toMatchObject({ code: 'dependency-unavailable' })
    expect(toAppError('else')).toBe('else')
  })

  it('free text in an array is quoted', async () => {
    const values = ['a', null, undefined, '', 'NULL', '"', '\\', '{x,y}', "'"]
    expect(await stage.value('select $1::text[] as value', textArrayLiteral(values))).toEqual(
      values.map((value) => value ?? null),
    )
  })
})
