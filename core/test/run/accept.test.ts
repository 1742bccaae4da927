import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Ctx } from '../../src/db/context.ts'
import { AppError } from '../../src/kernel/errors.ts'
import { uuidv7 } from '../../src/kernel/ids.ts'
import { acceptRuns, type IntakeResult } from '../../src/run/accept.ts'
import { getRun, getRunRequest } from '../../src/run/get.ts'
import { type IntakeRow, type NewRun, prepareRun } from '../../src/run/prepare.ts'
import type { Run } from '../../src/run/run.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { createStage, type Stage, target } from './stage.ts'

let stage: Stage
let ctx: Ctx
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
  ctx = stage.ctx
})
afterAll(() => stage.db.close())

const day = 86_400_000
const print = (text: string): Buffer => createHash('sha256').update(text).digest()
const prepare = (change: Partial<NewRun> = {}, as = ctx): Promise<IntakeRow> => prepareRun(as, { target, ...change })
const flush = (rows: IntakeRow[], batch = false): Promise<IntakeResult[]> =>
  acceptRuns(stage.intake, rows, batch, 'digest')
const runOf = (result: IntakeResult | undefined): Run => {
  if (result === undefined || result.outcome === 'refused') throw new Error('the run was not accepted')
  return result.run
}
const codeOf = (result: IntakeResult | undefined): string =>
  result?.outcome === 'refused' ? result.error.code : (result?.outcome ?? 'no answer')
const count = (table: string, ids: readonly string[]): Promise<number> =>
  stage.value<number>(
    `select count(*)::int as value from ${table} where ${table === 'events' || table === 'audit_entries' ? 'subject' : 'id'} = any($1)`,
    ids,
  )

describe('accepting', () => {
  it('what is answered as accepted is on disk, as it was answered', async () => {
    const [result] = await flush([await prepare({ priority: 1 })])
    const run = runOf(result)
    expect(run).toMatchObject({
      status: 'ready',
      source: 'api',
      priority: 1,
      attempt: 0,
      attemptsMax: 6,
      fence: 0,
      queueName: 'default',
    })
    expect(run.dueAt).toEqual(run.createdAt)
    expect(await getRun(ctx, run.id)).toEqual(run)
    expect(await getRunRequest(ctx, run.id)).toMatchObject({ method: 'POST', url: target.url, body: '{"a":1}' })
    expect(await stage.eventsOf(run.id)).toEqual(['run.created'])
    expect(await stage.value('select action as value from audit_entries where subject = $1', run.id)).toBe('run.create')
  })

  it('the payload is not readable in the table', async () => {
    const { id } = runOf((await flush([await prepare({ target: { ...target, body: 'the secret of the house' } })]))[0])
    const payload = await stage.value<Buffer>(
      'select sealed as value from input_blocks b join inputs i on i.payload_block = b.id where i.id = $1',
      id,
    )
    expect(payload.includes('secret')).toBe(false)
  })

  it('a run that is due later waits in due; one whose instant has passed is ready at once and keeps its instant', async () => {
    const later = new Date(Date.now() + 3_600_000)
    const past = new Date(Date.now() - 3_600_000)
    const [one, other] = await flush([await prepare({ dueAt: later }), await prepare({ dueAt: past })])
    expect(runOf(one)).toMatchObject({ status: 'scheduled', dueAt: later })
    expect(runOf(other)).toMatchObject({ status: 'ready', dueAt: past })
    expect(await stage.whereIs(runOf(one).id)).toEqual(['due'])
    expect(await stage.whereIs(runOf(other).id)).toEqual(['ready'])
  })

  it('a due instant comes back to the millisecond, to the end of the calendar', async () => {
    const instants = [
      '2038-01-19T03:14:08.007Z',
      '2039-06-01T00:00:00.123Z',
      '2107-01-01T00:00:00.777Z',
      '9999-12-31T23:59:59.000Z',
    ]
    const rows = await Promise.all(instants.map((dueAt) => prepare({ dueAt: new Date(dueAt) })))
    const answers = (await flush(rows)).map(
      (result) => [runOf(result), result.outcome === 'refused' ? 0 : result.dueAtMs] as const,
    )
    for (const [index, [run, dueAtMs]] of answers.entries()) {
      expect(dueAtMs).toBe(Date.parse(instants[index] ?? ''))
      expect(run.dueAt.toISOString()).toBe(instants[index])
      expect((await getRun(ctx, run.id)).dueAt.toISOString()).toBe(instants[index])
    }
  })

  it('each row of a flush is answered in its place, whatever the others are', async () => {
    const rows = await Promise.all(Array.from({ length: 50 }, (_, index) => prepare({ priority: 1 + (index % 5) })))
    const results = await flush(rows)
    expect(results.map((result) => runOf(result).id)).toEqual(rows.map((row) => row.id))
  })
})

describe('many tenants in one flush', () => {
  it("a row that points at a stranger's queue is refused by itself; the other 63 are written, each for its tenant", async () => {
    const tenants = await Promise.all(Array.from({ length: 64 }, () => createTenant(stage.db)))
    const rows = await Promise.all(tenants.map((tenant) => prepare({}, testCtx(stage.db, tenant))))
    const [violator, victim] = [rows[40], rows[41]]
    if (violator === undefined || victim === undefined) throw new Error('no rows')
    violator.queueId = victim.queueId
    const results = await flush(rows)
    expect(results.map(codeOf)).toEqual(rows.map((row) => (row === violator ? 'not-found' : 'accepted')))
    expect(await count('inputs', [violator.id])).toBe(0)
    for (const table of ['inputs', 'ready', 'events', 'audit_entries']) {
      expect(
        await count(
          table,
          rows.map((row) => row.id),
        ),
        table,
      ).toBe(63)
    }
    const strays = await stage.value(
      'select count(*)::int as value from inputs i join queues q on q.id = i.queue_id where q.tenant_id <> i.tenant_id',
    )
    expect(strays).toBe(0)
  })

  it('a queue of another project of the same tenant is as foreign', async () => {
    const tenant = await createTenant(stage.db, {
      projects: [
        { slug: 'one', name: 'One', label: 'production' },
        { slug: 'two', name: 'Two', label: 'staging' },
      ],
    })
    const here = await prepare({}, testCtx(stage.db, tenant))
    const there = await prepare({}, testCtx(stage.db, { ...tenant, projectId: tenant.projects[1]?.id ?? '' }))
    here.queueId = there.queueId
    expect((await flush([here, there])).map(codeOf)).toEqual(['not-found', 'accepted'])
  })

  it('a caller without runs:write prepares nothing', async () => {
    await expect(
      prepareRun(testCtx(stage.db, stage.tenant, { scopes: ['runs:read'] }), { target }),
    ).rejects.toMatchObject({ code: 'forbidden' })
  })
})

describe('idempotency keys', () => {
  const keyed = (key: string, body: string, more: Partial<NewRun> = {}, as = ctx): Promise<IntakeRow> =>
    prepare({ idempotencyKey: key, fingerprint: print(body), ...more }, as)

  it('the same key with the same request gives the first run, as it was created, and writes nothing', async () => {
    const first = runOf((await flush([await keyed('k1', 'a')]))[0])
    while ((await stage.whereIs(first.id))[0] === 'ready') await stage.claim(await stage.admit())
    expect(await stage.whereIs(first.id)).toEqual(['running'])
    const [again] = await flush([await keyed('k1', 'a')])
    expect(again).toMatchObject({ outcome: 'replayed' })
    expect(runOf(again)).toEqual(first)
    expect(await stage.eventsOf(first.id)).toEqual(['run.created'])
  })

  it('a repeated request for a later instant is answered with that instant', async () => {
    const dueAt = new Date(Date.now() + day)
    const first = runOf((await flush([await keyed('k2', 'a', { dueAt })]))[0])
    expect(runOf((await flush([await keyed('k2', 'a', { dueAt })]))[0])).toEqual(first)
  })

  it('the same key with another request is refused', async () => {
    await flush([await keyed('k3', 'a')])
    const [other] = await flush([await keyed('k3', 'b')])
    expect(codeOf(other)).toBe('idempotency-mismatch')
    expect(other?.outcome === 'refused' && other.error).toBeInstanceOf(AppError)
  })

  it('two rows of one flush with one key are one run', async () => {
    const rows = [await keyed('k4', 'a'), await keyed('k4', 'a'), await keyed('k4', 'b')]
    const results = await flush(rows)
    expect(results.map(codeOf)).toEqual(['accepted', 'replayed', 'idempotency-mismatch'])
    expect(runOf(results[1])).toEqual(runOf(results[0]))
    expect(
      await count(
        'inputs',
        rows.map((row) => row.id),
      ),
    ).toBe(1)
  })

  it('a hundred flushes at once with one key write one run, and all get it', async () => {
    const rows = await Promise.all(Array.from({ length: 100 }, () => keyed('k5', 'a')))
    const results = (await Promise.all(rows.map((row) => flush([row])))).map(([result]) => result)
    expect(results.filter((result) => result?.outcome === 'accepted')).toHaveLength(1)
    expect(results.filter((result) => result?.outcome === 'replayed')).toHaveLength(99)
    expect(new Set(results.map((result) => JSON.stringify(runOf(result)))).size).toBe(1)
    expect(
      await count(
        'inputs',
        rows.map((row) => row.id),
      ),
    ).toBe(1)
    expect(
      await count(
        'events',
        rows.map((row) => row.id),
      ),
    ).toBe(1)
  })

  it('flushes that share many keys in any order do not deadlock', async () => {
    const keys = Array.from({ length: 40 }, (_, index) => `order-${index}`)
    const flushes = await Promise.all(
      Array.from({ length: 8 }, (_, turn) =>
        Promise.all(keys.map((_key, index) => keyed(keys[(index * (2 * turn + 1) + turn) % keys.length] ?? '', 'a'))),
      ),
    )
    const results = (await Promise.all(flushes.map((rows) => flush(rows)))).flat()
    expect(results.filter((result) => result.outcome === 'accepted')).toHaveLength(40)
    expect(new Set(results.map((result) => runOf(result).id)).size).toBe(40)
  })

  it('a key belongs to its tenant and project, and quoting it in another tenant means nothing', async () => {
    const stranger = testCtx(stage.db, await createTenant(stage.db))
    const results = await flush([await keyed('k6', 'a'), await keyed('k6', 'b', {}, stranger)])
    expect(results.map(codeOf)).toEqual(['accepted', 'accepted'])
  })

  it('a key that is any text is taken as it is', async () => {
    const keys = ['NULL', 'null', '{}', '"', '\\', 'a,b', "'; drop table runs; --", 'ünï', ' ']
    const rows = await Promise.all(keys.map((key) => keyed(key, 'a')))
    const results = await flush(rows)
    expect(results.map(codeOf)).toEqual(keys.map(() => 'accepted'))
    const stored = (
      await stage.db.owner.query<{ key: string }>('select key from idempotency_keys where subject = any($1)', [
        rows.map((row) => row.id),
      ])
    ).rows.map((row) => row.key)
    expect(stored.toSorted()).toEqual(keys.toSorted())
  })

  it('a key that was refused with its row is free again', async () => {
    const row = await keyed('k7', 'a')
    const queueId = row.queueId
    row.queueId = uuidv7(Date.now())
    expect((await flush([row])).map(codeOf)).toEqual(['not-found'])
    expect((await flush([{ ...row, queueId }])).map(codeOf)).toEqual(['accepted'])
  })
})

describe('a batch', () => {
  it('tells one event and one audit line, which count what was written', async () => {
    const tenant = await createTenant(stage.db)
    const own = testCtx(stage.db, tenant, { requestId: 'req "1"' })
    const first = await prepare({ idempotencyKey: 'b', fingerprint: print('a') }, own)
    await flush([first])
    const rows = await Promise.all(Array.from({ length: 30 }, () => prepare({}, own)))
    const results = await flush([...rows, { ...first, id: uuidv7(Date.now()) }], true)
    expect(results.filter((result) => result.outcome === 'accepted')).toHaveLength(30)
    expect(results[30]?.outcome).toBe('replayed')
    const events = await stage.db.owner.query(
      "select type, subject, data from events where tenant_id = $1 and type like 'run%'",
      [tenant.tenantId],
    )
    expect(events.rows.slice(1)).toEqual([{ type: 'runs.created', subject: null, data: { count: 30 } }])
    const lines = await stage.db.owner.query(
      "select action, data, request_id from audit_entries where tenant_id = $1 and action like 'run.%'",
      [tenant.tenantId],
    )
    expect(lines.rows.slice(1)).toEqual([
      { action: 'run.create-batch', data: { count: 30, digest: 'digest' }, request_id: 'req "1"' },
    ])
  })

  it('one in which nothing is new tells nothing', async () => {
    const tenant = await createTenant(stage.db)
    const own = testCtx(stage.db, tenant)
    const row = await prepare({ idempotencyKey: 'b', fingerprint: print('a') }, own)
    await flush([row], true)
    const told = () =>
      stage.value<number>(
        "select count(*)::int as value from events where tenant_id = $1 and type = 'runs.created'",
        tenant.tenantId,
      )
    expect(await told()).toBe(1)
    await flush([{ ...row, id: uuidv7(Date.now()) }], true)
    expect(await told()).toBe(1)
  })
})

describe('the database away', () => {
  it('is said as such, and nothing was written', async () => {
    const { default: pg } = await import('pg')
    const nowhere = new pg.Pool({ connectionString: 'postgres://127.0.0.1:1/none' })
    await expect(acceptRuns({ ...stage.intake, pool: nowhere }, [await prepare()], false)).rejects.toMatchObject({
      code: 'dependency-unavailable',
    })
    await nowhere.end()
  })
})
