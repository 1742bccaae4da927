import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Ctx } from '../../src/db/context.ts'
import { appendRunLog, listRunLogs, writeExecutorLogs } from '../../src/run/logs.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { unknownId } from '../../src/testing/job-samples.ts'
import { createStage, type Stage } from './stage.ts'

let stage: Stage
let stranger: Ctx
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
  stranger = testCtx(stage.db, await createTenant(stage.db))
})
afterAll(() => stage.db.close())

const one = async () => {
  const [run] = await stage.running(1)
  if (run === undefined) throw new Error('nothing is running')
  return run
}

describe("a run's log", () => {
  it('keeps lines in order, page by page, sealed', async () => {
    const run = await one()
    await appendRunLog(stage.ctx, run.id, [
      { level: 'info', message: 'first, with a pass word' },
      { level: 'warn', message: 'second', attempt: 7 },
    ])
    await writeExecutorLogs(stage.db.engine, stage.db.engineKeyRing, [
      {
        tenantId: run.tenantId,
        runId: run.id,
        attempt: 1,
        atMs: Date.now() + 5,
        level: 'error',
        message: 'third "quoted", {braced}',
      },
    ])
    const first = await listRunLogs(stage.ctx, run.id, { limit: 2 })
    expect(first.items).toMatchObject([
      { level: 'info', attempt: 1, message: 'first, with a pass word' },
      { level: 'warn', attempt: 7 },
    ])
    const second = await listRunLogs(stage.ctx, run.id, { limit: 2, cursor: first.nextCursor ?? '' })
    expect(second).toMatchObject({ items: [{ level: 'error', message: 'third "quoted", {braced}' }], nextCursor: null })
    const stored = await stage.value<Buffer>(
      'select message as value from run_logs where run_id = $1 order by id limit 1',
      run.id,
    )
    expect(stored.includes('pass word')).toBe(false)
  })

  it('takes lines from a process whose clock is behind', async () => {
    const run = await one()
    const behind = { ...stage.ctx, clock: { nowMs: () => Date.now() - 600_000 } }
    await appendRunLog(behind, run.id, [{ level: 'info', message: 'from the past' }])
    expect((await listRunLogs(stage.ctx, run.id, { limit: 5 })).items).toHaveLength(1)
  })

  it("of a tenant without keys is left out, and nobody else's line waits for it", async () => {
    const run = await one()
    const erased = await createTenant(stage.db)
    await stage.db.keyRing.load(erased.tenantId)
    await stage.db.owner.query('update data_keys set wrapped = null, destroyed_at = now() where tenant_id = $1', [
      erased.tenantId,
    ])
    const line = { attempt: 1, atMs: Date.now(), level: 'info' as const, message: 'x' }
    await writeExecutorLogs(stage.db.engine, stage.db.engineKeyRing, [
      { ...line, tenantId: erased.tenantId, runId: unknownId() },
      { ...line, tenantId: run.tenantId, runId: run.id },
    ])
    expect((await listRunLogs(stage.ctx, run.id, { limit: 5 })).items).toHaveLength(1)
  })

  it('of a stranger is not found', async () => {
    const run = await one()
    await expect(appendRunLog(stranger, run.id, [{ level: 'info', message: 'x' }])).rejects.toMatchObject({
      code: 'not-found',
    })
    await expect(listRunLogs(stranger, run.id, { limit: 5 })).rejects.toMatchObject({ code: 'not-found' })
    await expect(appendRunLog(testCtx(stage.db, stage.tenant, { scopes: [] }), run.id, [])).rejects.toMatchObject({
      code: 'forbidden',
    })
  })
})
