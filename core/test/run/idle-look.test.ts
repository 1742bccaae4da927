import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createPool, hotPathSettings, type Pool } from '../../src/db/client.ts'
import { createJob } from '../../src/job/create.ts'
import { admitRuns, lookAhead } from '../../src/run/admit.ts'
import { materialise, nextScheduleMs } from '../../src/run/materialise.ts'
import { rescueRuns } from '../../src/run/rescue.ts'
import { sampleJob } from '../../src/testing/job-samples.ts'
import { createStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
  // What autovacuum touches would be counted with the rest.
  for (const table of ['due', 'ready', 'held', 'schedules'])
    await stage.db.owner.query(`alter table ${table} set (autovacuum_enabled = off)`)
  const [run] = await stage.accept({ dueAt: new Date(Date.now() + 86_400_000) })
  const job = await createJob(stage.ctx, sampleJob({ schedule: { type: 'every', every: 'PT1H' } }))
  await stage.db.owner.query(
    `insert into due (pool, due_at, id, tenant_id, project_id, queue_id, priority, attempts_max, keep_week)
     select pool, due_at + n * interval '1 second', uuidv7(), tenant_id, project_id, queue_id, priority, attempts_max, keep_week
     from due, generate_series(1, 100000) n where id = $1`,
    [run?.id],
  )
  // Schedules without jobs: nobody asks for theirs.
  await stage.db.owner.query('alter table schedules drop constraint schedules_tenant_id_job_id_fkey')
  await stage.db.owner.query('alter table schedules disable trigger user')
  await stage.db.owner.query(
    `insert into schedules select tenant_id, uuidv7(), project_id, queue_id, pool, shard_id, job_version, spec, overlap, catch_up,
       grace_seconds, priority, attempts_max, paused, now() + n * interval '1 minute', tz_version, updated_at
     from schedules, generate_series(10, 10000) n where job_id = $1`,
    [job.id],
  )
  await stage.db.owner.query('vacuum analyze due, schedules')
})
afterAll(() => stage.db.close())

/** Blocks of the hot tables and their indexes that one pass of a piece of work touches. */
async function blocksTouched(work: (pool: Pool) => Promise<unknown>): Promise<number> {
  // One session, so that it can be told to hand in its counts.
  const pool = createPool({ url: stage.db.engineUrl, max: 1, applicationName: 'counted', settings: hotPathSettings })
  const read = async (): Promise<number> => {
    await pool.query('select pg_stat_force_next_flush()')
    return stage.value<number>(
      `select sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit, 0) + coalesce(idx_blks_read, 0))::int as value
       from pg_statio_all_tables where relname in ('due', 'ready', 'held', 'schedules')`,
    )
  }
  // Once before, so that preparing and reading the catalogue does not count.
  await work(pool)
  // Other sessions hand in theirs when they like, which only ever adds: so the least of a few tries.
  let least = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < 5; attempt++) {
    const before = await read()
    for (let look = 0; look < 10; look++) await work(pool)
    least = Math.min(least, ((await read()) - before) / 10)
  }
  await pool.end()
  return least
}

describe('with 100,000 runs and 10,000 schedules of the future, an idle look touches a handful of blocks', () => {
  it.each([
    ['looking ahead', 10, (pool: Pool) => lookAhead(pool, 1)],
    [
      'admitting',
      12,
      (pool: Pool) => admitRuns(pool, { pool: 1, batch: 500, capacity: 1_000, aheadMs: 25, queuedSeconds: 5 }),
    ],
    [
      'looking for due schedules',
      4,
      (pool: Pool) => materialise(pool, { keyRing: stage.db.engineKeyRing, shard: 1, aheadMs: 2_000, limit: 500 }),
    ],
    ['asking for the next schedule', 4, (pool: Pool) => nextScheduleMs(pool, 1)],
    ['rescuing', 4, (pool: Pool) => rescueRuns(pool, 1, 100)],
  ])('%s', async (_name, most, work) => {
    const touched = await blocksTouched(work)
    expect(touched).toBeGreaterThan(0)
    expect(touched).toBeLessThanOrEqual(most)
  })
})
