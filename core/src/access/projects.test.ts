import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { Ctx } from '../db/context.ts'
import { createTenant, type TestTenant, testCtx } from '../testing/factories.ts'
import { trailOf, unknownId } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { listMembers } from './members.ts'
import { createProject, getProject, listProjects, updateProject } from './projects.ts'

let db: TestDb
let tenant: TestTenant
/** A person, and the tenant's API key. */
let ctx: Ctx
let keyCtx: Ctx
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
  tenant = await createTenant(db)
  ctx = testCtx(db, tenant, { actor: { type: 'user', id: tenant.userIds[0] ?? '' } })
  keyCtx = testCtx(db, tenant)
})
afterAll(() => db.close())

describe('projects', () => {
  test('a new one has its defaults and a default queue to run in', async () => {
    const project = await createProject(ctx, { slug: 'payroll', name: 'Payroll' })
    expect(project).toMatchObject({ slug: 'payroll', label: 'production', requiresIdempotencyKey: false, version: 1 })
    const { rows } = await db.owner.query(
      `select q.name, l.concurrency, l.weight from queues q join limits l on l.tenant_id = q.tenant_id and l.queue_id = q.id
       where q.project_id = $1`,
      [project.id],
    )
    expect(rows).toEqual([{ name: 'default', concurrency: 1_000, weight: 1 }])
    expect(await getProject(ctx, project.id)).toEqual(project)
    expect(await trailOf(db, project.id)).toEqual({ events: ['project.created'], actions: ['project.create'] })
  })

  test('a slug is one project’s in its tenant', async () => {
    await createProject(ctx, { slug: 'twice', name: 'One' })
    await expect(createProject(ctx, { slug: 'twice', name: 'Two' })).rejects.toMatchObject({ code: 'conflict' })
    const other = await createTenant(db)
    const owner = testCtx(db, other, { actor: { type: 'user', id: other.userIds[0] ?? '' } })
    await expect(createProject(owner, { slug: 'twice', name: 'Three' })).resolves.toBeDefined()
  })

  test('a key makes no projects, and sees and changes its own only', async () => {
    await expect(createProject(keyCtx, { slug: 'from-key', name: 'x' })).rejects.toMatchObject({ code: 'forbidden' })
    const other = await createProject(ctx, { slug: 'not-for-keys', name: 'x' })
    expect((await listProjects(keyCtx, { limit: 10 })).items.map(({ slug }) => slug)).toEqual(['main'])
    await expect(getProject(keyCtx, other.id)).rejects.toMatchObject({ code: 'not-found' })
    await expect(updateProject(keyCtx, other.id, { name: 'mine' })).rejects.toMatchObject({ code: 'not-found' })
    await expect(updateProject(keyCtx, tenant.projectId, { name: 'Main!' })).resolves.toMatchObject({ name: 'Main!' })
  })

  test('pages show every project once, oldest first', async () => {
    const own = await createTenant(db)
    const person = testCtx(db, own, { actor: { type: 'user', id: own.userIds[0] ?? '' } })
    for (const slug of ['a', 'b', 'c']) await createProject(person, { slug, name: slug })
    const first = await listProjects(person, { limit: 3 })
    const second = await listProjects(person, { cursor: first.nextCursor ?? '', limit: 3 })
    expect([...first.items, ...second.items].map(({ slug }) => slug)).toEqual(['main', 'a', 'b', 'c'])
  })

  test('an update keeps what is left out, and one that changes nothing is none', async () => {
    const project = await createProject(ctx, { slug: 'edited', name: 'Before', label: 'staging' })
    const after = await updateProject(ctx, project.id, { requiresIdempotencyKey: true, expectedVersion: 1 })
    expect(after).toEqual({ ...project, requiresIdempotencyKey: true, version: 2, updatedAt: after.updatedAt })
    expect(await updateProject(ctx, project.id, { label: 'staging' })).toEqual(after)
    await expect(updateProject(ctx, project.id, { name: 'x', expectedVersion: 1 })).rejects.toMatchObject({
      code: 'precondition-failed',
    })
    expect((await trailOf(db, project.id)).actions).toEqual(['project.create', 'project.update'])
  })

  test('each verb needs its scope', async () => {
    const reader = testCtx(db, tenant, { scopes: ['projects:read'], actor: ctx.actor })
    const nobody = testCtx(db, tenant, { scopes: [], actor: ctx.actor })
    const forbidden = { code: 'forbidden' }
    await expect(createProject(reader, { slug: 'x', name: 'x' })).rejects.toMatchObject(forbidden)
    await expect(updateProject(reader, tenant.projectId, { name: 'x' })).rejects.toMatchObject(forbidden)
    await expect(listProjects(nobody, { limit: 1 })).rejects.toMatchObject(forbidden)
    await expect(getProject(nobody, tenant.projectId)).rejects.toMatchObject(forbidden)
    await expect(getProject(reader, unknownId())).rejects.toMatchObject({ code: 'not-found' })
  })
})

describe('members', () => {
  test('are the people of the tenant, and of no other', async () => {
    const own = await createTenant(db, {
      people: [
        { email: 'zoe@example.com', name: 'Zoe', role: 'viewer', issuer: 'https://id.example', subject: 'zoe' },
        { email: 'amir@example.com', name: 'Amir', role: 'admin', issuer: 'https://id.example', subject: 'amir' },
      ],
    })
    const members = await listMembers(testCtx(db, own, { scopes: ['projects:read'] }))
    expect(members.map(({ email, name, role }) => [email, name, role])).toEqual([
      ['amir@example.com', 'Amir', 'admin'],
      ['zoe@example.com', 'Zoe', 'viewer'],
    ])
    await expect(listMembers(testCtx(db, own, { scopes: [] }))).rejects.toMatchObject({ code: 'forbidden' })
  })
})
