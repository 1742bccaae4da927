import { randomUUID } from 'node:crypto'
import type { Benchmark, Contender } from './benchmark.ts'
import { Meridian, runBody } from './meridian.ts'
import { peerContender } from './peer-contender.ts'
import { type PeerName, peerNames } from './peers/peer.ts'

const ours: Contender = {
  name: 'meridian',
  round: async (lab) => {
    const meridian = new Meridian(await lab.stack())
    const { url } = await lab.target()
    const dueAt = new Date(Date.now() + 3_600_000).toISOString()
    try {
      const queue = await meridian.createQueue(`batch-${randomUUID()}`)
      // What every library must do for itself, too: the bodies are built inside the time.
      const make = (index: number) => runBody(index, url, { queue, dueAt })
      const deadline = performance.now() + lab.profile.seconds * 1_000
      const cpu = lab.readCpu()
      const start = performance.now()
      let stored = 0
      await Promise.all(
        Array.from({ length: 4 }, async () => {
          while (performance.now() < deadline) {
            await meridian.api.ask('POST', '/v1/runs/batch', {
              runs: Array.from({ length: 500 }, (_, index) => make(index)),
            })
            stored += 500
          }
        }),
      )
      return [{ value: (stored * 1_000) / (performance.now() - start), unit: 'runs/s' }, ...lab.cpuPerRun(cpu, stored)]
    } finally {
      await meridian.close()
    }
  },
}

const peer = (name: PeerName): Contender =>
  peerContender(name, async (lab, process) => {
    const { url } = await lab.target()
    await process.call('reset', [])
    const cpu = lab.readCpu()
    const { result, elapsedMs } = await process.call('create', [lab.profile.seconds, url])
    const stored = Number(result)
    const measures = [{ value: (stored * 1_000) / elapsedMs, unit: 'runs/s' }, ...lab.cpuPerRun(cpu, stored)]
    await process.call('reset', [])
    return measures
  })

export const batchCreate: Benchmark = {
  title: 'Runs stored a second: POST /v1/runs/batch of 500, beside the best batch call of each library',
  contenders: [ours, ...peerNames.map(peer)],
}
