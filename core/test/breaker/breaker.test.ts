import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { holdRuns, releaseHeld } from '../../src/breaker/hold.ts'
import { getBreaker, listBreakers } from '../../src/breaker/list.ts'
import { closeBreaker, openBreaker } from '../../src/breaker/set-state.ts'
import { getBreakerSettings, updateBreakerSettings } from '../../src/breaker/settings.ts'
import { type HostFailure, reportProbe, tripBreaker } from '../../src/breaker/trip.ts'
import { createLimit } from '../../src/flow/limits.ts'
import { uuidv7 } from '../../src/kernel/ids.ts'
import { cancelRun } from '../../src/run/cancel.ts'
import type { Claimed } from '../../src/run/claim.ts'
import { getRun } from '../../src/run/get.ts'
import { explainRun } from '../../src/why/run.ts'
import { createStage, type Stage } from '../run/stage.ts'

const host = 'api.example.com'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())
beforeEach(async () => {
  await stage.db.owner.query(
    'truncate breakers, breaker_waits, breaker_settings, due, ready, held, events, audit_entries',
  )
  await stage.db.owner.query('delete from flow_limits')
})

const failure = (): HostFailure => ({
  id: uuidv7(Date.now()),
  tenantId: stage.tenant.tenantId,
  projectId: stage.tenant.projectId,
  host,
  failures: 20,
  error: 'http-status',
  httpStatus: 503,
  askedMs: null,
})
const trip = (): Promise<boolean> => tripBreaker(stage.db.engine, failure())
const ask = (runs: Claimed[], at = host): Promise<string[]> =>
  holdRuns(
    stage.db.engine,
    1,
    runs.map((lease) => ({ lease, host: at })),
  )
const release = (): Promise<number[]> => releaseHeld(stage.db.engine)
const report = (runId: string, isUp: boolean): Promise<void> =>
  reportProbe(stage.db.engine, {
    ...{ tenantId: stage.tenant.tenantId, host, runId, isUp },
    ...{ error: isUp ? null : 'timeout', httpStatus: null, askedMs: null },
  })
const theBreaker = async () => {
  const { items } = await listBreakers(stage.ctx, { all: true }, { limit: 10 })
  if (items[0] === undefined) throw new Error('there is no breaker')
  return items[0]
}
/** As if so much time had passed. */
const pass = (seconds: number): Promise<unknown> =>
  stage.db.owner.query(
    `update breakers set probe_at = probe_at - $1 * interval '1 second', since = since - $1 * interval '1 second',
       paced_at = paced_at - $1 * interval '1 second'`,
    [seconds],
  )
const breakerEvents = (): Promise<string[]> =>
  stage.value<string[]>("select array_agg(type order by xid, seq) as value from events where type like 'breaker.%'")

describe('an open breaker', () => {
  test('holds the runs of its host before an attempt is spent, and no other', async () => {
    const runs = (await stage.running(3)).toSorted((a, b) => a.dueAtMs - b.dueAtMs || (a.id < b.id ? -1 : 1))
    const [one, two, other] = runs as [Claimed, Claimed, Claimed]
    expect(await ask([one])).toEqual(['goes'])
    expect(await trip()).toBe(true)
    expect(await ask([one, two])).toEqual(['held', 'held'])
    expect(await ask([other], 'well.example.com')).toEqual(['goes'])
    const run = await getRun(stage.ctx, one.id)
    expect(run).toMatchObject({ status: 'ready', attempt: 0, dueAt: new Date(one.dueAtMs) })
    expect(await stage.eventsOf(one.id)).toEqual(['run.created', 'run.held'])
    expect(await stage.admit()).toEqual([])
    expect(await theBreaker()).toMatchObject({ host, state: 'open', held: 2, error: 'http-status', httpStatus: 503 })
    const why = await explainRun(stage.ctx, two.id)
    expect(why.reasons).toMatchObject([
      { code: 'breaker-open', evidence: { host, error: 'http-status', ahead: 1, at: (await theBreaker()).probeAt } },
    ])
  })

  test.each([
    ['the whole project', null],
    ['a key', 'method'],
  ])('holds runs that mind a limit of %s, and lets them go in their order', async (_, key) => {
    const none = { concurrency: 10, rate: null, backlog: null, cost: null }
    await createLimit(stage.ctx, { name: `limit of ${key}`, scope: { type: 'project' }, ...none, key })
    const runs = await stage.running(2)
    await trip()
    expect(await ask(runs)).toEqual(['held', 'held'])
    expect(await stage.admit()).toEqual([])
    await closeBreaker(stage.ctx, (await theBreaker()).id, null)
    await release()
    await pass(5)
    await release()
    expect(await stage.admit()).toHaveLength(2)
  })

  test('opens once, is told once, and a second opening changes nothing', async () => {
    expect(await trip()).toBe(true)
    const before = await theBreaker()
    expect(await trip()).toBe(false)
    expect(await theBreaker()).toEqual(before)
    expect(await breakerEvents()).toEqual(['breaker.opened'])
  })

  test('lets one run go as its probe, the one that was due first, and no second one meanwhile', async () => {
    const runs = await stage.running(3)
    await trip()
    await ask(runs)
    expect(await release()).toEqual([])
    await pass(2)
    expect(await release()).toEqual([1])
    expect(await release()).toEqual([])
    const admitted = await stage.admit()
    expect(admitted).toHaveLength(1)
    const probe = await stage.claim(admitted)
    expect(await ask(probe)).toEqual(['probes'])
    expect(await theBreaker()).toMatchObject({ state: 'half-open', probeRun: probe[0]?.id, held: 2 })
    expect(probe[0]).toMatchObject({ attempt: 1 })
  })

  test('waits longer after each probe that fails, and as long as the host asks', async () => {
    const runs = await stage.running(2)
    await trip()
    await ask(runs)
    await pass(2)
    await release()
    const [probe] = await stage.claim(await stage.admit())
    await report(probe?.id ?? '', false)
    const secondsLeft = (): Promise<number> =>
      stage.value<number>('select extract(epoch from probe_at - clock_timestamp())::float8 as value from breakers')
    expect(await theBreaker()).toMatchObject({ state: 'open', probesFailed: 1, error: 'timeout' })
    expect(await secondsLeft()).toBeGreaterThan(1.5)
    await report(runs[1]?.id ?? '', true)
    expect(await theBreaker()).toMatchObject({ state: 'open' })
    await stage.db.owner.query("update breakers set state = 'closed', closed_at = now()")
    await tripBreaker(stage.db.engine, { ...failure(), askedMs: 90_000 })
    expect(await secondsLeft()).toBeGreaterThan(80)
  })

  test('sends another probe when the last one vanished', async () => {
    const runs = await stage.running(3)
    await trip()
    await ask(runs)
    await pass(2)
    await release()
    const [first] = await stage.claim(await stage.admit())
    await cancelRun(stage.ctx, first?.id ?? '')
    expect(await release()).toEqual([1])
    const [second] = await stage.claim(await stage.admit())
    expect(second?.id).not.toBe(first?.id)
    await stage.retry(second === undefined ? [] : [second], 60_000)
    expect(await release()).toEqual([1])
  })

  test('makes the next run its probe when nothing is held, and closes when none comes for long', async () => {
    await trip()
    await pass(60)
    await release()
    const runs = await stage.running(1)
    expect(await ask(runs)).toEqual(['held'])
    expect(await release()).toEqual([1])
    const [probe] = await stage.claim(await stage.admit())
    await report(probe?.id ?? '', false)
    await pass(700)
    await release()
    expect(await theBreaker()).toMatchObject({ state: 'closed', probeAt: null })
  })
})

describe('a host that is back', () => {
  test('gets what was held in its order, faster and faster, and what is new only behind it', async () => {
    const count = 60
    const dueAt = (index: number): Date => new Date(Date.now() - 60_000 + 10 * index)
    await stage.accept(...Array.from({ length: count }, (_, index) => ({ dueAt: dueAt(index) })))
    const runs = await stage.claim(await stage.admit())
    await trip()
    await ask(runs.toReversed())
    await pass(2)
    await release()
    const [probe] = await stage.claim(await stage.admit())
    await report(probe?.id ?? '', true)
    expect(await theBreaker()).toMatchObject({ state: 'draining', held: count - 1 })
    const late = await stage.running(1)
    expect(await ask(late)).toEqual(['held'])
    const order: string[] = []
    const sizes: number[] = []
    while ((await theBreaker()).state === 'draining') {
      await pass(0.5)
      await release()
      const claimed = await stage.claim(await stage.admit())
      expect(new Set(await ask(claimed))).toEqual(new Set(claimed.length > 0 ? ['goes'] : []))
      sizes.push(claimed.length)
      order.push(...claimed.toSorted((a, b) => a.dueAtMs - b.dueAtMs).map(({ id }) => id))
    }
    const expected = [...runs.filter(({ id }) => id !== probe?.id), ...late].toSorted((a, b) => a.dueAtMs - b.dueAtMs)
    expect(order).toEqual(expected.map(({ id }) => id))
    expect(sizes[1]).toBeGreaterThan(sizes[0] ?? 0)
    expect(await breakerEvents()).toEqual(['breaker.opened', 'breaker.recovered', 'breaker.closed'])
    expect(await stage.value('select count(*)::int as value from ready where pool < 0')).toBe(0)
  })

  test('that fails again is left alone for longer, and what was let go meanwhile is held again', async () => {
    const runs = await stage.running(3)
    await trip()
    await ask(runs)
    await pass(2)
    await release()
    const [probe] = await stage.claim(await stage.admit())
    await report(probe?.id ?? '', true)
    await pass(0.2)
    await release()
    const openedAt = (await theBreaker()).openedAt
    expect(await trip()).toBe(true)
    expect(await theBreaker()).toMatchObject({ state: 'open', probesFailed: 1, openedAt })
    const again = await stage.claim(await stage.admit())
    expect(new Set(await ask(again))).toEqual(new Set(['held']))
    expect(await theBreaker()).toMatchObject({ held: 2 })
  })
})

describe('by hand', () => {
  test('a breaker stays open until it is closed by hand, and both are in the audit trail', async () => {
    const opened = await openBreaker(stage.ctx, { host, reason: 'They move.' })
    expect(opened).toMatchObject({ state: 'open', probeAt: null, reason: 'They move.' })
    const runs = await stage.running(2)
    await ask(runs)
    await pass(3_600)
    expect(await release()).toEqual([])
    expect((await explainRun(stage.ctx, runs[0]?.id ?? '')).reasons).toMatchObject([
      { code: 'breaker-open', evidence: { by: opened.openedBy, reason: 'They move.' } },
    ])
    expect(await closeBreaker(stage.ctx, opened.id, null)).toMatchObject({ state: 'draining' })
    await pass(1)
    expect(await release()).toEqual([1])
    expect(await stage.admit()).toHaveLength(2)
    await release()
    await pass(1)
    await release()
    expect(await getBreaker(stage.ctx, opened.id)).toMatchObject({ state: 'closed', held: 0 })
    const actions = await stage.value<string[]>(
      "select array_agg(action order by id) as value from audit_entries where action like 'breaker.%'",
    )
    expect(actions).toEqual(['breaker.open', 'breaker.close'])
  })

  test('a run that is cancelled while it is held is passed over', async () => {
    const runs = await stage.running(2)
    await trip()
    await ask(runs)
    const [first, second] = runs.toSorted((a, b) => a.dueAtMs - b.dueAtMs || (a.id < b.id ? -1 : 1))
    await cancelRun(stage.ctx, first?.id ?? '')
    expect(await theBreaker()).toMatchObject({ held: 1 })
    await pass(2)
    await release()
    expect(await theBreaker()).toMatchObject({ state: 'half-open', probeRun: second?.id })
  })

  test('breakers that are off never open, and what they held goes', async () => {
    expect(await getBreakerSettings(stage.ctx)).toMatchObject({ isEnabled: true, failures: 20, version: 0 })
    const runs = await stage.running(1)
    await trip()
    await ask(runs)
    const off = await updateBreakerSettings(stage.ctx, { isEnabled: false }, 0)
    expect(off).toMatchObject({ isEnabled: false, failures: 20, version: 1 })
    expect(await theBreaker()).toMatchObject({ state: 'draining' })
    await pass(1)
    await release()
    await pass(1)
    await release()
    expect(await theBreaker()).toMatchObject({ state: 'closed' })
    expect(await trip()).toBe(false)
    await expect(updateBreakerSettings(stage.ctx, { failures: 5 }, 0)).rejects.toMatchObject({
      code: 'precondition-failed',
    })
    expect(await updateBreakerSettings(stage.ctx, { failures: 5, isEnabled: true })).toMatchObject({
      failures: 5,
      version: 2,
    })
    expect(await trip()).toBe(true)
  })
})
