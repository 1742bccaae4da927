import type { StoredEvent } from '@meridian/core/event/event'
import { readRelayPosition } from '@meridian/core/event/relay'
import { eventStream } from '@meridian/core/run/wake'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Relay } from '../src/roles/relay.ts'
import { type Bench, createBench, log, targetOf } from './workers.ts'

let bench: Bench
beforeAll(async () => {
  bench = await createBench()
})
afterAll(() => bench.close())

const relay = () => new Relay(bench.db.engine, bench.publisher, bench.db.engineKeyRing, log)
const told = async (): Promise<StoredEvent[]> =>
  (await bench.publisher.xrange(eventStream, '-', '+')).flatMap(
    ([, fields]) => JSON.parse(fields[1] ?? '[]') as StoredEvent[],
  )
const drain = async (each: Relay): Promise<void> => {
  const before = await bench.publisher.xlen(eventStream)
  while ((await each.runOnce()) === 'more');
  if ((await bench.publisher.xlen(eventStream)) > before) await drain(each)
}
const accept = (count: number) =>
  bench.accept(
    ...Array.from({ length: count }, () => ({
      target: targetOf('http://127.0.0.1:1/'),
      dueAt: new Date(Date.now() + 86_400_000),
    })),
  )

describe('the relay', () => {
  it('tells every event in its order, an entry a batch, and goes on where it stood', async () => {
    const runs = await accept(30)
    await drain(relay())
    const first = (await told()).filter((event) => event.type === 'run.created')
    expect(new Set(first.map((event) => event.subject))).toEqual(new Set(runs.map((run) => run.id)))
    const more = await accept(5)
    await drain(relay())
    const all = (await told()).filter((event) => event.type === 'run.created')
    expect(new Set(all.slice(30).map((event) => event.subject))).toEqual(new Set(more.map((run) => run.id)))
    expect(new Set(all.map((event) => event.position)).size).toBe(35)
  })

  it('keeps the stream short: large batches leave few entries', async () => {
    await bench.db.owner.query(
      "insert into events (tenant_id, project_id, type) select $1, $2, 'job.updated' from generate_series(1, 70000)",
      [bench.tenant.tenantId, bench.tenant.projectId],
    )
    await drain(relay())
    expect(await bench.publisher.xlen(eventStream)).toBeLessThan(75)
    expect((await told()).length).toBeGreaterThanOrEqual(59_000)
  })

  it('waits while Redis is away, and moves nothing on', async () => {
    const away = bench.publisher.duplicate({ lazyConnect: true })
    const each = new Relay(bench.db.engine, away, bench.db.engineKeyRing, log)
    await accept(1)
    const before = await readRelayPosition(bench.db.engine, 'live')
    expect(await each.runOnce()).toEqual({ sleepMs: 200 })
    expect(await readRelayPosition(bench.db.engine, 'live')).toBe(before)
    away.disconnect()
    await drain(relay())
    expect(await readRelayPosition(bench.db.engine, 'live')).not.toBe(before)
  })
})
