import { randomUUID } from 'node:crypto'
import { Api } from '../api.ts'
import type { ReceivedRequest } from '../receiver.ts'
import { sleep, waitFor } from '../wait.ts'
import { type AcceptedRun, examine } from './checker.ts'
import { ensure, type Row } from './row.ts'
import type { World } from './world.ts'

/** What a neighbour is promised where the machine is its own. */
const waitP95Ms = 500
/** On any machine: the calls of the flood that came in between. More are on the way than this when nobody minds who is whose. */
const overtakenP95 = 2_000
const batch = 1_000
/** Runs a second of each neighbour. */
const perSecond = 5

export const row: Row = {
  title: 'a tenant that floods makes nobody wait, and gets all that is left',
  async run(world) {
    const label = `flood-${randomUUID()}`
    const flood = world.profile.pick(10_000, 100_000)
    const neighbours = await world.neighbours(world.profile.pick(2, 9))
    await world.api.ask('POST', '/v1/queues', { name: label, concurrency: 100_000 })
    await world.api.ask('POST', `/v1/queues/${label}/pause`, { reason: 'until all of it is there' })
    const flooded = await acceptFlood(world, label, flood)
    const floodCalls = () => world.receiver.count(label)
    await world.api.ask('POST', `/v1/queues/${label}/resume`)
    await waitFor('the flood to run', async () => (await floodCalls()) > flood / 20, { timeoutMs: 60_000 })

    const beside = await Promise.all(
      neighbours.map(async ({ apiKey }, index) => {
        const own = `${label}-${index}`
        const api = new Api(world.api.origin, apiKey, { connections: 4 })
        const accepted: AcceptedRun[] = []
        try {
          while ((await floodCalls()) < flood * 0.8) {
            const target = { type: 'http', url: world.receiver.url(own, 'ok') }
            const { id, dueAt } = await api.ask<{ id: string; dueAt: string }>('POST', '/v1/runs', { target })
            accepted.push({ id, dueAtMs: Date.parse(dueAt) })
            await sleep(1_000 / perSecond)
          }
        } finally {
          await api.close()
        }
        return { own, accepted }
      }),
    )
    await waitFor('the flood to be over', async () => (await floodCalls()) >= flood, {
      timeoutMs: 300_000,
      everyMs: 200,
    })

    const floodRequests = await world.receiver.requests(label)
    check('the flood', flooded, floodRequests)
    const arrivals = floodRequests.map(({ receivedAtMs }) => receivedAtMs)
    const waits: number[] = []
    const overtaken: number[] = []
    for (const { own, accepted } of beside) {
      const requests = await world.receiver.requests(own)
      check(own, accepted, requests)
      for (const { receivedAtMs, dueAt } of requests) {
        const dueAtMs = Date.parse(dueAt ?? '')
        waits.push(receivedAtMs - dueAtMs)
        overtaken.push(countBetween(arrivals, dueAtMs, receivedAtMs))
      }
      await world.receiver.forget(own)
    }
    await world.receiver.forget(label)
    ensure(waits.length >= neighbours.length, 'no neighbour ran while the flood did: the test saw nothing')
    const [p50, p95, passed] = [percentile(waits, 50), percentile(waits, 95), percentile(overtaken, 95)]
    const told = `${waits.length} runs waited ${p50} ms (p50), ${p95} ms (p95); ${passed} calls of the flood came in between (p95)`
    console.log(`      ${told}`)
    ensure(passed <= overtakenP95, told)
    if (world.profile.name === 'bench') {
      ensure(p95 < waitP95Ms, told)
      checkFlow(arrivals)
    }
  },
}

async function acceptFlood(world: World, queue: string, count: number): Promise<AcceptedRun[]> {
  const run = { target: { type: 'http', url: world.receiver.url(queue, 'ok') }, queue }
  const accepted: AcceptedRun[] = []
  for (let made = 0; made < count; made += batch) {
    const runs = Array.from({ length: batch }, () => run)
    const { data } = await world.api.ask<{ data: { id: string; dueAt: string }[] }>('POST', '/v1/runs/batch', { runs })
    accepted.push(...data.map(({ id, dueAt }) => ({ id, dueAtMs: Date.parse(dueAt) })))
  }
  return accepted
}

/** By the target's own log: each run was called, none twice, none before its time. */
function check(whose: string, accepted: readonly AcceptedRun[], requests: readonly ReceivedRequest[]): void {
  const runs = accepted.map(({ id }) => ({ id, status: 'succeeded', events: [] }))
  const { lost, early } = examine({ accepted, runs, requests })
  ensure(lost.length === 0, `${whose}: ${lost.length} runs were never called`)
  ensure(early.length === 0, `${whose}: ${early.length} calls came early`)
  ensure(requests.length === accepted.length, `${whose}: ${requests.length} calls of ${accepted.length} runs`)
}

/** All that is left is the flood's: in no second does it get less than a third of what it gets in the mean. */
function checkFlow(arrivals: readonly number[]): void {
  const first = arrivals[0] ?? 0
  const seconds = Math.floor(((arrivals.at(-1) ?? 0) - first) / 1_000)
  const counts = Array.from({ length: seconds }, (_, index) =>
    countBetween(arrivals, first + index * 1_000, first + (index + 1) * 1_000),
  )
  const mean = arrivals.length / Math.max(1, seconds)
  const least = Math.min(...counts)
  ensure(least > mean / 3, `in one second the flood got ${least} calls; in the mean ${Math.round(mean)}`)
}

/** Of ascending instants those in [from, until). */
const countBetween = (ascending: readonly number[], from: number, until: number): number =>
  ascending.filter((at) => at >= from && at < until).length

function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return Math.round(sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? Number.NaN)
}
