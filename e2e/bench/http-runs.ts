import { randomUUID } from 'node:crypto'
import { sleep, waitFor } from '../wait.ts'
import type { Benchmark, Contender, Measure } from './benchmark.ts'
import type { CpuReading } from './cpu.ts'
import type { Lab } from './lab.ts'
import { Meridian, runBody } from './meridian.ts'
import { peerContender } from './peer-contender.ts'
import type { PeerProcess } from './peer-process.ts'
import { type PeerName, peerNames } from './peers/peer.ts'

const ours: Contender = { name: 'meridian', round: (lab) => drainMeridian(lab, lab.profile.runs) }

/** Lets a peer work off runs that count for nothing, and leaves it with nothing to do. */
export async function warmUpPeer(lab: Lab, process: PeerProcess): Promise<void> {
  const { url } = await lab.target()
  const { warmUpRuns } = lab.profile
  await process.call('reset', [])
  await process.call('load', [warmUpRuns, url])
  await process.call('drain', [warmUpRuns])
  await process.call('reset', [])
}

/** Works off the runs of a drain. */
export const peerDrain = (name: PeerName): Contender =>
  peerContender(name, async (lab, process) => {
    const { url } = await lab.target()
    const { runs: count } = lab.profile
    await warmUpPeer(lab, process)
    await process.call('load', [count, url])
    let warm: CpuReading | undefined
    const drained = await process.call('drain', [count], () => {
      warm = lab.readCpu()
    })
    return [
      { value: (count * 900) / (drained.elapsedMs - drained.warmMs), unit: 'runs/s' },
      ...(warm === undefined ? [] : lab.cpuPerRun(warm, count * 0.9)),
    ]
  })

/** Whose runs a drain works off; left out, the tenant's of the stack. */
export interface DrainOptions {
  apiKeys?: readonly string[]
  /** Makes the queue of this name for one of them, paused. */
  createQueue?: (meridian: Meridian, name: string) => Promise<unknown>
}

/**
 * Accepts `count` runs by batch into a paused queue of each tenant, opens it, and measures from the first tenth called to
 * the last run recorded in history. The peers' clock stops earlier: when the last call was answered.
 */
export async function drainMeridian(lab: Lab, count: number, options: DrainOptions = {}): Promise<Measure[]> {
  await lab.useTwoExecutors()
  await warmUp(lab)
  return drain(lab, count, options)
}

/** Lets the processes of Meridian work off runs that count for nothing, once. */
export const warmUp = (lab: Lab): Promise<void> => lab.warmUp(() => drain(lab, lab.profile.warmUpRuns))

const createPaused = (meridian: Meridian, name: string) => meridian.createQueue(name, { paused: true })

async function drain(lab: Lab, wanted: number, { apiKeys, createQueue = createPaused }: DrainOptions = {}) {
  const stack = await lab.stack()
  const target = await lab.target()
  const tenants = (apiKeys ?? [stack.apiKey]).map((apiKey) => new Meridian(stack, apiKey))
  const [meridian = new Meridian(stack)] = tenants
  const share = Math.ceil(wanted / tenants.length)
  const count = share * tenants.length
  // Every tenant's has the same name.
  const queue = `drain-${randomUUID()}`
  try {
    for (const tenant of tenants) {
      await createQueue(tenant, queue)
      await tenant.acceptBatches(share, (index) => runBody(index, target.url, { queue }))
    }
    await meridian.query('vacuum analyze ready')
    await meridian.query('checkpoint')
    const before = await target.count()
    await Promise.all(tenants.map((tenant) => tenant.resumeQueue(queue)))

    const called = async (many: number) => (await target.count()) - before >= many
    const patience = { timeoutMs: 600_000, everyMs: 10 }
    await waitFor('the first tenth', () => called(count / 10), patience)
    const warmMs = performance.now()
    const warm = lab.readCpu()
    await waitFor('the last call', () => called(count), patience)
    const open = 'select 1 from (select queue_id from ready union all select queue_id from held) o join queues q'
    const isEmpty = async () =>
      (await meridian.query(`${open} on q.id = o.queue_id and q.name = $1 limit 1`, [queue])).length === 0
    await waitFor('the last record', isEmpty, patience)
    const elapsedMs = performance.now() - warmMs
    const cpu = lab.cpuPerRun(warm, count * 0.9)
    await checkHistory(meridian, queue, count)
    return [{ value: (count * 900) / elapsedMs, unit: 'runs/s' }, ...cpu]
  } finally {
    await Promise.all(tenants.map((tenant) => tenant.close()))
  }
}

/** A rate counts only if every run is in history, once, and succeeded. */
async function checkHistory(meridian: Meridian, queue: string, count: number): Promise<void> {
  await sleep(200)
  const [history] = await meridian.query<{ rows: number; runs: number; succeeded: number }>(
    `select count(*)::int as rows, count(distinct r.id)::int as runs, count(*) filter (where r.state = 4)::int as succeeded
     from runs r join queues q on q.id = r.queue_id where q.name = $1`,
    [queue],
  )
  if (history?.rows !== count || history.runs !== count || history.succeeded !== count) {
    throw new Error(`of ${count} runs history holds ${JSON.stringify(history)}`)
  }
}

export const httpRuns: Benchmark = {
  title: 'HTTP runs a second: drain of runs accepted beforehand by batch, recorded with history and events',
  contenders: [ours, ...peerNames.map(peerDrain)],
}
