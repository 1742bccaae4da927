import { createSecretKey, randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createPool } from '../../src/db/client.ts'
import { envelopeKeyVersion } from '../../src/secret/envelope.ts'
import { type KeyProvider, keyProviderOf, localFileKeyProvider } from '../../src/secret/key-provider.ts'
import { KeyRing } from '../../src/secret/key-ring.ts'
import { createTenant } from '../../src/testing/factories.ts'
import { unknownId } from '../../src/testing/job-samples.ts'
import { createTestDb, type TestDb } from '../../src/testing/test-db.ts'

let db: TestDb
const provider = keyProviderOf(createSecretKey(randomBytes(32)))
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
})
afterAll(() => db.close())

const tenant = async (): Promise<string> => (await createTenant(db)).tenantId
const plain = Buffer.from('plain')
const row = unknownId()

describe('a key ring', () => {
  it("makes a tenant's first key when it is needed, once, however many need it at once", async () => {
    const tenantId = await tenant()
    const rings = Array.from({ length: 6 }, (_, index) => new KeyRing(index % 2 === 0 ? db.app : db.engine, provider))
    const sealed = await Promise.all(
      rings.flatMap((ring) => [ring.seal(tenantId, row, plain), ring.seal(tenantId, row, plain)]),
    )
    for (const ring of rings)
      for (const each of sealed) expect((await ring.open(tenantId, row, each)).equals(plain)).toBe(true)
    const keys = await db.owner.query('select version, provider from data_keys where tenant_id = $1', [tenantId])
    expect(keys.rows).toEqual([{ version: 1, provider: 'local-file' }])
  })

  it('stores keys wrapped', async () => {
    const tenantId = await tenant()
    const seen: Buffer[] = []
    const spying: KeyProvider = {
      ...provider,
      wrap: (key) => {
        seen.push(Buffer.from(key))
        return provider.wrap(key)
      },
    }
    await new KeyRing(db.app, spying).seal(tenantId, row, plain)
    const { wrapped } = (
      await db.owner.query<{ wrapped: Buffer }>('select wrapped from data_keys where tenant_id = $1', [tenantId])
    ).rows[0] ?? { wrapped: Buffer.alloc(0) }
    expect(seen[0]).toHaveLength(32)
    expect(wrapped.includes(seen[0] ?? 'x')).toBe(false)
  })

  it('opens nothing of another tenant or row', async () => {
    const ring = new KeyRing(db.app, provider)
    const [one, other] = [await tenant(), await tenant()]
    const sealed = await ring.seal(one, row, plain)
    await ring.load(other)
    await expect(ring.open(other, row, sealed)).rejects.toThrow('Unsupported state or unable to authenticate data')
    await expect(ring.open(one, unknownId(), sealed)).rejects.toThrow(
      'Unsupported state or unable to authenticate data',
    )
  })

  it('opens at once only what it has the key of in memory', async () => {
    const tenantId = await tenant()
    const sealed = await new KeyRing(db.app, provider).seal(tenantId, row, plain)
    const ring = new KeyRing(db.engine, provider)
    expect(ring.openSync(tenantId, row, sealed)).toBeNull()
    await ring.load(tenantId)
    expect(ring.openSync(tenantId, row, sealed)?.equals(plain)).toBe(true)
  })

  it('seals under the newest key and still opens what older ones sealed', async () => {
    const tenantId = await tenant()
    const before = await new KeyRing(db.app, provider).seal(tenantId, row, plain)
    await db.owner.query(
      "insert into data_keys (tenant_id, version, wrapped, provider) values ($1, 2, $2, 'local-file')",
      [tenantId, await provider.wrap(randomBytes(32))],
    )
    const ring = new KeyRing(db.app, provider)
    const after = await ring.seal(tenantId, row, plain)
    expect([envelopeKeyVersion(before), envelopeKeyVersion(after)]).toEqual([1, 2])
    for (const each of [before, after]) expect((await ring.open(tenantId, row, each)).equals(plain)).toBe(true)
  })

  it('a key that was destroyed opens nothing once it is forgotten, and none is made in its place', async () => {
    const tenantId = await tenant()
    const ring = new KeyRing(db.app, provider, 20)
    const sealed = await ring.seal(tenantId, row, plain)
    await db.owner.query('update data_keys set wrapped = null, destroyed_at = now() where tenant_id = $1', [tenantId])
    while (ring.openSync(tenantId, row, sealed) !== null) await new Promise(setImmediate)
    await expect(ring.open(tenantId, row, sealed)).rejects.toThrow('no data key')
    await expect(ring.seal(tenantId, row, plain)).rejects.toThrow('no data key')
    await expect(new KeyRing(db.engine, provider).open(tenantId, row, sealed)).rejects.toThrow('no data key')
  })

  it('leaves no tenant behind on the connection it used', async () => {
    const pool = createPool({ url: db.appUrl, max: 1, applicationName: 'one' })
    await new KeyRing(pool, provider).seal(await tenant(), row, plain)
    expect((await pool.query('select count(*)::int as n from data_keys')).rows).toEqual([{ n: 0 }])
    await pool.end()
  })

  it('says when the database is away, and is well again after', async () => {
    const pool = createPool({ url: 'postgres://127.0.0.1:1/none', max: 1, applicationName: 'away' })
    const ring = new KeyRing(pool, provider)
    await expect(ring.load(unknownId())).rejects.toMatchObject({ code: 'dependency-unavailable' })
    await expect(ring.load(unknownId())).rejects.toMatchObject({ code: 'dependency-unavailable' })
    await pool.end()
  })

  it('a provider that fails is an error each time, not a key', async () => {
    const tenantId = await tenant()
    const broken = new KeyRing(db.app, { ...provider, wrap: async () => Promise.reject(new Error('the KMS said no')) })
    await expect(broken.seal(tenantId, row, plain)).rejects.toThrow('the KMS said no')
    expect(await new KeyRing(db.app, provider).seal(tenantId, row, plain)).toBeInstanceOf(Buffer)
    await expect(
      new KeyRing(db.app, keyProviderOf(createSecretKey(randomBytes(32)))).seal(tenantId, row, plain),
    ).rejects.toThrow('Unsupported state or unable to authenticate data')
  })
})

describe('the local key file', () => {
  it('is 32 bytes in base64, and nothing else', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'meridian-key-'))
    const file = join(folder, 'key')
    await writeFile(file, `${randomBytes(32).toString('base64')}\n`)
    const good = await localFileKeyProvider(file)
    const key = randomBytes(32)
    expect((await good.unwrap(await good.wrap(key))).equals(key)).toBe(true)
    for (const content of ['', 'short', randomBytes(31).toString('base64'), randomBytes(33).toString('base64')]) {
      await writeFile(file, content)
      await expect(localFileKeyProvider(file)).rejects.toThrow('32 bytes')
    }
    await expect(localFileKeyProvider(join(folder, 'none'))).rejects.toThrow('ENOENT')
    await rm(folder, { recursive: true })
  })
})
