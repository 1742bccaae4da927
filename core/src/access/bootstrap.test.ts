import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { nilUuid } from '../kernel/ids.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { bootstrapTenant, type TenantPlan } from './bootstrap.ts'
import { newToken } from './token.ts'

let db: TestDb
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
})
afterAll(() => db.close())

const planOf = (slug: string): TenantPlan => ({
  slug,
  name: 'Acme',
  projects: [
    { slug: 'billing', name: 'Billing', label: 'production' },
    { slug: 'sandbox', name: 'Sandbox', label: 'development' },
  ],
  people: [
    {
      email: `olive@${slug}.example`,
      name: 'Olive',
      role: 'owner',
      issuer: 'https://id.example',
      subject: `${slug}-1`,
    },
    { email: `vic@${slug}.example`, name: 'Vic', role: 'viewer', issuer: 'https://id.example', subject: `${slug}-2` },
  ],
  apiKey: { name: 'demo', secret: newToken('mk') },
})

const count = async (table: string, tenantId: string): Promise<number> =>
  (await db.owner.query<{ n: number }>(`select count(*)::int n from ${table} where tenant_id = $1`, [tenantId])).rows[0]
    ?.n ?? 0

const limitOf = async (tenantId: string, queueId: string): Promise<number | undefined> =>
  (
    await db.owner.query<{ concurrency: number }>(
      'select concurrency from limits where tenant_id = $1 and queue_id = $2',
      [tenantId, queueId],
    )
  ).rows[0]?.concurrency

describe('bootstrap', () => {
  test('makes projects, a default queue each, limits, people and a key that holds every scope', async () => {
    const made = await bootstrapTenant(db.ownerUrl, planOf('fresh'))
    expect(made.projects.map((project) => project.slug)).toEqual(['billing', 'sandbox'])
    expect(made.projectId).toBe(made.projects[0]?.id)
    expect(await count('queues', made.tenantId)).toBe(2)
    expect(await count('limits', made.tenantId)).toBe(3)
    expect(await limitOf(made.tenantId, nilUuid)).toBe(10_000)
    const { rows } = await db.owner.query('select scopes, project_id from api_keys where id = $1', [made.apiKeyId])
    expect(rows).toEqual([{ project_id: made.projectId, scopes: expect.arrayContaining(['jobs:write', 'keys:write']) }])
  })

  test('a second call changes names and an asked-for limit, and nothing else', async () => {
    const plan = planOf('twice')
    const first = await bootstrapTenant(db.ownerUrl, plan)
    await db.owner.query("update memberships set role = 'operator' where user_id = $1", [first.userIds[1]])
    await db.owner.query('update limits set concurrency = 7 where tenant_id = $1 and queue_id <> $2', [
      first.tenantId,
      nilUuid,
    ])
    const second = await bootstrapTenant(db.ownerUrl, { ...plan, name: 'Acme Ltd', concurrency: 50 })
    expect(second).toEqual(first)
    expect(await limitOf(first.tenantId, nilUuid)).toBe(50)
    const { rows } = await db.owner.query('select role from memberships where user_id = $1', [first.userIds[1]])
    expect(rows).toEqual([{ role: 'operator' }])
    expect((await db.owner.query('select name from tenants where id = $1', [first.tenantId])).rows).toEqual([
      { name: 'Acme Ltd' },
    ])
    expect(
      (
        await db.owner.query('select concurrency from limits where tenant_id = $1 and concurrency = 7', [
          first.tenantId,
        ])
      ).rowCount,
    ).toBe(2)
    await bootstrapTenant(db.ownerUrl, plan)
    expect(await limitOf(first.tenantId, nilUuid)).toBe(50)
  })

  test('several at once make one tenant', async () => {
    const plan = planOf('race')
    const all = await Promise.all(Array.from({ length: 5 }, () => bootstrapTenant(db.ownerUrl, plan)))
    expect(new Set(all.map((made) => made.tenantId)).size).toBe(1)
    expect(await count('api_keys', all[0]?.tenantId ?? '')).toBe(1)
  })

  test('is written down once, and only when it made something', async () => {
    const plan = planOf('audited')
    const { tenantId, userIds } = await bootstrapTenant(db.ownerUrl, plan)
    await bootstrapTenant(db.ownerUrl, plan)
    const { rows } = await db.owner.query('select actor, action, data from audit_entries where tenant_id = $1', [
      tenantId,
    ])
    expect(rows).toEqual([
      {
        actor: 'system',
        action: 'tenant.bootstrap',
        data: { made: expect.arrayContaining([`tenant ${tenantId}`, `membership of ${userIds[0]} as owner`]) },
      },
    ])
  })

  test('the same person can belong to two tenants', async () => {
    const person = { email: 'both@example.com', name: 'B', issuer: 'https://id.example', subject: 'both' }
    const one = await bootstrapTenant(db.ownerUrl, { ...planOf('one'), people: [{ ...person, role: 'owner' }] })
    const two = await bootstrapTenant(db.ownerUrl, {
      ...planOf('two'),
      people: [{ ...person, email: 'BOTH@example.com', role: 'viewer' }],
    })
    expect(two.userIds).toEqual(one.userIds)
  })

  test('a secret that is not an API key is refused before anything is written', async () => {
    await expect(
      bootstrapTenant(db.ownerUrl, { ...planOf('bad'), apiKey: { name: 'x', secret: 'password' } }),
    ).rejects.toThrow(/mk_/)
    await expect(bootstrapTenant(db.ownerUrl, { ...planOf('bad'), projects: [] })).rejects.toThrow(/project/)
    expect((await db.owner.query("select from tenants where slug = 'bad'")).rowCount).toBe(0)
  })
})
