import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { createPool } from '../db/client.ts'
import { createTenant, type TestTenant } from '../testing/factories.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { closeSession, findSession, listMemberships, openSession } from './sessions.ts'
import { hashToken, newToken } from './token.ts'

const issuer = 'https://id.example'

let db: TestDb
let tenant: TestTenant
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
  tenant = await createTenant(db, {
    projects: [
      { slug: 'main', name: 'Main', label: 'production' },
      { slug: 'beta', name: 'Beta', label: 'staging' },
    ],
    people: [
      { email: 'olive@example.com', name: 'Olive', role: 'owner', issuer, subject: 'olive' },
      { email: 'vic@example.com', name: 'Vic', role: 'viewer', issuer, subject: 'vic' },
    ],
  })
  // Invited, but never signed in.
  await db.owner.query("delete from identities where subject = 'vic'")
})
afterAll(() => db.close())

const olive = { issuer, subject: 'olive', email: 'changed@example.com', emailVerified: false }
const vic = { issuer, subject: 'v-17', email: 'VIC@example.com', emailVerified: true }

describe('sessions', () => {
  test('a known identity opens one, whatever its address is by now', async () => {
    const opened = await openSession(db.app, olive)
    expect(opened).toMatchObject({ userId: tenant.userIds[0], email: 'olive@example.com', name: 'Olive' })
    expect(opened.token).toMatch(/^ms_[A-Za-z0-9_-]{43}$/)
    expect(Math.round((opened.expiresAt.getTime() - Date.now()) / 60_000)).toBe(12 * 60)
    expect(await findSession(db.app, opened.token)).toEqual({
      id: expect.any(String),
      userId: opened.userId,
      email: opened.email,
      name: 'Olive',
      expiresAt: opened.expiresAt,
    })
  })

  test('an invited address counts only when it is verified, and only for the first identity of an issuer', async () => {
    await expect(openSession(db.app, { ...vic, emailVerified: false })).rejects.toMatchObject({ code: 'forbidden' })
    expect((await openSession(db.app, vic)).userId).toBe(tenant.userIds[1])
    // From now on this identity is Vic, and another one with the same address is not.
    await expect(openSession(db.app, { ...vic, subject: 'impostor' })).rejects.toMatchObject({ code: 'forbidden' })
    expect((await openSession(db.app, { ...vic, emailVerified: false })).userId).toBe(tenant.userIds[1])
  })

  test('nobody else gets in', async () => {
    await expect(
      openSession(db.app, { issuer, subject: 'eve', email: 'eve@example.com', emailVerified: true }),
    ).rejects.toMatchObject({ code: 'forbidden' })
    await expect(openSession(db.app, { ...olive, issuer: 'https://evil.example' })).rejects.toMatchObject({
      code: 'forbidden',
    })
  })

  test('only the digest of a token is stored', async () => {
    const { token } = await openSession(db.app, olive)
    const { rows } = await db.owner.query<{ row: string }>(
      'select s::text as row from sessions s where token_hash = $1',
      [hashToken(token)],
    )
    expect(rows).toHaveLength(1)
    expect(rows[0]?.row).not.toContain(token.slice(3, 30))
  })

  test('ends after 30 idle minutes; a use in between keeps it alive', async () => {
    const { token } = await openSession(db.app, olive)
    const lastSeen = (minutes: number) =>
      db.owner.query('update sessions set last_seen_at = now() - make_interval(mins => $2) where token_hash = $1', [
        hashToken(token),
        minutes,
      ])
    await lastSeen(29)
    await findSession(db.app, token)
    const { rows } = await db.owner.query(
      'select now() - last_seen_at < make_interval(secs => 5) as fresh from sessions where token_hash = $1',
      [hashToken(token)],
    )
    expect(rows).toEqual([{ fresh: true }])
    await lastSeen(30)
    await expect(findSession(db.app, token)).rejects.toMatchObject({ code: 'unauthenticated' })
  })

  test('ends after 12 hours however busy it is', async () => {
    const { token } = await openSession(db.app, olive)
    await db.owner.query('update sessions set expires_at = now() where token_hash = $1', [hashToken(token)])
    await expect(findSession(db.app, token)).rejects.toMatchObject({ code: 'unauthenticated' })
  })

  test('a closed session is over at once; closing it again changes nothing', async () => {
    const { token } = await openSession(db.app, olive)
    const other = await openSession(db.app, olive)
    await closeSession(db.app, token)
    await closeSession(db.app, token)
    await expect(findSession(db.app, token)).rejects.toMatchObject({ code: 'unauthenticated' })
    await expect(findSession(db.app, other.token)).resolves.toBeDefined()
  })

  test('nonsense is no session', async () => {
    for (const text of ['', 'ms_', newToken('ms'), tenant.apiKey]) {
      await expect(findSession(db.app, text)).rejects.toMatchObject({ code: 'unauthenticated' })
    }
  })

  test('a person may enter every project of the tenants they belong to, and no other', async () => {
    await createTenant(db)
    const memberships = await listMemberships(db.app, tenant.userIds[1] ?? '')
    expect(memberships).toEqual(
      tenant.projects
        .toSorted((one, other) => (one.slug < other.slug ? -1 : 1))
        .map(({ slug, id }) => ({
          tenantId: tenant.tenantId,
          tenantSlug: tenant.slug,
          tenantName: tenant.slug,
          role: 'viewer',
          projectId: id,
          projectSlug: slug,
          projectName: slug === 'main' ? 'Main' : 'Beta',
          label: slug === 'main' ? 'production' : 'staging',
          requiresIdempotencyKey: false,
        })),
    )
    expect(await listMemberships(db.app, tenant.tenantId)).toEqual([])
  })

  test('a changed role counts at the next look', async () => {
    const { tenantId, userIds } = await createTenant(db)
    await db.owner.query("update memberships set role = 'viewer' where tenant_id = $1", [tenantId])
    expect((await listMemberships(db.app, userIds[0] ?? '')).map(({ role }) => role)).toEqual(['viewer'])
  })

  test('without a database nobody is told that their session has ended', async () => {
    const away = createPool({ url: 'postgres://x@127.0.0.1:1/x', max: 1, applicationName: 'test' })
    await expect(findSession(away, newToken('ms'))).rejects.toMatchObject({ code: 'dependency-unavailable' })
    await away.end()
  })
})
