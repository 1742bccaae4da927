import { type IntakeRow, prepareRun } from '@meridian/core/run/prepare'
import { httpTargetValue } from '@meridian/core/run/target'
import { testCtx } from '@meridian/core/testing/factories'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApi, type TestApi, target } from './api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.close())

const tenants = 64
const bad = 17

/** One row of each of 64 tenants, the 18th changed. */
async function rowsOf(spoil: (row: IntakeRow, others: IntakeRow[]) => Partial<IntakeRow>): Promise<IntakeRow[]> {
  const rows: IntakeRow[] = []
  for (let index = 0; index < tenants; index++) {
    const tenant = await api.tenant()
    const ctx = { ...testCtx(api.db, tenant), keyRing: api.services.keyRing }
    rows.push(await prepareRun(ctx, { target: httpTargetValue.parse(target), dueAt: new Date(Date.now() + 3_600_000) }))
  }
  return rows.map((row, index) => (index === bad ? { ...row, ...spoil(row, rows) } : row))
}

async function accept(rows: IntakeRow[]) {
  const results = await Promise.allSettled(rows.map((row) => api.services.intake.accept(row)))
  const written = await api.db.owner.query<{ id: string; tenant_id: string }>(
    'select id, tenant_id from inputs where id = any($1)',
    [rows.map(({ id }) => id)],
  )
  return { results, written: new Map(written.rows.map(({ id, tenant_id: tenant }) => [id, tenant])) }
}

test.each([
  ["names another tenant's queue", (_: IntakeRow, rows: IntakeRow[]) => ({ queueId: rows[0]?.queueId ?? '' })],
  ['can not be written at all', () => ({ attemptsMax: 100_000 })],
])('of 64 tenants in one flush the one whose row %s fails alone', async (_, spoil) => {
  const rows = await rowsOf(spoil)
  const { results, written } = await accept(rows)
  rows.forEach((row, index) => {
    expect(results[index]?.status).toBe(index === bad ? 'rejected' : 'fulfilled')
    expect(written.get(row.id)).toBe(index === bad ? undefined : row.tenantId)
  })
})

test('what is accepted is told and audited once, for its own tenant', async () => {
  const { tenantId, client } = await api.tenant()
  const { body } = await client.post<{ id: string }>('/v1/runs', { target })
  const read = (table: string) =>
    api.db.owner.query<{ count: number }>(
      `select count(*)::int as count from ${table} where tenant_id = $1 and subject is not null`,
      [tenantId],
    )
  expect((await read("(select * from events where type = 'run.created') e")).rows[0]?.count).toBe(1)
  expect((await read("(select * from audit_entries where action = 'run.create') a")).rows[0]?.count).toBe(1)
  expect(body.id).toMatch(/^run_/)
})
