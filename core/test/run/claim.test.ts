import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { uuidv7 } from '../../src/kernel/ids.ts'
import type { Admitted } from '../../src/run/admit.ts'
import { type Claimed, claimRuns, handBack, readBlock, renewLeases } from '../../src/run/claim.ts'
import { getRun } from '../../src/run/get.ts'
import { decodeRequest } from '../../src/run/request-codec.ts'
import { itemAt, openBlock } from '../../src/secret/block.ts'
import { createStage, executorId, type Stage, target } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())

const bytesOf = ({ request }: Claimed): number => request?.block.bytes ?? 0

async function requestOf(run: Claimed): Promise<ReturnType<typeof decodeRequest>> {
  if (run.request === null) throw new Error('the run has no request of its own')
  const { block, offset } = run.request
  const sealed = await readBlock(stage.db.engine, run, block)
  return decodeRequest(
    itemAt(await openBlock(stage.db.engineKeyRing, { tenantId: run.tenantId, id: block.id, sealed }), offset),
  )
}

const admitted = async (count: number): Promise<Admitted[]> => {
  await stage.accept(...Array.from({ length: count }, () => ({})))
  return stage.admit()
}

describe('claiming', () => {
  it('a claimed run is running, its attempt is counted, and it carries what to do', async () => {
    const [parcel] = await admitted(1)
    if (parcel === undefined) throw new Error('nothing was admitted')
    const claim = await claimRuns(stage.db.engine, 1, executorId, [parcel])
    const [run] = claim.runs
    expect(run).toMatchObject({
      tenantId: stage.tenant.tenantId,
      id: parcel[2],
      fence: 1,
      attempt: 1,
      attemptsMax: 6,
      source: 'api',
      jobId: null,
    })
    expect(Math.abs(claim.nowMs - Date.now())).toBeLessThan(5_000)
    if (run === undefined) throw new Error('nothing was claimed')
    const request = await requestOf(run)
    expect(request).toMatchObject({ method: 'POST', url: target.url })
    expect(request.body?.toString()).toBe('{"a":1}')
    const now = await getRun(stage.ctx, parcel[2])
    expect(now).toMatchObject({ status: 'running', attempt: 1, fence: 1 })
    expect(now.startedAt).not.toBeNull()
  })

  it('the second claim of a parcel gets nothing, whoever makes it', async () => {
    const parcel = await admitted(20)
    expect(await stage.claim(parcel)).toHaveLength(20)
    expect(await stage.claim(parcel)).toEqual([])
    expect((await claimRuns(stage.db.engine, 1, uuidv7(Date.now()), parcel)).runs).toEqual([])
    expect(await stage.value('select count(*)::int as value from held where attempt <> 1')).toBe(0)
  })

  it("of ten executors that claim one parcel at once, each run is one's", async () => {
    const parcel = await admitted(100)
    const claims = await Promise.all(
      Array.from({ length: 10 }, () => claimRuns(stage.db.engine, 1, uuidv7(Date.now()), parcel)),
    )
    const ids = claims.flatMap((claim) => claim.runs.map((run) => run.id))
    expect(ids).toHaveLength(100)
    expect(new Set(ids).size).toBe(100)
  })

  it('an older fence claims nothing', async () => {
    const [parcel] = await admitted(1)
    if (parcel === undefined) throw new Error('nothing was admitted')
    const [tenant, queue, id, fence, due, week] = parcel
    expect(await stage.claim([[tenant, queue, id, fence - 1, due, week]])).toEqual([])
    expect(await stage.claim([[tenant, queue, id, fence + 1, due, week]])).toEqual([])
    expect(await stage.claim([parcel])).toHaveLength(1)
  })

  it('a parcel that names a run twice claims it once', async () => {
    const [parcel] = await admitted(1)
    if (parcel === undefined) throw new Error('nothing was admitted')
    expect(await stage.claim([parcel, parcel])).toHaveLength(1)
    expect(await stage.value('select attempt as value from held where id = $1', parcel[2])).toBe(1)
  })

  it('a large payload is not carried by the claim, and is there when it is asked for', async () => {
    const sizes = [60_000, 3_000_000]
    await stage.accept(...sizes.map((size) => ({ target: { ...target, body: 'x'.repeat(size) } })))
    const runs = (await stage.claim(await stage.admit())).toSorted((a, b) => bytesOf(a) - bytesOf(b))
    expect(runs.map((run) => run.request?.block.sealed === null)).toEqual([false, true])
    for (const [index, run] of runs.entries())
      expect((await requestOf(run)).body?.toString()).toBe('x'.repeat(sizes[index] ?? 0))
    const [, large] = runs
    if (large === undefined) throw new Error('nothing was claimed')
    expect(bytesOf(large)).toBeGreaterThan(3_000_000)
    await expect(
      readBlock(stage.db.engine, large, { id: uuidv7(Date.now()), bytes: 0, sealed: null, runs: 1 }),
    ).rejects.toThrow('gone')
  })

  it('requests that were accepted together come once, and each run finds its own', async () => {
    const sizes = Array.from({ length: 60 }, (_, index) => 1 + index * 31)
    await stage.accept(...sizes.map((size) => ({ target: { ...target, body: 'x'.repeat(size) } })))
    const runs = await stage.claim(await stage.admit())
    const blocks = new Set(runs.map((run) => run.request?.block))
    expect(blocks.size).toBeLessThan(10)
    expect(
      await stage.value(
        'select count(*)::int as value from input_blocks where id = any($1)',
        [...blocks].map((block) => block?.id),
      ),
    ).toBe(blocks.size)
    const found = await Promise.all(runs.map(async (run) => (await requestOf(run)).body?.length ?? 0))
    expect(found.toSorted((a, b) => a - b)).toEqual(sizes)
  })

  it('runs of one flush that are due weeks apart share no block', async () => {
    const weekMs = 7 * 86_400_000
    await stage.accept(...[0, 1, 2].map((week) => ({ dueAt: new Date(Date.now() + 60_000 + week * weekMs) })))
    const blocks = 'select count(distinct payload_block)::int as value from inputs where due_at > now() + $1::interval'
    expect(await stage.value(blocks, '6 days')).toBe(2)
  })
})

describe('leases', () => {
  it('a renewed lease lasts longer; one that is not held any more is not in the answer', async () => {
    const [kept, ended] = await stage.running(2)
    if (kept === undefined || ended === undefined) throw new Error('nothing is running')
    await stage.end([ended])
    const before = await stage.value<Date>('select lease_until as value from held where id = $1', kept.id)
    expect(await renewLeases(stage.db.engine, 1, [kept, ended, { ...kept, fence: 0 }], 60)).toEqual(new Set([kept.id]))
    const after = await stage.value<Date>('select lease_until as value from held where id = $1', kept.id)
    expect(after.getTime() - before.getTime()).toBeGreaterThan(40_000)
  })

  it('a row that somebody touches at that moment is still ours', async () => {
    const runs = await stage.running(3)
    const client = await stage.db.owner.connect()
    await client.query('begin')
    await client.query('update held set keep_week = keep_week where state = 3')
    const renewing = renewLeases(stage.db.engine, 1, runs)
    const handing = handBack(stage.db.engine, 1, runs.slice(0, 1))
    await waitForLock(2)
    await client.query('commit')
    client.release()
    const [renewed, back] = await Promise.all([renewing, handing])
    expect(back.size).toBe(1)
    expect(renewed.size).toBeGreaterThanOrEqual(2)
  })
})

const waitForLock = async (count: number): Promise<void> => {
  const waiting =
    "select count(*)::int as value from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
  while ((await stage.value<number>(waiting)) < count) await new Promise(setImmediate)
}

describe('handing back', () => {
  it('a run that was claimed but not begun waits again, its attempt not counted; the next claim has a higher fence', async () => {
    const [run] = await stage.running(1)
    if (run === undefined) throw new Error('nothing is running')
    expect(await handBack(stage.db.engine, 1, [run])).toEqual(new Set([run.id]))
    expect(await stage.whereIs(run.id)).toEqual(['ready'])
    expect(await stage.end([run])).toEqual(new Set())
    const [again] = await stage.claim(await stage.admit())
    expect(again).toMatchObject({ id: run.id, attempt: 1, fence: 2 })
  })

  it('what is queued, stale or ended is not handed back', async () => {
    const [parcel] = await admitted(1)
    if (parcel === undefined) throw new Error('nothing was admitted')
    const [tenantId, queueId, id, fence] = parcel
    expect(await handBack(stage.db.engine, 1, [{ tenantId, queueId, id, fence }])).toEqual(new Set())
    await stage.claim([parcel])
    expect(await handBack(stage.db.engine, 1, [{ tenantId, queueId, id, fence: fence - 1 }])).toEqual(new Set())
    expect(await stage.whereIs(id)).toEqual(['running'])
  })
})
