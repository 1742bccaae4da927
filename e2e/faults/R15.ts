import { randomUUID } from 'node:crypto'
import { Api } from '../api.ts'
import { percentile } from '../bench/statistics.ts'
import { sleep, waitFor } from '../wait.ts'
import { setCap } from './cap.ts'
import { assertSound, type Findings } from './checker.ts'
import { settle } from './evidence.ts'
import { startLoad } from './load.ts'
import { ensure, type Row } from './row.ts'
import type { World } from './world.ts'

const batch = 500
const callMs = 50

export const row: Row = {
  title: 'a tenant floods: it gets no more than its cap, and its neighbours run as if it were not there',
  async run(world) {
    const [noisy, ...quiet] = await world.neighbours(world.profile.pick(2, 9))
    if (noisy === undefined) throw new Error('there is no tenant to flood')
    const cap = world.profile.pick(10, 200)
    const before = await setCap(world, noisy.tenantId, cap)
    const flooding = new Api(world.stack.urls.api ?? '', noisy.apiKey)
    const apis = [world.stack, ...quiet].map(({ apiKey }) => new Api(world.stack.urls.api ?? '', apiKey))
    try {
      const label = `flood-${randomUUID()}`
      const count = world.profile.pick(2 * batch, 200 * batch)
      const target = { type: 'http', url: world.receiver.url(label, `slow/${callMs}`) }
      for (let made = 0; made < count; made += batch)
        await flooding.ask('POST', '/v1/runs/batch', { runs: Array.from({ length: batch }, () => ({ target })) })
      const most = watchSlots(world, noisy.tenantId)
      const findings = await neighboursAtWork(world, apis)
      const isOver = (await world.receiver.count(label)) >= count
      ensure(!isOver, 'the flood was over before its neighbours were: the test saw nothing')
      findings.forEach(assertSound)
      await waitFor('the flood to be over', async () => (await world.receiver.count(label)) >= count, {
        timeoutMs: world.profile.pick(60_000, 600_000),
      })
      const slots = await most()
      ensure(slots <= cap, `the flood had ${slots} slots, more than its ${cap}`)
      const calls = await world.receiver.count(label)
      ensure(calls === count, `${calls} calls for ${count} runs of the flood`)
      if (world.profile.name === 'bench') assertPrompt(findings)
    } finally {
      await setCap(world, noisy.tenantId, before)
      await Promise.all([flooding, ...apis].map((api) => api.close()))
    }
  },
}

/** A steady load of each neighbour, from its first create to its last end. */
const neighboursAtWork = (world: World, apis: readonly Api[]): Promise<Findings[]> =>
  Promise.all(
    apis.map(async (api) => {
      const load = await startLoad(world, { rate: 10, send: api.send.bind(api), behaviour: 'ok' })
      await sleep(world.profile.pick(1_500, 60_000))
      await load.stop()
      return settle({ api, receiver: world.receiver }, load, 60_000)
    }),
  )

/** Looks again and again at how many slots a tenant has; the answer of what is returned is the most there were. */
function watchSlots(world: World, tenantId: string): () => Promise<number> {
  let isOver = false
  const watching = world.withDatabase(async (client) => {
    let most = 0
    for (; !isOver; await sleep(50)) {
      const { rows } = await client.query<{ slots: number }>(
        'select count(*)::int as slots from held where tenant_id = $1',
        [tenantId],
      )
      most = Math.max(most, rows[0]?.slots ?? 0)
    }
    return most
  })
  return () => {
    isOver = true
    return watching
  }
}

function assertPrompt(findings: readonly Findings[]): void {
  const waits = findings.flatMap(({ latenessMs }) => latenessMs)
  const [p95, p99] = [percentile(waits, 95), percentile(waits, 99)]
  ensure(p95 < 500 && p99 < 2_000, `neighbours waited ${p95.toFixed(0)} ms at p95, ${p99.toFixed(0)} ms at p99`)
}
