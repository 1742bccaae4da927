import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { Ctx } from '../db/context.ts'
import { createJob } from '../job/create.ts'
import { createTenant, type TestTenant, testCtx } from '../testing/factories.ts'
import { sampleJob } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { withIdempotency } from './idempotency.ts'
import { createApiKey } from './keys.ts'

let db: TestDb
let tenant: TestTenant
let ctx: Ctx
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
  tenant = await createTenant(db)
  ctx = testCtx(db, tenant)
})
afterAll(() => db.close())

const print = (text: string): Buffer => createHash('sha256').update(text).digest()
const makeJob = (name: string) => async (tx: Ctx) => {
  const { id } = await createJob(tx, sampleJob({ name }))
  return { subject: id, answer: { id, name } }
}
const jobsNamed = async (name: string): Promise<number> =>
  (await db.owner.query('select from jobs where name = $1', [name])).rowCount ?? -1

describe('an idempotency key', () => {
  test('makes a create happen once, and its first answer the answer of all', async () => {
    const request = { key: 'k1', fingerprint: print('a') }
    const first = await withIdempotency(ctx, request, makeJob('once'))
    expect(first.replayed).toBe(false)
    expect(await withIdempotency(ctx, request, makeJob('once'))).toEqual({ answer: first.answer, replayed: true })
    expect(await jobsNamed('once')).toBe(1)
  })

  test('twenty at once do the work once', async () => {
    const request = { key: 'k2', fingerprint: print('a') }
    const all = await Promise.all(Array.from({ length: 20 }, () => withIdempotency(ctx, request, makeJob('crowd'))))
    expect(new Set(all.map(({ answer }) => answer.id)).size).toBe(1)
    expect(all.filter(({ replayed }) => !replayed)).toHaveLength(1)
    expect(await jobsNamed('crowd')).toBe(1)
  })

  test('used for another request is refused', async () => {
    await withIdempotency(ctx, { key: 'k3', fingerprint: print('a') }, makeJob('mine'))
    await expect(withIdempotency(ctx, { key: 'k3', fingerprint: print('b') }, makeJob('other'))).rejects.toMatchObject({
      code: 'idempotency-mismatch',
    })
    expect(await jobsNamed('other')).toBe(0)
  })

  test('of a create that failed is free again', async () => {
    const request = { key: 'k4', fingerprint: print('a') }
    await expect(
      withIdempotency(ctx, request, async (tx) => {
        await createJob(tx, sampleJob({ name: 'undone' }))
        throw new Error('later trouble')
      }),
    ).rejects.toThrow('later trouble')
    expect(await jobsNamed('undone')).toBe(0)
    expect((await withIdempotency(ctx, request, makeJob('done'))).replayed).toBe(false)
  })

  test('is one project’s: another tenant’s same key is another key', async () => {
    const request = { key: 'k5', fingerprint: print('a') }
    await withIdempotency(ctx, request, makeJob('ours'))
    const other = testCtx(db, await createTenant(db))
    expect((await withIdempotency(other, request, makeJob('theirs'))).replayed).toBe(false)
  })

  test('keeps an answer that holds a secret out of plain sight', async () => {
    const request = { key: 'k6', fingerprint: print('a') }
    const work = async (tx: Ctx) => {
      const { key, secret } = await createApiKey(tx, { name: 'x', scopes: [] })
      return { subject: key.id, answer: { id: key.id, secret } }
    }
    const first = await withIdempotency(ctx, request, work)
    expect((await withIdempotency(ctx, request, work)).answer).toEqual(first.answer)
    const { rows } = await db.owner.query<{ response: Buffer }>(
      "select response from idempotency_keys where key = 'k6'",
    )
    expect(rows[0]?.response.toString('latin1')).not.toContain(first.answer.secret.slice(3, 20))
  })

  test('of a run is not one for a create', async () => {
    await db.owner.query(
      'insert into idempotency_keys (tenant_id, project_id, key, fingerprint, subject) values ($1, $2, $3, $4, $1)',
      [tenant.tenantId, tenant.projectId, 'k7', print('a')],
    )
    await expect(withIdempotency(ctx, { key: 'k7', fingerprint: print('a') }, makeJob('x'))).rejects.toMatchObject({
      code: 'idempotency-mismatch',
    })
  })

  test('is optional: without one the work is done each time', async () => {
    await withIdempotency(ctx, null, makeJob('free'))
    expect((await withIdempotency(ctx, null, makeJob('free'))).replayed).toBe(false)
    expect(await jobsNamed('free')).toBe(2)
  })
})
