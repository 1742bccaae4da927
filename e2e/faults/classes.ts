import { randomUUID } from 'node:crypto'
import { percentile } from '../bench/statistics.ts'
import { sleep, waitFor } from '../wait.ts'
import { type AcceptedRun, assertSound, type Evidence, examine, type FinalRun } from './checker.ts'
import { eventsOf, readAll, untilEnded } from './evidence.ts'
import { ensure, type Row } from './row.ts'
import { startTcpProxy } from './tcp-proxy.ts'
import type { World } from './world.ts'

/** What critical runs are promised where the machine is their own. */
const waitP95Ms = 500
const batch = 500
/** Of the queues: no run waits for its own. */
const concurrency = 100_000
/** Hosts that the flood calls: together they have a socket for every slot. */
const hostCount = 8
/** Critical runs at once: more than slots are kept free for them, fewer than are reserved. */
const burst = 60
const burstEveryMs = 1_500
/** Critical runs a second beside them, in turn to a host of their own and to those of the flood. */
const perSecond = 10

interface Wave {
  queue: string
  url(index: number): string
}

export const row: Row = {
  title: 'critical runs beside a flood of bulk runs wait for nobody, and what they put back comes again',
  async run(world) {
    const { bulk, critical } = { bulk: `bulk-${randomUUID()}`, critical: `critical-${randomUUID()}` }
    const own = world.receiver.url(critical, 'ok')
    const proxies = await Promise.all(
      Array.from({ length: hostCount }, () => startTcpProxy({ host: '127.0.0.1', port: Number(new URL(own).port) })),
    )
    const through = (index: number, url: string): string =>
      Object.assign(new URL(url), { port: proxies[index % hostCount]?.port }).href
    try {
      await world.api.ask('POST', '/v1/queues', { name: bulk, class: 'bulk', preemptible: true, concurrency })
      await world.api.ask('POST', '/v1/queues', { name: critical, class: 'critical', concurrency })
      const count = world.profile.pick(1_200, 20_000)
      await world.api.ask('POST', `/v1/queues/${bulk}/pause`, { reason: 'until all of it is there' })
      const flooded = await accept(world, count, {
        queue: bulk,
        // None ends together with others.
        url: (index) => through(index, world.receiver.url(bulk, `slow/${1_000 + ((index * 619) % 2_000)}`)),
      })
      await world.api.ask('POST', `/v1/queues/${bulk}/resume`)
      const calls = () => world.receiver.count(bulk)
      await waitFor('the flood to fill the pool', async () => (await calls()) > 400, { timeoutMs: 60_000 })

      const isOver = async () => (await calls()) > count * 0.8
      const urgent = await Promise.all([
        sendBursts(world, isOver, { queue: critical, url: () => world.receiver.url(critical, 'slow/100') }),
        sendStream(world, isOver, {
          queue: critical,
          url: (index) => (index % 2 === 0 ? own : through(index >> 1, own)),
        }),
      ])
      const [ofFlood, ofUrgent] = await Promise.all([
        settle(world, bulk, flooded),
        settle(world, critical, urgent.flat()),
      ])
      const events = await countEvents(world, [bulk, critical])
      const waits = judge(ofFlood, ofUrgent, events)
      const [p50, p95] = [percentile(waits, 50), percentile(waits, 95)]
      const told =
        `${waits.length} critical runs waited ${p50.toFixed(0)} ms (p50), ${p95.toFixed(0)} ms (p95); of ${count} bulk runs ` +
        `${events.putBack} were put back, ${ofFlood.requests.length - count} in the middle of their call`
      console.log(`      ${told}`)
      if (world.profile.name === 'bench') ensure(p95 < waitP95Ms, told)
    } finally {
      await Promise.all(proxies.map((proxy) => proxy.close()))
      for (const name of [bulk, critical]) {
        await world.receiver.forget(name)
        // The rows that follow know no classes.
        await world.api.send('PATCH', `/v1/queues/${name}`, { class: 'standard', preemptible: false })
      }
    }
  },
}

/** Runs that are due at once. */
async function accept(world: World, count: number, { queue, url }: Wave): Promise<AcceptedRun[]> {
  const accepted: AcceptedRun[] = []
  while (accepted.length < count) {
    const made = accepted.length
    const runs = Array.from({ length: Math.min(batch, count - made) }, (_, index) => ({
      target: { type: 'http', url: url(made + index) },
      queue,
    }))
    const { data } = await world.api.ask<{ data: { id: string; dueAt: string }[] }>('POST', '/v1/runs/batch', { runs })
    accepted.push(...data.map(({ id, dueAt }) => ({ id, dueAtMs: Date.parse(dueAt) })))
  }
  return accepted
}

async function sendBursts(world: World, isOver: () => Promise<boolean>, wave: Wave): Promise<AcceptedRun[]> {
  const accepted: AcceptedRun[] = []
  do {
    accepted.push(...(await accept(world, burst, wave)))
    await sleep(burstEveryMs)
  } while (!(await isOver()))
  return accepted
}

async function sendStream(world: World, isOver: () => Promise<boolean>, { queue, url }: Wave): Promise<AcceptedRun[]> {
  const accepted: AcceptedRun[] = []
  do {
    for (let second = 0; second < perSecond; second++) {
      accepted.push(...(await accept(world, 1, { queue, url: () => url(accepted.length) })))
      await sleep(1_000 / perSecond)
    }
  } while (!(await isOver()))
  return accepted
}

/** What came of the runs of a queue, once all of them have ended; the events of those that were called more than once. */
async function settle(world: World, queue: string, accepted: readonly AcceptedRun[]): Promise<Evidence> {
  await untilEnded(world, queue, world.profile.pick(60_000, 300_000))
  const requests = await world.receiver.requests(queue)
  const calls = Map.groupBy(requests, ({ run }) => run)
  const runs: FinalRun[] = []
  for (const { id, status } of await readAll<{ id: string; status: string }>(world, `/v1/runs?queue=${queue}`))
    runs.push({ id, status, events: (calls.get(id)?.length ?? 0) > 1 ? await eventsOf(world, id) : [] })
  return { accepted, runs, requests }
}

/** How many of the runs of queues were told to have ended, and how often runs were told to have been put back. */
const countEvents = (world: World, queues: readonly string[]): Promise<{ ends: number; putBack: number }> =>
  world.withDatabase(async (client) => {
    const { rows } = await client.query<{ ends: number; putBack: number }>(
      `select count(*) filter (where e.type <> 'run.preempted')::int as ends,
         count(*) filter (where e.type = 'run.preempted')::int as "putBack"
       from queues q join runs r on r.tenant_id = q.tenant_id and r.queue_id = q.id
       join events e on e.tenant_id = r.tenant_id and e.subject = r.id
       where q.name = any($1) and e.type in ('run.succeeded', 'run.failed', 'run.cancelled', 'run.expired', 'run.preempted')`,
      [queues],
    )
    return rows[0] ?? { ends: 0, putBack: 0 }
  })

/** Throws unless nothing was lost, doubled, early, or called again without having been put back. */
function judge(flood: Evidence, urgent: Evidence, told: { ends: number; putBack: number }): number[] {
  const { latenessMs, ...findings } = examine(urgent)
  assertSound({ latenessMs, ...findings })
  assertSound(examine(flood))
  const runs = [...flood.runs, ...urgent.runs]
  const failed = runs.filter(({ status }) => status !== 'succeeded')
  ensure(failed.length === 0, `${failed.length} runs did not succeed`)
  ensure(told.ends === runs.length, `${told.ends} ends were told of ${runs.length} runs`)
  ensure(urgent.requests.length === urgent.accepted.length, 'a critical run was called more than once')
  const later = [...flood.requests, ...urgent.requests].filter(({ attempt }) => attempt !== 1)
  ensure(later.length === 0, `${later.length} calls were a second attempt: being put back spent one`)
  const calls = Map.groupBy(flood.requests, ({ run }) => run)
  const unexplained = flood.runs.filter(
    ({ id, events }) => (calls.get(id)?.length ?? 0) > 1 + events.filter((event) => event === 'run.preempted').length,
  )
  ensure(unexplained.length === 0, `${unexplained.length} bulk runs were called again without having been put back`)
  ensure(told.putBack > 0, 'no bulk run was put back: the test saw nothing')
  return latenessMs
}
