import { randomUUID } from 'node:crypto'
import type { ReceivedRequest } from '../receiver.ts'
import { waitFor } from '../wait.ts'
import type { Benchmark, Contender, Measure } from './benchmark.ts'
import { warmUp, warmUpPeer } from './http-runs.ts'
import type { Lab } from './lab.ts'
import { Meridian, runBody } from './meridian.ts'
import { pace } from './pace.ts'
import { peerContender } from './peer-contender.ts'
import { type PeerName, peerNames } from './peers/peer.ts'
import { percentile } from './statistics.ts'

/** First byte of a request minus the due instant it carries, both on the machine's one clock. */
function describe(scenario: string, requests: readonly ReceivedRequest[]): Measure[] {
  const lateness = requests.map(({ receivedAtMs, dueAt }) => receivedAtMs - Date.parse(dueAt ?? ''))
  if (lateness.some(Number.isNaN)) throw new Error('a request came without its due instant')
  return [
    ...[50, 95, 99, 100].map((percent) => ({
      metric: `${scenario}.${percent === 100 ? 'max' : `p${percent}`}`,
      value: percentile(lateness, percent),
      unit: 'ms',
    })),
    { metric: `${scenario}.early`, value: lateness.filter((late) => late < 0).length, unit: 'runs' },
  ]
}

/** A process that has just begun is slow for a while, whoever's it is: what it misses meanwhile is no part of it. */
const warmUpSeconds = 4

/** Due instants at random over the seconds to warm up and those that count, after time enough to store them. */
function spread(perSecond: number, seconds: number) {
  const spanSeconds = warmUpSeconds + seconds
  const count = perSecond * spanSeconds
  const startMs = Date.now() + leadFor(count)
  const countsFromMs = startMs + warmUpSeconds * 1_000
  return {
    countsFromMs,
    dues: Array.from({ length: count }, () => startMs + Math.floor(Math.random() * spanSeconds * 1_000)),
    counts: ({ dueAt }: ReceivedRequest): boolean => Date.parse(dueAt ?? '') >= countsFromMs,
  }
}

/** The least time between a run's creation and its due instant that counts as "soon". */
const leastMs = 20

/** Enough time to store that many before the first is due, even on a slow machine. */
const leadFor = (count: number) => 2_000 + count / 5

async function collect(
  lab: Lab,
  scenario: string,
  label: string,
  count: number,
  counts: (request: ReceivedRequest) => boolean = () => true,
): Promise<Measure[]> {
  const receiver = await lab.receiver()
  const arrived = async () => (await receiver.count(label)) >= count
  await waitFor(`${count} requests`, arrived, { timeoutMs: (lab.profile.seconds + 90) * 1_000, everyMs: 200 })
  const measures = describe(scenario, (await receiver.requests(label)).filter(counts))
  await receiver.forget(label)
  return measures
}

interface AheadOptions {
  /** What its figures are called after. */
  scenario?: string
  /** Is done from the instant on from which runs count; what is due after the instant that it returns does not. */
  meanwhile?: (countsFromMs: number) => Promise<number>
}

/** Runs accepted by batch well before they are due. */
export async function ahead(
  lab: Lab,
  perSecond: number,
  { scenario = `ahead-${perSecond}`, meanwhile = () => Promise.resolve(Infinity) }: AheadOptions = {},
): Promise<Measure[]> {
  const meridian = new Meridian(await lab.stack())
  const receiver = await lab.receiver()
  const label = randomUUID()
  try {
    const queue = await meridian.createQueue(`ahead-${label}`)
    const { dues, counts, countsFromMs } = spread(perSecond, lab.profile.seconds)
    const [untilMs] = await Promise.all([
      meanwhile(countsFromMs),
      meridian.acceptBatches(dues.length, (index) => {
        const dueAt = new Date(dues[index] ?? 0).toISOString()
        return runBody(index, receiver.url(label, 'ok'), { queue, dueAt })
      }),
    ])
    const isInTime = (request: ReceivedRequest) => counts(request) && Date.parse(request.dueAt ?? '') < untilMs
    return await collect(lab, scenario, label, dues.length, isInTime)
  } finally {
    await meridian.close()
  }
}

/**
 * Runs created one by one, 20 ms to 2 s before they are due. A run whose answer came later than that was not created in
 * time, and is left out: the benchmark `accept` is about it. How many were in time is reported.
 */
async function soon(lab: Lab, perSecond: number): Promise<Measure[]> {
  const meridian = new Meridian(await lab.stack())
  const receiver = await lab.receiver()
  const label = randomUUID()
  try {
    const queue = await meridian.createQueue(`soon-${label}`)
    const headers = { ...meridian.api.headers, 'content-type': 'application/json' }
    const create = async (seconds: number, to: string, inTime: Set<string>): Promise<number> => {
      let accepted = 0
      await pace(
        meridian.api.origin,
        { perSecond, seconds },
        (index) => {
          const dueAt = new Date(Date.now() + leastMs + 10 + Math.random() * (2_000 - leastMs - 10)).toISOString()
          const body = JSON.stringify(runBody(index, receiver.url(to, 'ok'), { queue, dueAt }))
          return { method: 'POST', path: '/v1/runs', headers: { ...headers, 'idempotency-key': randomUUID() }, body }
        },
        (_index, status, body) => {
          if (status !== 201) return
          accepted += 1
          const run = JSON.parse(body) as { id: string; dueAt: string }
          if (Date.parse(run.dueAt) - Date.now() >= leastMs) inTime.add(run.id)
        },
      )
      return accepted
    }
    const warmUp = `${label}-warm-up`
    const warm = await create(lab.profile.warmUpSeconds, warmUp, new Set())
    await collect(lab, warmUp, warmUp, warm)
    const inTime = new Set<string>()
    const accepted = await create(lab.profile.seconds, label, inTime)
    if (accepted < perSecond * lab.profile.seconds) throw new Error(`only ${accepted} runs were accepted`)
    const measures = await collect(lab, `soon-${perSecond}`, label, accepted, ({ run }) => inTime.has(run))
    return [...measures, { metric: `soon-${perSecond}.in-time`, value: (inTime.size * 100) / accepted, unit: '%' }]
  } finally {
    await meridian.close()
  }
}

/** A hundred jobs that run every second, ten milliseconds apart. */
async function schedules(lab: Lab): Promise<Measure[]> {
  const { api } = new Meridian(await lab.stack())
  const receiver = await lab.receiver()
  const label = randomUUID()
  const ids: string[] = []
  try {
    for (let index = 0; index < 100; index += 1) {
      const anchor = new Date(Math.floor(Date.now() / 1_000) * 1_000 + index * 10).toISOString()
      const { target } = runBody(index, receiver.url(label, 'ok'))
      const schedule = { type: 'every', every: 'PT1S', anchor }
      const job = { name: `lateness ${index}`, target, schedule, overlap: 'allow' }
      ids.push((await api.ask<{ id: string }>('POST', '/v1/jobs', job)).id)
    }
    // What fired while the jobs were being made is no part of it.
    await receiver.forget(label)
    return await collect(lab, 'schedules-100', label, 100 * lab.profile.seconds)
  } finally {
    await Promise.all(ids.map((id) => api.ask('DELETE', `/v1/jobs/${id}`)))
    await api.close()
  }
}

const ours: Contender = {
  name: 'meridian',
  round: async (lab) => {
    await warmUp(lab)
    return [
      ...(await ahead(lab, 100)),
      ...(await ahead(lab, 1_000)),
      ...(await soon(lab, 100)),
      ...(await soon(lab, 1_000)),
      ...(await schedules(lab)),
    ]
  },
}

const peer = (name: PeerName): Contender =>
  peerContender(name, async (lab, process) => {
    const receiver = await lab.receiver()
    const measures: Measure[] = []
    await warmUpPeer(lab, process)
    await process.call('work', [])
    for (const perSecond of [100, 1_000]) {
      const label = randomUUID()
      const { dues, counts } = spread(perSecond, lab.profile.seconds)
      await process.call('schedule', [dues, receiver.url(label, 'ok')])
      measures.push(...(await collect(lab, `ahead-${perSecond}`, label, dues.length, counts)))
    }
    return measures
  })

export const lateness: Benchmark = {
  title: 'Lateness: first byte at the target minus the due instant',
  contenders: [ours, ...peerNames.map(peer)],
  rounds: 3,
}
