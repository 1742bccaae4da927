import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { createJob } from '../../src/job/create.ts'
import { deleteJob } from '../../src/job/delete.ts'
import { pauseJob } from '../../src/job/set-state.ts'
import { updateJob } from '../../src/job/update.ts'
import { cancelRun } from '../../src/run/cancel.ts'
import { type Materialised, materialise } from '../../src/run/materialise.ts'
import { listOccurrences } from '../../src/run/occurrences.ts'
import { sampleJob } from '../../src/testing/job-samples.ts'
import { createStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())
afterEach(async () => {
  for (const table of ['schedules', 'occurrences', 'due', 'ready', 'held'])
    await stage.db.owner.query(`delete from ${table}`)
})

const write = (): Promise<Materialised> =>
  materialise(stage.db.engine, { keyRing: stage.db.engineKeyRing, shard: 1, aheadMs: 2_000, limit: 500 })
/** A job whose hourly schedule stands at an instant that has just come. */
async function jobNow(): Promise<{ id: string; from: number }> {
  const from = Math.floor(Date.now() / 1_000) * 1_000
  const anchor = new Date(from).toISOString()
  const job = await createJob(stage.ctx, sampleJob({ schedule: { type: 'every', every: 'PT1H', anchor } }))
  await stage.db.owner.query('update schedules set next_at = $2 where job_id = $1', [job.id, anchor])
  return { id: job.id, from }
}
const ledger = (jobId: string) =>
  listOccurrences(stage.ctx, jobId, { from: new Date(0), to: new Date('2100-01-01') }, { limit: 200 }).then(
    (page) => page.items,
  )

describe('taking back what was written ahead', () => {
  it('a pause between writing and admitting lets nothing run', async () => {
    const { id } = await jobNow()
    await write()
    await pauseJob(stage.ctx, id, null)
    expect(await stage.admit({ aheadMs: 5_000 })).toEqual([])
    expect(await ledger(id)).toEqual([])
    expect(await write()).toMatchObject({ schedules: 0 })
  })

  it('a pause while a scheduler is writing waits for it, and takes that back as well', async () => {
    const { id, from } = await jobNow()
    const client = await stage.db.engine.connect()
    await client.query('begin')
    await client.query('select from schedules where job_id = $1 for update', [id])
    const pausing = pauseJob(stage.ctx, id, null)
    while (
      (await stage.value<number>(
        "select count(*)::int as value from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      )) < 1
    );
    const [runId, tenantId, projectId] = [stage.tenant.apiKeyId, stage.ctx.tenantId, stage.ctx.projectId]
    await client.query(
      "insert into occurrences (tenant_id, job_id, nominal_at, project_id, job_version, run_id, tz_version) values ($1, $2, $3, $4, 1, $5, 'x')",
      [tenantId, id, new Date(from), projectId, runId],
    )
    await client.query(
      `insert into due (pool, due_at, id, tenant_id, project_id, queue_id, priority, attempts_max, keep_week, overlap, job_id, nominal_at)
       select 1, $3, $4, tenant_id, project_id, queue_id, 3, 1, current_date, 0, job_id, $3 from schedules where tenant_id = $1 and job_id = $2`,
      [tenantId, id, new Date(from), runId],
    )
    await client.query("update schedules set next_at = next_at + interval '1 hour' where job_id = $1", [id])
    await client.query('commit')
    client.release()
    await pausing
    expect(await ledger(id)).toEqual([])
    expect(await stage.whereIs(runId)).toEqual([])
  })

  it('an edit takes it back and the new version runs at the same instant, once', async () => {
    const { id, from } = await jobNow()
    await write()
    await updateJob(stage.ctx, id, { priority: 1 })
    await write()
    expect(await ledger(id)).toMatchObject([{ nominalAt: new Date(from), jobVersion: 2, outcome: 'pending' }])
    expect(await stage.admit({ aheadMs: 5_000 })).toHaveLength(1)
  })

  it('a delete skips what was due, and takes back what was to come; what was admitted goes on', async () => {
    const admitted = await jobNow()
    await write()
    const [run] = await stage.admit({ aheadMs: 5_000 })
    const waiting = await jobNow()
    await write()
    for (const { id } of [admitted, waiting]) await deleteJob(stage.ctx, id)
    expect(await stage.admit({ aheadMs: 5_000 })).toEqual([])
    expect(await stage.whereIs(run?.[2] ?? '')).toEqual(['queued'])
    expect(await ledger(admitted.id)).toMatchObject([{ outcome: 'run' }])
    expect(await ledger(waiting.id)).toMatchObject([{ outcome: 'skipped', reason: 'removed', runId: null }])
  })

  it('cancelling a run that was written ahead skips its occurrence, and it is not written again', async () => {
    const { id, from } = await jobNow()
    await write()
    const [occurrence] = await ledger(id)
    await cancelRun(stage.ctx, occurrence?.runId ?? '')
    await stage.db.owner.query('update schedules set next_at = $2 where job_id = $1', [id, new Date(from)])
    await write()
    expect(await ledger(id)).toMatchObject([{ outcome: 'skipped', reason: 'cancelled', runId: occurrence?.runId }])
    expect(await stage.admit({ aheadMs: 5_000 })).toEqual([])
  })
})
