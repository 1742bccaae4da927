import { randomUUID } from 'node:crypto'
import { sleep, waitFor } from '../wait.ts'
import type { Benchmark, Contender, Measure } from './benchmark.ts'
import type { CpuReading } from './cpu.ts'
import type { Lab } from './lab.ts'
import { Meridian, runBody } from './meridian.ts'
import { type PeerName, peerNames } from './peers/peer.ts'

const ours: Contender = { name: 'meridian', round: (lab) => drainMeridian(lab, lab.profile.runs) }

const peer = (name: PeerName): Contender => ({
  name,
  round: (lab) =>
    lab.withPeer(name, async (process) => {
      const { url } = await lab.target()
      const count = lab.profile.runs
      await process.call('reset', [])
      await process.call('load', [count, url])
      let warm: CpuReading | undefined
      const drain = await process.call('drain', [count], () => {
        warm = lab.readCpu()
      })
      return [
        { value: (count * 900) / (drain.elapsedMs - drain.warmMs), unit: 'runs/s' },
        ...(warm === undefined ? [] : lab.cpuPerRun(warm, count * 0.9)),
      ]
    }),
})

/**
 * Accepts `count` runs by batch into a paused queue, opens it, and measures from the first tenth called to the last
 * run recorded in history. The peers' clock stops earlier: when the last call was answered.
 */
export async function drainMeridian(lab: Lab, count: number): Promise<Measure[]> {
  const meridian = new Meridian(await lab.stack())
  const target = await lab.target()
  try {
    const queue = await meridian.createQueue(`drain-${randomUUID()}`, { paused: true })
    await meridian.acceptBatches(count, (index) => runBody(index, target.url, { queue }))
    await meridian.query('vacuum analyze ready')
    await meridian.query('checkpoint')
    const before = await target.count()
    await meridian.resumeQueue(queue)

    const called = async (wanted: number) => (await target.count()) - before >= wanted
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
    await meridian.close()
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
  contenders: [ours, ...peerNames.map(peer)],
}
