import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Pool, type PoolClient, toAppError } from '../db/client.ts'
import type { Uuid } from '../kernel/ids.ts'
import { type DataKey, envelopeKeyVersion, open, seal } from './envelope.ts'
import type { KeyProvider } from './key-provider.ts'

interface TenantKeys {
  current: DataKey
  byVersion: Map<number, KeyObject>
}

/** Destroyed keys are forgotten within this time, everywhere. */
const defaultCacheMs = 60_000

/**
 * The data keys of tenants, unwrapped and cached for a minute. A tenant's first key is made when it is first needed.
 */
export class KeyRing {
  readonly #pool: Pool
  readonly #provider: KeyProvider
  readonly #cache: LRUCache<Uuid, TenantKeys>
  readonly #loading = new Map<Uuid, Promise<TenantKeys>>()

  constructor(pool: Pool, provider: KeyProvider, cacheMs = defaultCacheMs) {
    this.#pool = pool
    this.#provider = provider
    this.#cache = new LRUCache({ max: 10_000, ttl: cacheMs })
  }

  /**
   * Brings a tenant's keys into memory. Before a transaction that seals: loading them inside it would take a second
   * connection while it holds the first, and a pool full of such transactions never gets on.
   */
  async load(tenantId: Uuid): Promise<void> {
    if (!this.#cache.has(tenantId)) await this.#load(tenantId)
  }

  /** Whether a tenant's keys are in memory. */
  has(tenantId: Uuid): boolean {
    return this.#cache.has(tenantId)
  }

  /** Encrypts for a tenant, under its newest key, bound to one row. */
  async seal(tenantId: Uuid, rowId: Uuid, plain: Buffer): Promise<Buffer> {
    const keys = this.#cache.get(tenantId) ?? (await this.#load(tenantId))
    return seal(keys.current, tenantId + rowId, plain)
  }

  /** Decrypts what `seal` made for the same tenant and row. */
  async open(tenantId: Uuid, rowId: Uuid, sealed: Buffer): Promise<Buffer> {
    const key = this.openSync(tenantId, rowId, sealed)
    if (key !== null) return key
    await this.#load(tenantId)
    const plain = this.openSync(tenantId, rowId, sealed)
    if (plain === null) throw new Error('the data key of this envelope is gone')
    return plain
  }

  /** The same without waiting: null when the tenant's keys are not in memory yet. */
  openSync(tenantId: Uuid, rowId: Uuid, sealed: Buffer): Buffer | null {
    const key = this.#cache.get(tenantId)?.byVersion.get(envelopeKeyVersion(sealed))
    return key === undefined ? null : open(key, tenantId + rowId, sealed)
  }

  #load(tenantId: Uuid): Promise<TenantKeys> {
    const running = this.#loading.get(tenantId)
    if (running !== undefined) return running
    const load = this.#read(tenantId)
      .catch((error: unknown) => {
        throw toAppError(error)
      })
      .finally(() => this.#loading.delete(tenantId))
    this.#loading.set(tenantId, load)
    return load
  }

  async #read(tenantId: Uuid): Promise<TenantKeys> {
    const client = await this.#pool.connect()
    let failed: Error | undefined
    try {
      // As the app, the tenant's own setting lets its keys through; as the engine it changes nothing.
      await client.query("select set_config('app.tenant_id', $1, false)", [tenantId])
      let rows = await this.#rows(client, tenantId)
      if (rows.length === 0) {
        await client.query(
          'insert into data_keys (tenant_id, version, wrapped, provider) values ($1, 1, $2, $3) on conflict do nothing',
          [tenantId, await this.#provider.wrap(randomBytes(32)), this.#provider.name],
        )
        rows = await this.#rows(client, tenantId)
      }
      await client.query("select set_config('app.tenant_id', '', false)")
      const byVersion = new Map<number, KeyObject>()
      for (const row of rows) byVersion.set(row.version, createSecretKey(await this.#provider.unwrap(row.wrapped)))
      const newest = rows.at(-1)
      const key = newest === undefined ? undefined : byVersion.get(newest.version)
      if (newest === undefined || key === undefined) throw new Error('the tenant has no data key')
      const keys = { current: { version: newest.version, key }, byVersion }
      this.#cache.set(tenantId, keys)
      return keys
    } catch (error) {
      failed = error instanceof Error ? error : new Error(String(error))
      throw error
    } finally {
      client.release(failed)
    }
  }

  async #rows(client: PoolClient, tenantId: Uuid): Promise<{ version: number; wrapped: Buffer }[]> {
    const result = await client.query<{ version: number; wrapped: Buffer }>(
      'select version, wrapped from data_keys where tenant_id = $1 and wrapped is not null order by version',
      [tenantId],
    )
    return result.rows
  }
}
