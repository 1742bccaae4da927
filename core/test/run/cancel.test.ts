import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { cancelRun } from '../../src/run/cancel.ts'
import type { Claimed } from '../../src/run/claim.ts'
import { getRun, listAttempts } from '../../src/run/get.ts'
import { rescueRuns } from '../../src/run/rescue.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { createStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())

const terminal = ['run.succeeded', 'run.failed', 'run.cancelled', 'run.expired', 'run.skipped']
const endsOf = async (id: string): Promise<string[]> =>
  (await stage.eventsOf(id)).filter((type) => terminal.includes(type))
const one = async (): Promise<Claimed> => {
  const [run] = await stage.running(1)
  if (run === undefined) throw new Error('nothing is running')
  return run
}

describe('cancelling', () => {
  it('a scheduled run', async () => {
    const [run] = await stage.accept({ dueAt: new Date(Date.now() + 3_600_000) })
    const { run: after, interrupt } = await cancelRun(stage.ctx, run?.id ?? '')
    expect(after).toMatchObject({
      id: run?.id,
      status: 'cancelled',
      attempt: 0,
      error: 'cancelled',
      startedAt: null,
      durationMs: null,
    })
    expect(after.finishedAt).not.toBeNull()
    expect(interrupt).toBeNull()
    expect(await stage.whereIs(after.id)).toEqual(['cancelled'])
    expect(await listAttempts(stage.ctx, after.id)).toEqual([])
  })

  it('one that is due beyond the partitions', async () => {
    const [run] = await stage.accept({ dueAt: new Date('2039-01-01T00:00:00Z') })
    expect((await cancelRun(stage.ctx, run?.id ?? '')).run).toMatchObject({ status: 'cancelled', dueAt: run?.dueAt })
  })

  it('a ready one', async () => {
    const [run] = await stage.accept({})
    expect((await cancelRun(stage.ctx, run?.id ?? '')).run.status).toBe('cancelled')
    expect(await stage.admit()).toEqual([])
  })

  it('a queued one: its parcel claims nothing', async () => {
    const [run] = await stage.accept({})
    const parcel = await stage.admit()
    const { run: after, interrupt } = await cancelRun(stage.ctx, run?.id ?? '')
    expect(after).toMatchObject({ status: 'cancelled', fence: 1, startedAt: null })
    expect(interrupt).toBeNull()
    expect(await stage.claim(parcel)).toEqual([])
  })

  it('a running one: its executor is named, and what it reports is refused', async () => {
    const run = await one()
    const { run: after, interrupt } = await cancelRun(stage.ctx, run.id)
    expect(after).toMatchObject({ status: 'cancelled', attempt: 1 })
    expect(after.durationMs).toBeGreaterThanOrEqual(0)
    expect(interrupt).toEqual({ pool: 1, runId: run.id, fence: run.fence })
    expect((await stage.end([run])).size).toBe(0)
    expect(await listAttempts(stage.ctx, run.id)).toMatchObject([{ attempt: 1, status: 'cancelled' }])
  })

  it('one that waits for its next try', async () => {
    const run = await one()
    await stage.retry([run], 60_000)
    expect((await cancelRun(stage.ctx, run.id)).run).toMatchObject({ status: 'cancelled', attempt: 1 })
    expect(await listAttempts(stage.ctx, run.id)).toMatchObject([{ attempt: 1, status: 'failed' }])
  })

  it('a cancelled one changes nothing and tells nothing', async () => {
    const run = await one()
    const first = await cancelRun(stage.ctx, run.id)
    const second = await cancelRun(stage.ctx, run.id)
    expect(second).toEqual({ run: first.run, interrupt: null })
    expect(await endsOf(run.id)).toEqual(['run.cancelled'])
    expect(
      await stage.value(
        "select count(*)::int as value from audit_entries where subject = $1 and action = 'run.cancel'",
        run.id,
      ),
    ).toBe(1)
  })

  it('one that ended otherwise is a conflict that names how', async () => {
    const run = await one()
    await stage.end([run])
    await expect(cancelRun(stage.ctx, run.id)).rejects.toMatchObject({
      code: 'invalid-transition',
      extra: { current: { status: 'succeeded', attempt: 1 } },
    })
    expect(await endsOf(run.id)).toEqual(['run.succeeded'])
  })

  it("another tenant's, another project's, or none is not found, and nothing happens to it", async () => {
    const run = await one()
    const stranger = testCtx(stage.db, await createTenant(stage.db))
    await expect(cancelRun(stranger, run.id)).rejects.toMatchObject({ code: 'not-found' })
    await expect(cancelRun({ ...stage.ctx, projectId: stranger.projectId }, run.id)).rejects.toMatchObject({
      code: 'not-found',
    })
    await expect(cancelRun(stage.ctx, stranger.tenantId)).rejects.toMatchObject({ code: 'not-found' })
    expect(await stage.whereIs(run.id)).toEqual(['running'])
    await stage.end([run])
  })

  it('takes runs:write', async () => {
    await expect(
      cancelRun(testCtx(stage.db, stage.tenant, { scopes: ['runs:read'] }), stage.tenant.tenantId),
    ).rejects.toMatchObject({ code: 'forbidden' })
  })
})

describe('races', () => {
  it('cancelled while it completes, a thousand times: one end and one event each, and the answer agrees', async () => {
    const runs: Claimed[] = []
    while (runs.length < 1_000) runs.push(...(await stage.running(250)))
    const answers: string[] = []
    const ended = new Set<string>()
    for (let start = 0; start < runs.length; start += 20) {
      const chunk = runs.slice(start, start + 20)
      const cancels = chunk.map((run) =>
        cancelRun(stage.ctx, run.id).then(
          ({ run: after }) => after.status,
          (error: { code: string }) => error.code,
        ),
      )
      // The report meets the cancels a little later each time: before all of them, among them, behind them.
      for (let wait = 0; wait < (start / 20) % 10; wait++) await stage.db.engine.query('select 1')
      for (const id of await stage.end(chunk)) ended.add(id)
      answers.push(...(await Promise.all(cancels)))
    }
    for (const [index, run] of runs.entries())
      expect(answers[index]).toBe(ended.has(run.id) ? 'invalid-transition' : 'cancelled')
    expect(ended.size).toBeGreaterThan(0)
    expect(ended.size).toBeLessThan(1_000)
    const ids = runs.map((run) => run.id)
    const disagreeing = await stage.value<number>(
      `select count(*)::int as value from unnest($1::uuid[]) u(id)
       left join lateral (select array_agg(state) states from runs where runs.id = u.id) r on true
       left join lateral (select array_agg(type) types from events where subject = u.id and type = any($2)) e on true
       where coalesce(cardinality(states), 0) <> 1 or coalesce(cardinality(types), 0) <> 1
         or types[1] <> case states[1] when 4 then 'run.succeeded' when 6 then 'run.cancelled' else '?' end`,
      ids,
      terminal,
    )
    expect(disagreeing).toBe(0)
    expect(await stage.value('select count(*)::int as value from held where id = any($1)', ids)).toBe(0)
  })

  it('cancelled while it is admitted, claimed, given back for another try, or rescued: each ends once', async () => {
    const runs = await stage.accept(...Array.from({ length: 150 }, () => ({})))
    const walk = async (): Promise<void> => {
      for (let round = 0; round < 12; round++) {
        const claimed = await stage.claim(await stage.admit({ batch: 20 }))
        if (round % 3 === 0) await stage.retry(claimed, 0)
        else if (round % 3 === 1) await stage.end(claimed)
        else {
          await stage.expireLeases()
          await rescueRuns(stage.db.engine, 1, 100)
        }
      }
    }
    const answers = Promise.all(
      runs.map((run) =>
        cancelRun(stage.ctx, run.id).then(
          () => 'ok',
          (error: { code: string }) => error.code,
        ),
      ),
    )
    await Promise.all([walk(), walk(), answers])
    expect(new Set(await answers).difference(new Set(['ok', 'invalid-transition', 'conflict']))).toEqual(new Set())
    for (const run of runs) await cancelRun(stage.ctx, run.id).catch(() => undefined)
    for (const run of runs) {
      expect(await stage.whereIs(run.id)).toHaveLength(1)
      expect(await endsOf(run.id)).toHaveLength(1)
      expect((await getRun(stage.ctx, run.id)).finishedAt).not.toBeNull()
    }
  })
})
