import { randomUUID } from 'node:crypto'
import { Api } from '../api.ts'
import type { ExtraProcess } from '../stack.ts'
import { sleep } from '../wait.ts'
import { assertSound } from './checker.ts'
import { settle } from './evidence.ts'
import { type Load, startLoad } from './load.ts'
import { tryKill } from './outage.ts'
import { ensure, type Row } from './row.ts'
import { createTicking, type TickingJob } from './schedule-load.ts'
import type { World } from './world.ts'

const skewsMs = [-600_000, 600_000]
const lateMaxMs = 2_000
/** What a frozen process holds is given up by then. */
const frozenMs = 3_000
const jobs = 30

interface Host {
  processes: ExtraProcess[]
  api: Api
}

export const row: Row = {
  title: 'hosts whose clocks are ten minutes slow and fast: nothing is early, nothing is late',
  async run(world) {
    const hosts = await Promise.all(skewsMs.map((skewMs) => startHost(world, skewMs)))
    const label = `skewed-${randomUUID()}`
    const url = world.receiver.url(label, 'ok')
    const apis = [world.api, ...hosts.map(({ api }) => api)]
    const engines = world.stack.pids('engine')
    try {
      // At first only the wrong clocks are there to schedule and dispatch by.
      for (const pid of engines) tryKill(pid, 'SIGSTOP')
      await sleep(frozenMs)
      const ticking = await createTicking(world, {
        ...{ count: jobs, everySeconds: [1, 3], url, queue: label, overlap: 'allow' },
      })
      const rate = world.profile.rate / apis.length
      const loads = await Promise.all(apis.map((api) => startLoad(world, { rate, send: api.send.bind(api) })))
      const halfMs = (world.profile.seconds * 1_000) / 2
      await sleep(halfMs)
      for (const pid of engines) tryKill(pid, 'SIGCONT')
      await sleep(halfMs)
      await Promise.all(loads.map((load) => load.stop()))
      for (const load of loads) await assertOnTime(world, load)
      await assertTicksOnTime(world, label)
      await assertShared(world, [label, ...loads.map((load) => load.label)])
      await remove(world, ticking)
    } finally {
      for (const pid of engines) tryKill(pid, 'SIGCONT')
      await Promise.all(hosts.flatMap(({ api, processes }) => [api.close(), ...processes.map((each) => each.stop())]))
    }
  },
}

/** An api, an engine and an executor that share a wrong clock. */
async function startHost(world: World, skewMs: number): Promise<Host> {
  const preload = new URL('./skewed-clock.ts', import.meta.url).href
  const start = async (kind: 'api' | 'engine' | 'executor'): Promise<ExtraProcess> => {
    const options = world.stack.environment(kind).NODE_OPTIONS ?? ''
    const change = { NODE_OPTIONS: `${options} --import=${preload}`.trim(), CLOCK_SKEW_MS: String(skewMs) }
    return world.stack.startExtra(kind, change)
  }
  const [api, engine, executor] = await Promise.all([start('api'), start('engine'), start('executor')])
  return {
    processes: [api, engine, executor],
    api: new Api(`http://127.0.0.1:${String(api.port)}`, world.stack.apiKey),
  }
}

async function assertOnTime(world: World, load: Load): Promise<void> {
  const findings = await settle(world, load, 30_000)
  assertSound(findings)
  const late = findings.latenessMs.filter((each) => each > lateMaxMs)
  ensure(late.length === 0, `${late.length} runs were more than ${lateMaxMs} ms late, up to ${Math.max(...late)} ms`)
}

/** Of every tick that was called for; that none is missing is another row's. */
async function assertTicksOnTime(world: World, label: string): Promise<void> {
  const latenessMs = (await world.receiver.requests(label)).map(
    ({ nominalAt, receivedAtMs }) => receivedAtMs - Date.parse(nominalAt ?? ''),
  )
  ensure(latenessMs.length >= jobs, `only ${latenessMs.length} ticks were called for`)
  const [first, last] = [Math.min(...latenessMs), Math.max(...latenessMs)]
  ensure(first >= 0, `a tick came ${-first} ms early`)
  ensure(last <= lateMaxMs, `a tick came ${last} ms late`)
}

/** Every executor had a part in it: else a clock was not put to the test. */
async function assertShared(world: World, queues: readonly string[]): Promise<void> {
  const executors = await world.withDatabase(async (client) => {
    const { rows } = await client.query<{ count: number }>(
      `select count(distinct r.executor_id)::int as count from runs r join queues q on q.id = r.queue_id where q.name = any($1)`,
      [queues],
    )
    return rows[0]?.count
  })
  ensure(executors === skewsMs.length + 1, `only ${executors} of the executors performed anything`)
}

const remove = (world: World, ticking: readonly TickingJob[]): Promise<unknown> =>
  Promise.all(ticking.map((job) => world.api.send('DELETE', `/v1/jobs/${job.id}`)))
