import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { createPool } from '../db/client.ts'
import type { Ctx } from '../db/context.ts'
import { createTenant, type TestTenant, testCtx } from '../testing/factories.ts'
import { trailOf, unknownId } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { createApiKey, findApiKey, getApiKey, listApiKeys, revokeApiKey, touchApiKeys } from './keys.ts'
import { hashToken, newToken } from './token.ts'

let db: TestDb
let tenant: TestTenant
let ctx: Ctx
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
  tenant = await createTenant(db)
  ctx = testCtx(db, tenant)
})
afterAll(() => db.close())

const tomorrow = () => new Date(Date.now() + 86_400_000)

describe('API keys', () => {
  test('a secret is shown once, opens what its key may do, and is stored only as a digest', async () => {
    const { key, secret } = await createApiKey(ctx, { name: 'ci', scopes: ['runs:read', 'jobs:read'] })
    expect(secret).toMatch(/^mk_[A-Za-z0-9_-]{43}$/)
    expect(key).toMatchObject({
      name: 'ci',
      hint: secret.slice(-4),
      scopes: ['jobs:read', 'runs:read'],
      createdBy: `key:${tenant.apiKeyId}`,
      expiresAt: null,
      revokedAt: null,
      lastUsedAt: null,
    })
    expect(await findApiKey(db.app, secret)).toEqual({
      tenantId: tenant.tenantId,
      projectId: tenant.projectId,
      id: key.id,
      scopes: new Set(['jobs:read', 'runs:read']),
      expiresAt: null,
      requiresIdempotencyKey: false,
    })
    const { rows } = await db.owner.query<{ row: string }>('select k::text as row from api_keys k where id = $1', [
      key.id,
    ])
    expect(rows[0]?.row).not.toContain(secret.slice(3, 30))
    const trail = await db.owner.query<{ line: string }>(
      'select a::text as line from audit_entries a where subject = $1 union all select e::text from events e where subject = $1',
      [key.id],
    )
    expect(trail.rows).toHaveLength(2)
    for (const { line } of trail.rows) expect(line).not.toContain(secret.slice(3, 30))
  })

  test('a key can’t be given more than its maker holds', async () => {
    const maker = testCtx(db, tenant, { scopes: ['keys:write', 'jobs:read'] })
    await expect(
      createApiKey(maker, { name: 'x', scopes: ['jobs:read', 'jobs:write', 'keys:read'] }),
    ).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('jobs:write, keys:read'),
    })
    await expect(createApiKey(maker, { name: 'x', scopes: ['jobs:read'] })).resolves.toBeDefined()
  })

  test('only a key of this very form is looked up', async () => {
    const unknown = newToken('mk')
    for (const text of [
      unknown,
      newToken('ms'),
      '',
      'mk_',
      `${unknown} `,
      `${unknown}x`,
      "mk_' or 1=1 --",
      tenant.apiKey.slice(0, -1),
    ]) {
      await expect(findApiKey(db.app, text)).rejects.toMatchObject({
        code: 'unauthenticated',
        message: 'This API key is not one of ours.',
      })
    }
  })

  test('an expired key says so, by the clock of the database', async () => {
    const { key, secret } = await createApiKey(ctx, { name: 'short', scopes: [], expiresAt: tomorrow() })
    expect((await findApiKey(db.app, secret)).expiresAt).toEqual(key.expiresAt)
    await db.owner.query('update api_keys set expires_at = now() where id = $1', [key.id])
    await expect(findApiKey(db.app, secret)).rejects.toMatchObject({ code: 'unauthenticated', message: /expired/ })
    await expect(createApiKey(ctx, { name: 'x', scopes: [], expiresAt: new Date(0) })).rejects.toMatchObject({
      extra: { errors: [{ pointer: '/expiresAt' }] },
    })
  })

  test('a revoked key is refused at once, and revoking it again changes nothing', async () => {
    const { key, secret } = await createApiKey(ctx, { name: 'leaked', scopes: ['jobs:read'] })
    const revoked = await revokeApiKey(ctx, key.id)
    expect(revoked).toEqual({ ...key, revokedAt: expect.any(Date) })
    await expect(findApiKey(db.app, secret)).rejects.toMatchObject({ code: 'unauthenticated', message: /revoked/ })
    expect(await revokeApiKey(ctx, key.id)).toEqual(revoked)
    expect(await getApiKey(ctx, key.id)).toEqual(revoked)
    expect(await trailOf(db, key.id)).toEqual({
      events: ['key.created', 'key.revoked'],
      actions: ['key.create', 'key.revoke'],
    })
  })

  test('a use is noted for many keys at once', async () => {
    const made = await Promise.all(['a', 'b', 'c'].map((name) => createApiKey(ctx, { name, scopes: [] })))
    await touchApiKeys(db.app, [...made.slice(0, 2).map(({ secret }) => hashToken(secret)), hashToken('unknown')])
    const used = await Promise.all(made.map(({ key }) => getApiKey(ctx, key.id)))
    expect(used.map((key) => key.lastUsedAt !== null)).toEqual([true, true, false])
  })

  test('pages show every key of the project once, newest first', async () => {
    const own = await createTenant(db)
    const mine = testCtx(db, own)
    for (const name of ['1', '2', '3', '4']) await createApiKey(mine, { name, scopes: [] })
    const first = await listApiKeys(mine, { limit: 3 })
    const second = await listApiKeys(mine, { cursor: first.nextCursor ?? '', limit: 3 })
    expect([...first.items, ...second.items].map((key) => key.name)).toEqual(['4', '3', '2', '1', 'test'])
    expect(second.nextCursor).toBeNull()
  })

  test('a scope that this release does not know gives nothing', async () => {
    const { key, secret } = await createApiKey(ctx, { name: 'old', scopes: ['jobs:read'] })
    await db.owner.query("update api_keys set scopes = '{jobs:read,everything}' where id = $1", [key.id])
    expect((await findApiKey(db.app, secret)).scopes).toEqual(new Set(['jobs:read']))
    expect((await getApiKey(ctx, key.id)).scopes).toEqual(['jobs:read'])
  })

  test('each verb needs its scope, and knows only its own project', async () => {
    const nobody = testCtx(db, tenant, { scopes: [] })
    const forbidden = { code: 'forbidden' }
    await expect(createApiKey(nobody, { name: 'x', scopes: [] })).rejects.toMatchObject(forbidden)
    await expect(listApiKeys(nobody, { limit: 1 })).rejects.toMatchObject(forbidden)
    await expect(getApiKey(nobody, tenant.apiKeyId)).rejects.toMatchObject(forbidden)
    await expect(revokeApiKey(nobody, tenant.apiKeyId)).rejects.toMatchObject(forbidden)
    await expect(getApiKey(ctx, unknownId())).rejects.toMatchObject({ code: 'not-found' })
  })

  test('without a database nobody is told that their key is wrong', async () => {
    const away = createPool({ url: 'postgres://x@127.0.0.1:1/x', max: 1, applicationName: 'test' })
    await expect(findApiKey(away, tenant.apiKey)).rejects.toMatchObject({ code: 'dependency-unavailable' })
    await expect(touchApiKeys(away, [])).rejects.toMatchObject({ code: 'dependency-unavailable' })
    await away.end()
  })
})
