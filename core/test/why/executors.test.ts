import { describe, expect, it } from 'vitest'
import { usualShares } from '../../src/flow/classes.ts'
import { createQueue, updateQueue } from '../../src/flow/queues.ts'
import { admitByClass } from '../../src/run/admit-by-class.ts'
import { codesOf, setWhyStage } from './stage.ts'

const look = setWhyStage('executors')

describe('a run', () => {
  it('without an executor alive says since when', async () => {
    const id = await look.one()
    await look.stage.db.owner.query("update executors set seen_at = clock_timestamp() - interval '1 minute'")
    const [reason] = (await look.whyRun(id)).reasons
    expect(reason?.code).toBe('no-executor')
    expect(reason?.evidence.since?.getTime()).toBeLessThan(Date.now() - 50_000)
  })

  it('that finds all executors busy says so', async () => {
    const id = await look.one()
    await look.announce(4)
    expect((await look.whyRun(id)).reasons).toMatchObject([{ code: 'pool-full', evidence: { limit: 4, used: 4 } }])
  })

  it('that waits beside slots that are kept for critical runs says so', async () => {
    const { id: alarms } = await createQueue(look.stage.ctx, { name: 'alarms', class: 'critical' })
    const id = await look.one()
    await look.announce(3)
    expect((await look.whyRun(id)).reasons).toMatchObject([
      { code: 'class-waits', evidence: { class: 'standard', limit: 4, used: 3 } },
    ])
    await updateQueue(look.stage.ctx, alarms, { class: 'standard' })
    expect((await look.whyRun(id)).reasons).toMatchObject([{ code: 'next-in-line' }])
  })

  it('that was put back for a critical one says so, beside what it waits for', async () => {
    const { id: alarms } = await createQueue(look.stage.ctx, { name: 'sirens', class: 'critical' })
    const { id: nightly } = await createQueue(look.stage.ctx, { name: 'nightly', class: 'bulk', preemptible: true })
    const divide = () =>
      admitByClass(look.stage.db.engine, {
        ...{ pool: 1, batch: 10, capacity: 8, aheadMs: 25, queuedSeconds: 5 },
        ...{ spare: 1, reserved: usualShares.reserved },
      })
    await look.stage.accept(...Array.from({ length: 7 }, () => ({ queue: 'nightly' })))
    await look.stage.claim((await divide()).others)
    await look.stage.accept({ queue: 'sirens' }, { queue: 'sirens' })
    const { preempted } = await divide()
    await look.announce()
    expect((await look.whyRun(preempted[0]?.id)).reasons).toMatchObject([
      { code: 'next-in-line' },
      { code: 'preempted', evidence: { queue: 'nightly', class: 'bulk' } },
    ])
    for (const id of [alarms, nightly]) await updateQueue(look.stage.ctx, id, { class: 'standard' })
  })

  it('with nothing in its way says how many come before it', async () => {
    const [, second] = await look.stage.accept({}, {})
    expect((await look.whyRun(second?.id)).reasons).toMatchObject([
      { code: 'next-in-line', evidence: { ahead: 1, queue: 'default' } },
    ])
  })

  it('with a slot is on its way, then performed', async () => {
    const id = await look.one()
    const admitted = await look.stage.admit()
    expect(codesOf(await look.whyRun(id))).toEqual(['on-its-way'])
    await look.stage.claim(admitted)
    expect(await look.whyRun(id)).toMatchObject({
      reasons: [{ code: 'running', evidence: { attempt: 1 } }],
      isWaiting: false,
    })
  })
})
