import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createJob } from '../../src/job/create.ts'
import { uuidTimeMs } from '../../src/kernel/ids.ts'
import { acceptRuns } from '../../src/run/accept.ts'
import { cancelRun } from '../../src/run/cancel.ts'
import { getRun } from '../../src/run/get.ts'
import { listRuns } from '../../src/run/list.ts'
import { prepareRun } from '../../src/run/prepare.ts'
import { type Run, runSources, runStatuses } from '../../src/run/run.ts'
import type { RunFilter } from '../../src/run/run-filter.ts'
import { prepareJobRun, prepareReplay } from '../../src/run/trigger.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { sampleJob } from '../../src/testing/job-samples.ts'
import { createStage, type Stage, target } from './stage.ts'

let stage: Stage
const all: Run[] = []
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
  await fill()
})
afterAll(() => stage.db.close())

/** Runs in every state, of two jobs and none, in three queues, from every source. */
async function fill(): Promise<void> {
  const one = await createJob(stage.ctx, sampleJob({ tags: ['nightly', 'paid'] }))
  const other = await createJob(stage.ctx, sampleJob({ queue: 'b', tags: ['nightly'] }))
  const ids: string[] = []
  const note = (runs: Run[]): Run[] => {
    ids.push(...runs.map((run) => run.id))
    return runs
  }
  const begin = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index++) {
      const prepared = [
        await prepareRun(stage.ctx, { target }),
        await prepareRun(stage.ctx, {
          target,
          queue: 'b',
          tags: ['paid'],
          metadata: { customer: 'acme', part: index },
        }),
        await prepareJobRun(stage.ctx, one.id, { tags: ['own'], metadata: { customer: 'acme', isBig: true } }),
        await prepareJobRun(stage.ctx, other.id, {}),
      ]
      const results = await acceptRuns(stage.intake, prepared, false)
      note(results.map((result) => ('run' in result ? result.run : undefined)).filter((run) => run !== undefined))
    }
  }
  await begin(4)
  const claimed = await stage.claim(await stage.admit())
  await stage.end(claimed.slice(0, 6))
  await stage.end(claimed.slice(6, 11), 'failed')
  await stage.retry(claimed.slice(11, 13), 3_600_000)
  for (const run of claimed.slice(13, 15)) await cancelRun(stage.ctx, run.id)
  const replays = await Promise.all(claimed.slice(0, 3).map((run) => prepareReplay(stage.ctx, run.id, {})))
  note(
    (await acceptRuns(stage.intake, replays, false))
      .map((result) => ('run' in result ? result.run : undefined))
      .filter((run) => run !== undefined),
  )
  await begin(1)
  await stage.admit()
  await begin(2)
  note(
    await stage.accept(...Array.from({ length: 3 }, () => ({ dueAt: new Date(Date.now() + 86_400_000), queue: 'c' }))),
  )
  // The rules that end a run as expired come later; the list knows the state already.
  const last = (await stage.claim(await stage.admit({ capacity: 9 }))).slice(0, 1)
  await stage.end(last, 'failed')
  await stage.db.owner.query('update runs set state = 7 where id = any($1)', [last.map((run) => run.id)])
  const stranger = testCtx(stage.db, await createTenant(stage.db))
  await stage.acceptAs(stranger, {}, {})
  for (const id of ids) all.push(await getRun(stage.ctx, id))
  all.sort((a, b) => (a.id < b.id ? 1 : -1))
}

/** All pages; each looks at so many runs at most. */
async function pages(filter: RunFilter, limit: number, looked?: number): Promise<Run[]> {
  const found: Run[] = []
  let cursor: string | undefined
  for (let page = 0; page < 10_000; page++) {
    const { items, nextCursor, lookedTo } = await listRuns(stage.ctx, filter, { limit, cursor }, looked)
    expect(items.length).toBeLessThanOrEqual(limit)
    // A page that is not full is the last one, or says how far it looked.
    expect(lookedTo !== null).toBe(nextCursor !== null && items.length < limit)
    for (const run of items) expect(run.createdAt.getTime() + 1_000).toBeGreaterThan(lookedTo?.getTime() ?? 0)
    found.push(...items)
    if (nextCursor === null) return found
    expect(nextCursor).not.toBe(cursor)
    cursor = nextCursor
  }
  throw new Error('the list does not end')
}

const expected = ({ status, jobId, queueId, source, tags, metadata, createdFrom, createdTo }: RunFilter): string[] =>
  all
    .filter(
      (run) =>
        (status === undefined || status.length === 0 || status.includes(run.status)) &&
        (jobId === undefined || run.jobId === jobId) &&
        (queueId === undefined || run.queueId === queueId) &&
        (source === undefined || run.source === source) &&
        (tags ?? []).every((tag) => run.tags.includes(tag)) &&
        (metadata ?? []).every(({ name, value }) => String(run.metadata[name] ?? '') === value) &&
        (createdFrom === undefined || run.createdAt >= createdFrom) &&
        (createdTo === undefined || run.createdAt < createdTo),
    )
    .map((run) => run.id)

describe('filters', () => {
  it('there is a run in every state, so that what follows means something', () => {
    expect(new Set(all.map((run) => run.status)).size).toBeGreaterThanOrEqual(8)
    expect(new Set(all.map((run) => run.source))).toEqual(new Set(['api', 'manual', 'replay']))
  })

  it('without any, all runs of the project come, newest first, as they stand', async () => {
    expect(await pages({}, 200)).toEqual(all)
  })

  it('each state by itself', async () => {
    for (const status of runStatuses)
      expect(
        (await pages({ status: [status] }, 3)).map((run) => run.id),
        status,
      ).toEqual(expected({ status: [status] }))
  })

  it('any combination, at any page size, however few runs are looked at for one page', async () => {
    const optional = <T>(values: readonly T[]) => fc.option(fc.constantFrom(...values), { nil: undefined, freq: 2 })
    const filters = fc.record({
      status: fc.option(fc.uniqueArray(fc.constantFrom(...runStatuses), { maxLength: 4 }), { nil: undefined, freq: 3 }),
      jobId: optional([...new Set(all.map((run) => run.jobId).filter((id) => id !== null))]),
      queueId: optional([...new Set(all.map((run) => run.queueId))]),
      source: optional(runSources),
      tags: optional([['nightly'], ['paid'], ['nightly', 'own'], ['own'], ['none']]),
      metadata: optional(
        [{ customer: 'acme' }, { part: '1' }, { isBig: 'true', customer: 'acme' }, { customer: 'none' }].map((facts) =>
          Object.entries(facts).map(([name, value]) => ({ name, value })),
        ),
      ),
    })
    const looks = fc.constantFrom(3, 10, 60, undefined)
    await fc.assert(
      fc.asyncProperty(filters, fc.integer({ min: 1, max: 9 }), looks, async (filter, limit, looked) => {
        expect((await pages(filter, limit, looked)).map((run) => run.id)).toEqual(expected(filter))
      }),
      { numRuns: 150 },
    )
  })

  it('what no index has is looked for a stretch at a time, and the page says how far', async () => {
    const queueId = all.find((run) => run.queueName === 'c')?.queueId
    const last = all.at(9)
    const page = await listRuns(stage.ctx, { queueId, source: 'manual' }, { limit: 5 }, 10)
    expect(page).toMatchObject({ items: [], lookedTo: new Date(uuidTimeMs(last?.id ?? '')) })
    const { items } = await listRuns(stage.ctx, {}, { limit: 1, cursor: page.nextCursor ?? '' })
    expect(items).toEqual(all.slice(10, 11))
  })

  it('a span of time takes its beginning and leaves its end', async () => {
    const [newest, oldest] = [all[4]?.createdAt, all.at(-5)?.createdAt]
    for (const filter of [{ createdFrom: oldest }, { createdTo: newest }, { createdFrom: oldest, createdTo: newest }]) {
      const span = {
        createdFrom: filter.createdFrom ?? undefined,
        createdTo: 'createdTo' in filter ? filter.createdTo : undefined,
      }
      expect((await pages(span, 5)).map((run) => run.id)).toEqual(expected(span))
    }
    expect(await pages({ createdFrom: new Date(8.64e15) }, 5)).toEqual([])
    expect(await pages({ createdTo: new Date(-8.64e15) }, 5)).toEqual([])
    expect(await pages({ createdFrom: new Date(-8.64e15), createdTo: new Date(8.64e15) }, 200)).toHaveLength(all.length)
  })

  it('takes runs:read, and a cursor of its own', async () => {
    const read = async (): Promise<unknown> =>
      listRuns(testCtx(stage.db, stage.tenant, { scopes: ['jobs:read'] }), {}, { limit: 1 })
    await expect(read()).rejects.toMatchObject({ code: 'forbidden' })
    for (const cursor of ['x', '', 'AAAA', `${'A'.repeat(22)}=`, '../../etc/passwd']) {
      await expect(listRuns(stage.ctx, {}, { limit: 1, cursor })).rejects.toMatchObject({ code: 'malformed-request' })
    }
  })
})

describe('paging', () => {
  it('ten thousand runs of one transaction come exactly once each, in pages of any size, while others are added', async () => {
    const tenant = await createTenant(stage.db)
    const ctx = testCtx(stage.db, tenant)
    const [first] = await stage.acceptAs(ctx, { dueAt: new Date(Date.now() + 86_400_000) })
    const copy = (table: string, columns: string): string =>
      `insert into ${table} (id, ${columns}) select c.id, ${columns} from ${table}, copies c where ${table}.id = $1`
    const client = await stage.db.owner.connect()
    await client.query('begin')
    await client.query('create temp table copies on commit drop as select uuidv7() as id from generate_series(1, 9999)')
    await client.query(
      copy('inputs', 'tenant_id, project_id, keep_week, created_at, due_at, queue_id, pool, priority, source'),
      [first?.id],
    )
    await client.query(
      copy('due', 'pool, due_at, tenant_id, project_id, queue_id, priority, attempts_max, keep_week'),
      [first?.id],
    )
    await client.query('commit')
    client.release()
    const there = await stage.value<string[]>(
      'select array_agg(id::text order by id desc) as value from due where tenant_id = $1',
      ctx.tenantId,
    )
    expect(there).toHaveLength(10_000)
    const seen: string[] = []
    const added = new Set<string>()
    let cursor: string | undefined
    for (let page = 0; ; page++) {
      if (page % 5 === 0) for (const run of await stage.acceptAs(ctx, {}, {})) added.add(run.id)
      const { items, nextCursor } = await listRuns(ctx, {}, { limit: page < 60 ? 7 : 150 + (page % 50), cursor })
      seen.push(...items.map((run) => run.id))
      if (nextCursor === null) break
      cursor = nextCursor
    }
    expect(seen.filter((id) => !added.has(id))).toEqual(there)
    expect(added.size).toBeGreaterThan(40)
  }, 90_000)

  it('O-44: runs less than a millisecond apart are not lost between pages', async () => {
    const ctx = testCtx(stage.db, await createTenant(stage.db))
    const rows = await Promise.all(Array.from({ length: 3 }, () => prepareRun(ctx, { target })))
    await acceptRuns(stage.intake, rows, false)
    await stage.db.owner.query(
      "update inputs set created_at = created_at + (random() * 100)::int * interval '1 microsecond' where tenant_id = $1",
      [ctx.tenantId],
    )
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await listRuns(ctx, {}, { limit: 1, cursor })
      seen.push(...page.items.map((run) => run.id))
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined)
    expect(seen).toEqual(
      rows
        .map((row) => row.id)
        .toSorted()
        .toReversed(),
    )
  })
})
