import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { Scope } from '../access/scope.ts'
import type { Clock } from '../kernel/clock.ts'
import { isUuid, type Uuid } from '../kernel/ids.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { isRetryable, type Pool, type PoolClient, toAppError } from './client.ts'

/** Who asks: a key, a person, or the system itself. */
export type Actor = { type: 'key' | 'user'; id: Uuid } | { type: 'system' }

/** Everything a verb needs to know about its caller. Made once a request, by a door. */
export interface Ctx {
  pool: Pool
  keyRing: KeyRing
  clock: Clock
  tenantId: Uuid
  projectId: Uuid
  actor: Actor
  scopes: ReadonlySet<Scope>
  requestId: string | null
}

/** A context inside its transaction. */
export interface Tx extends Ctx {
  client: PoolClient
  /** drizzle over the same connection. */
  db: NodePgDatabase
}

const tries = 3

/** drizzle is made when it is first asked for: hot verbs speak SQL. */
const bind = (ctx: Ctx, client: PoolClient): Tx => {
  let db: NodePgDatabase | undefined
  return {
    ...ctx,
    client,
    get db() {
      db ??= drizzle({ client })
      return db
    },
  }
}

async function transact<T>(ctx: Ctx, mode: 'read write' | 'read only', work: (tx: Tx) => Promise<T>): Promise<T> {
  if (!isUuid(ctx.tenantId)) throw new Error('a transaction needs a tenant')
  for (let attempt = 1; ; attempt++) {
    let client: PoolClient
    try {
      client = await ctx.pool.connect()
    } catch (error) {
      throw toAppError(error)
    }
    // A connection in an unknown state is thrown away, never handed to the next caller.
    let broken: Error | undefined
    try {
      const begun = client.query(`begin ${mode}; set local app.tenant_id = '${ctx.tenantId}'`)
      // A read may follow on the heels of `begin`: without it row-level security would show it nothing. A write waits.
      if (mode === 'read write') await begun
      const [result] = await Promise.all([work(bind(ctx, client)), begun])
      await client.query('commit')
      return result
    } catch (error) {
      try {
        await client.query('rollback')
      } catch (rollbackError) {
        broken = rollbackError instanceof Error ? rollbackError : new Error(String(rollbackError))
      }
      const cause = unwrap(error)
      if (isRetryable(cause) && attempt < tries) continue
      throw toAppError(cause)
    } finally {
      client.release(broken)
    }
  }
}

/** drizzle wraps the driver's error; its SQLSTATE is on the cause. */
const unwrap = (error: unknown): unknown =>
  error instanceof Error && error.constructor.name === 'DrizzleQueryError' && error.cause !== undefined
    ? error.cause
    : error

/**
 * Runs a verb's work in one transaction, bound to the caller's tenant by row-level security. Serialization
 * failures and deadlocks run it again, so `work` must have no other effect. Throws `dependency-unavailable`
 * when the database is away.
 */
export const withTx = <T>(ctx: Ctx, work: (tx: Tx) => Promise<T>): Promise<T> =>
  'client' in ctx ? work(ctx as Tx) : transact(ctx, 'read write', work)

/** The same for reading only. */
export const withRead = <T>(ctx: Ctx, work: (tx: Tx) => Promise<T>): Promise<T> =>
  'client' in ctx ? work(ctx as Tx) : transact(ctx, 'read only', work)
