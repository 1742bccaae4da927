import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { getRun, listAttempts } from '../../src/run/get.ts'
import { rescueRuns, returnQueued } from '../../src/run/rescue.ts'
import { retryPolicyValue, toRetryPolicy } from '../../src/run/retry-policy.ts'
import { createStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())

const rescue = (limit = 1_000) => rescueRuns(stage.db.engine, 1, limit)
const noRetry = toRetryPolicy(retryPolicyValue.parse({ limit: 0 }))

describe('rescuing', () => {
  it('leaves alone what is held in time', async () => {
    await stage.running(3)
    await stage.accept({})
    await stage.admit()
    expect(await rescue()).toEqual({ requeued: 0, retried: 0, failed: 0 })
    await stage.expireLeases()
    await rescue()
    await stage.db.owner.query('delete from ready')
  })

  it('a queued run that nobody claimed waits again, no attempt spent, and the lost parcel claims nothing any more', async () => {
    const [run] = await stage.accept({})
    const parcel = await stage.admit()
    await stage.expireLeases()
    expect(await rescue()).toEqual({ requeued: 1, retried: 0, failed: 0 })
    expect(await getRun(stage.ctx, run?.id ?? '')).toMatchObject({ status: 'ready', attempt: 0 })
    const again = await stage.admit()
    expect(await stage.claim(parcel)).toEqual([])
    expect(await stage.claim(again)).toMatchObject([{ id: run?.id, attempt: 1, fence: 2 }])
    expect(await stage.eventsOf(run?.id ?? '')).toEqual(['run.created', 'run.rescued'])
    expect(
      await stage.value("select data as value from events where subject = $1 and type = 'run.rescued'", run?.id),
    ).toEqual({ error: 'carrier-lost', attempt: 0 })
    await stage.expireLeases()
    await rescue()
    await stage.db.owner.query('delete from ready')
  })

  it('a running run whose executor fell silent is tried again, and the lost attempt counts', async () => {
    const [run] = await stage.running(1)
    await stage.expireLeases()
    expect(await rescue()).toEqual({ requeued: 0, retried: 1, failed: 0 })
    expect(await getRun(stage.ctx, run?.id ?? '')).toMatchObject({ status: 'ready', attempt: 1 })
    expect(await listAttempts(stage.ctx, run?.id ?? '')).toMatchObject([
      { attempt: 1, status: 'failed', error: 'lease-lost' },
    ])
    const [again] = await stage.claim(await stage.admit())
    expect(again).toMatchObject({ attempt: 2, fence: 2 })
    await stage.end(again === undefined ? [] : [again])
  })

  it('on its last attempt it fails as lease-lost, once', async () => {
    const [run] = await stage.running(1, { retry: noRetry })
    await stage.expireLeases()
    expect(await rescue()).toEqual({ requeued: 0, retried: 0, failed: 1 })
    expect(await rescue()).toEqual({ requeued: 0, retried: 0, failed: 0 })
    expect(await getRun(stage.ctx, run?.id ?? '')).toMatchObject({ status: 'failed', attempt: 1, error: 'lease-lost' })
    expect(await stage.eventsOf(run?.id ?? '')).toEqual(['run.created', 'run.failed'])
    expect(run === undefined ? 1 : (await stage.end([run])).size).toBe(0)
    expect(await stage.whereIs(run?.id ?? '')).toEqual(['failed'])
  })

  it('ten reapers at once rescue each run once', async () => {
    const runs = await stage.running(200)
    await stage.expireLeases()
    const rescued = await Promise.all(Array.from({ length: 10 }, () => rescue(50)))
    let total = rescued.reduce((sum, each) => sum + each.retried, 0)
    for (;;) {
      const { retried } = await rescue(50)
      if (retried === 0) break
      total += retried
    }
    expect(total).toBe(200)
    for (const run of runs.slice(0, 20)) expect(await stage.eventsOf(run.id)).toEqual(['run.created', 'run.rescued'])
    expect(await stage.value('select count(*)::int as value from ready')).toBe(200)
    await stage.db.owner.query('delete from ready')
  })

  it('a run that is being recorded or renewed at that moment is passed over', async () => {
    const [run] = await stage.running(1)
    await stage.expireLeases()
    const client = await stage.db.owner.connect()
    await client.query('begin')
    await client.query("update held set lease_until = clock_timestamp() + interval '15 seconds'")
    expect(await rescue()).toEqual({ requeued: 0, retried: 0, failed: 0 })
    await client.query('commit')
    client.release()
    expect(await rescue()).toEqual({ requeued: 0, retried: 0, failed: 0 })
    expect(await stage.end(run === undefined ? [] : [run])).toEqual(new Set([run?.id]))
  })
})

describe('returning what could not be carried', () => {
  it('puts queued runs back without an attempt, and leaves claimed ones', async () => {
    await stage.accept({}, {}, {})
    const parcel = await stage.admit()
    const [claimed] = await stage.claim(parcel.slice(0, 1))
    expect(await returnQueued(stage.db.engine, 1, parcel)).toBe(2)
    expect(await stage.whereIs(claimed?.id ?? '')).toEqual(['running'])
    expect(await stage.claim(parcel)).toEqual([])
    expect(await stage.claim(await stage.admit())).toMatchObject([
      { attempt: 1, fence: 2 },
      { attempt: 1, fence: 2 },
    ])
  })
})
