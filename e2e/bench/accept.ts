import { randomUUID } from 'node:crypto'
import type { Benchmark, Contender, Measure } from './benchmark.ts'
import type { Lab } from './lab.ts'
import { Meridian, runBody } from './meridian.ts'
import { saturate } from './saturate.ts'

/** Accepts runs one by one over 64 connections, due in an hour; with `isDry` the same route answers unwritten. */
export async function acceptOneByOne(lab: Lab, isDry: boolean): Promise<Measure[]> {
  const meridian = new Meridian(await lab.stack())
  const { url } = await lab.target()
  try {
    const queue = await meridian.createQueue(`accept-${randomUUID()}`)
    const dueAt = new Date(Date.now() + 3_600_000).toISOString()
    const barrage = {
      url: `${meridian.api.origin}/v1/runs${isDry ? '?dryRun=true' : ''}`,
      method: 'POST' as const,
      headers: { ...meridian.api.headers, 'content-type': 'application/json' },
      body: JSON.stringify(runBody(1, url, { queue, dueAt })),
      connections: 64,
    }
    await saturate({ ...barrage, keyPrefix: `${randomUUID()}-`, seconds: lab.profile.warmUpSeconds })
    const cpu = lab.readCpu()
    const seconds = Math.max(2, Math.round(lab.profile.seconds / 2))
    const { perSecond, p50, p99, failures } = await saturate({ ...barrage, keyPrefix: `${randomUUID()}-`, seconds })
    if (failures > 0) throw new Error(`${failures} of the requests failed`)
    return [
      { value: perSecond, unit: 'runs/s' },
      { metric: 'p50', value: p50, unit: 'ms' },
      { metric: 'p99', value: p99, unit: 'ms' },
      ...lab.cpuPerRun(cpu, perSecond * seconds),
    ]
  } finally {
    await meridian.close()
  }
}

const contenders: Contender[] = [
  { name: 'meridian', round: (lab) => acceptOneByOne(lab, false) },
  { name: 'without writing', round: (lab) => acceptOneByOne(lab, true) },
]

export const accept: Benchmark = {
  title: 'POST /v1/runs one by one, due in an hour, 64 connections, beside the same route as a dry run',
  contenders,
}
