import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import {
  dropPartitions,
  ensurePartitions,
  findOverflow,
  forgetCounters,
  forgetExecutors,
  forgetFarBlocks,
  forgetFarInputs,
  forgetIdempotencyKeys,
} from '../../src/db/janitor.ts'
import { announceExecutor, readCapacity, retireExecutor } from '../../src/run/admit.ts'
import { cancelRun } from '../../src/run/cancel.ts'
import { getRun, getRunRequest } from '../../src/run/get.ts'
import { unknownId } from '../../src/testing/job-samples.ts'
import { createStage, type Stage } from '../run/stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())
afterEach(async () => {
  await ensurePartitions(stage.db.engine, 8)
})

const weekly = [
  'occurrences',
  'inputs',
  'input_blocks',
  'runs',
  'attempts',
  'response_blocks',
  'run_logs',
  'events',
  'audit_entries',
]
const partitionsOf = (parent: string): Promise<string[]> =>
  stage.db.owner
    .query<{ name: string }>(
      "select inhrelid::regclass::text as name from pg_inherits where inhparent = $1::regclass and inhrelid::regclass::text like '%\\_w%' order by 1",
      [parent],
    )
    .then((result) => result.rows.map((row) => row.name))
const run = (text: string, ...values: unknown[]) => stage.db.owner.query(text, values)
const age = (table: string, column: string, days: number, id: string) =>
  run(`update ${table} set ${column} = ${column} - $2 * interval '1 day' where id = $1`, id, days)

describe('partitions', () => {
  it('are there for the last week, this one and those ahead, of every weekly table, and made only once', async () => {
    for (const table of weekly) expect(await partitionsOf(table), table).toHaveLength(10)
    expect(await ensurePartitions(stage.db.engine, 8)).toBe(0)
    expect(await ensurePartitions(stage.db.engine, 10)).toBe(2 * weekly.length)
    for (const table of weekly) expect(await partitionsOf(table), table).toHaveLength(12)
  })

  it('are made by several janitors at once without a fault', async () => {
    const made = await Promise.allSettled(Array.from({ length: 4 }, () => ensurePartitions(stage.db.engine, 14)))
    expect(made.some((result) => result.status === 'fulfilled')).toBe(true)
    expect(await ensurePartitions(stage.db.engine, 14)).toBe(0)
    for (const table of weekly) expect(new Set(await partitionsOf(table)).size, table).toBe(16)
  })

  it('of a table that is busy for long do not make everybody wait', async () => {
    const client = await stage.db.owner.connect()
    await client.query('begin')
    await client.query('select count(*) from runs')
    const began = performance.now()
    await expect(ensurePartitions(stage.db.engine, 20)).rejects.toMatchObject({ code: '55P03' })
    expect(performance.now() - began).toBeLessThan(5_000)
    await client.query('commit')
    client.release()
    expect(await ensurePartitions(stage.db.engine, 20)).toBeGreaterThan(0)
  })

  it('rows outside of them raise the alarm, are read like others, and move in when their week is made', async () => {
    expect(await findOverflow(stage.db.engine)).toEqual([])
    const [claimed] = await stage.running(1)
    await stage.end(claimed === undefined ? [] : [claimed])
    const id = claimed?.id ?? ''
    await age('runs', 'ended_at', -40 * 7, id)
    await run("update events set at = at + interval '280 days' where subject = $1", id)
    expect((await findOverflow(stage.db.engine)).toSorted()).toEqual(['events', 'runs'])
    expect(await getRun(stage.ctx, id)).toMatchObject({ status: 'succeeded' })
    await ensurePartitions(stage.db.engine, 41)
    expect(await findOverflow(stage.db.engine)).toEqual([])
    expect(await getRun(stage.ctx, id)).toMatchObject({ status: 'succeeded' })
    expect(await stage.eventsOf(id)).toEqual(['run.created', 'run.succeeded'])
    // The moved week is one like the others: it takes new rows, numbered on.
    await run(
      "insert into events (tenant_id, project_id, type, at) values ($1, $2, 'run.created', clock_timestamp() + interval '280 days')",
      stage.ctx.tenantId,
      stage.ctx.projectId,
    )
  })

  it("past their retention are dropped by the database's clock, and nothing younger", async () => {
    await run("create table runs_w2020_01 partition of runs for values from ('2019-12-30') to ('2020-01-06')")
    await run("create table events_w2020_01 partition of events for values from ('2019-12-30') to ('2020-01-06')")
    const before = await partitionsOf('runs')
    expect((await dropPartitions(stage.db.engine, 90)).toSorted()).toEqual(['events_w2020_01', 'runs_w2020_01'])
    expect(await partitionsOf('runs')).toEqual(before.filter((name) => name !== 'runs_w2020_01'))
    expect(await dropPartitions(stage.db.engine, 90)).toEqual([])
  })

  it('leave the payloads of runs that are still open, wherever those stand, and they run', async () => {
    await run("create table inputs_w2020_01 partition of inputs for values from ('2019-12-30') to ('2020-01-06')")
    const [due, ready, ended] = await stage.accept({ dueAt: new Date(Date.now() + 3_600_000) }, {}, {})
    const [queued] = await stage.accept({})
    const claimed = await stage.claim((await stage.admit()).filter((each) => each[2] === ended?.id))
    await stage.end(claimed)
    const ids = [due, ready, ended, queued].map((each) => each?.id ?? '')
    await run(
      "update input_blocks set keep_week = '2019-12-30' where id in (select payload_block from inputs where id = any($1))",
      ids,
    )
    for (const table of ['inputs', 'due', 'ready', 'held'])
      await run(`update ${table} set keep_week = '2019-12-30' where id = any($1)`, ids)
    expect(await dropPartitions(stage.db.engine, 90)).toContain('inputs_w2020_01')
    for (const each of [due, ready, queued])
      expect(await getRunRequest(stage.ctx, each?.id ?? '')).toMatchObject({ method: 'POST' })
    await expect(getRun(stage.ctx, ended?.id ?? '')).rejects.toMatchObject({ code: 'not-found' })
    await stage.expireLeases()
    await run(
      'insert into ready (pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week) select pool, tenant_id, queue_id, priority, due_at, id, project_id, attempt, attempts_max, fence, keep_week from held',
    )
    await run('delete from held')
    const again = await stage.claim(await stage.admit())
    expect(again.map((each) => each.id).toSorted()).toEqual([ready?.id ?? '', queued?.id ?? ''].toSorted())
    expect(again.every((each) => each.request?.block.sealed != null)).toBe(true)
    await stage.end(again)
  })
})

describe('what has no partitions of its own', () => {
  it('a payload of the far future goes when its run has ended long ago, not when it was due long ago', async () => {
    const far = new Date('2039-01-01T00:00:00Z')
    const [open, recent, old] = await stage.accept({ dueAt: far }, { dueAt: far }, { dueAt: far })
    const ids = [open, recent, old].map((each) => each?.id ?? '')
    await run("update inputs set due_at = clock_timestamp() - interval '200 days' where id = any($1)", ids)
    for (const id of ids.slice(1)) await cancelRun(stage.ctx, id)
    await run("create table runs_w2020_02 partition of runs for values from ('2020-01-06') to ('2020-01-13')")
    await run("update runs set ended_at = '2020-01-07' where id = $1", ids[2])
    expect(await forgetFarInputs(stage.db.engine, 90, 10)).toBe(1)
    expect(
      await stage.value('select array_agg(id::text order by id) as value from inputs where id = any($1)', ids),
    ).toEqual(ids.slice(0, 2).toSorted())
    expect(await forgetFarInputs(stage.db.engine, 90, 10)).toBe(0)
    // The three shared a block: it is needed as long as one of them.
    expect(await forgetFarBlocks(stage.db.engine, 10)).toBe(0)
    expect(await getRunRequest(stage.ctx, open?.id ?? '')).toMatchObject({ method: 'POST' })
    await run('delete from inputs where id = any($1)', ids)
    expect(await forgetFarBlocks(stage.db.engine, 10)).toBe(1)
  })

  it('one of a run that was cancelled years before it was due goes with its history', async () => {
    const [gone, kept] = await stage.accept(
      { dueAt: new Date('2039-01-01T00:00:00Z') },
      { dueAt: new Date('2039-01-01T00:00:00Z') },
    )
    for (const each of [gone, kept]) await cancelRun(stage.ctx, each?.id ?? '')
    await run("create table runs_w2020_03 partition of runs for values from ('2020-01-13') to ('2020-01-20')")
    await run("update runs set ended_at = '2020-01-14' where id = $1", gone?.id)
    await dropPartitions(stage.db.engine, 90)
    expect(await stage.value('select count(*)::int as value from inputs where id = $1', gone?.id)).toBe(0)
    expect(await getRun(stage.ctx, kept?.id ?? '')).toMatchObject({ status: 'cancelled' })
  })

  it('idempotency keys are forgotten when they are old, so many at a time', async () => {
    const print = Buffer.alloc(32)
    await stage.accept(
      ...Array.from({ length: 30 }, (_, index) => ({ idempotencyKey: `old-${index}`, fingerprint: print })),
      { idempotencyKey: 'young', fingerprint: print },
    )
    await run("update idempotency_keys set created_at = created_at - interval '25 hours' where key like 'old-%'")
    expect(await forgetIdempotencyKeys(stage.db.engine, 24, 20)).toBe(20)
    expect(await forgetIdempotencyKeys(stage.db.engine, 24, 20)).toBe(10)
    expect(await forgetIdempotencyKeys(stage.db.engine, 24, 20)).toBe(0)
    expect(await stage.value('select array_agg(key) as value from idempotency_keys')).toEqual(['young'])
  })

  it('counters and silent executors are forgotten', async () => {
    await run(
      "insert into run_minutes values ($1, $2, now() - interval '91 days', 4, 1), ($1, $2, now() - interval '89 days', 4, 1)",
      stage.ctx.tenantId,
      stage.ctx.projectId,
    )
    await run(
      "insert into job_hours values ($1, $2, now() - interval '91 days', 4, 1), ($1, $2, now() - interval '89 days', 4, 1)",
      stage.ctx.tenantId,
      unknownId(),
    )
    await forgetCounters(stage.db.engine, 90)
    expect(
      await stage.value('select (select count(*) from run_minutes) + 10 * (select count(*) from job_hours) as value'),
    ).toBe(11)
    const [live, dead] = [unknownId(), unknownId()]
    for (const id of [live, dead])
      await announceExecutor(stage.db.engine, { id, pool: 1, capacity: 5, running: 0, finishedPerSecond: 2 })
    expect(await readCapacity(stage.db.engine, 1)).toEqual({
      executors: 2,
      slots: 10,
      spare: 0,
      finishedPerSecond: 4,
      usesClasses: false,
    })
    await run("update executors set seen_at = seen_at - interval '2 days' where id = $1", dead)
    expect(await readCapacity(stage.db.engine, 1)).toMatchObject({ executors: 1, slots: 5 })
    await forgetExecutors(stage.db.engine)
    expect(await stage.value('select array_agg(id::text) as value from executors')).toEqual([live])
    // One that has been idle for long is as alive as any.
    const idle = { id: live, pool: 1, capacity: 5, running: 0, finishedPerSecond: 9.2e-95 }
    await announceExecutor(stage.db.engine, idle)
    expect(await readCapacity(stage.db.engine, 1)).toMatchObject({ executors: 1, slots: 5, finishedPerSecond: 0 })
    await retireExecutor(stage.db.engine, live)
    expect(await readCapacity(stage.db.engine, 1)).toMatchObject({ executors: 0, slots: 0, finishedPerSecond: 0 })
  })
})
