import { randomUUID } from 'node:crypto'
import type { ReceivedRequest } from '../receiver.ts'
import { sleep, waitFor } from '../wait.ts'
import type { Benchmark, Measure } from './benchmark.ts'
import { warmUp } from './http-runs.ts'
import type { Lab } from './lab.ts'
import { Meridian } from './meridian.ts'
import { percentile } from './statistics.ts'

const cap = 50
/** From the second without a cap to the one under it. */
const everySeconds = 30
const aheadMs = 3_000
const restMs = 8_000

const scenarios = ['warm-up', 'free', 'capped'] as const

/**
 * Ten thousand jobs that are all due at one second, again, and at another one under a cap. The first time counts for
 * nothing: processes that have fired no schedule yet are slow for a while.
 */
async function herd(lab: Lab): Promise<Measure[]> {
  await warmUp(lab)
  const meridian = new Meridian(await lab.stack())
  const receiver = await lab.receiver()
  const name = `herd-${randomUUID()}`
  const count = lab.profile.name === 'ci' ? 500 : 10_000
  try {
    await meridian.createQueue(name)
    await makeJobs(meridian, { name, count, url: receiver.url(name, 'ok') })
    const atMs = await gather(meridian, name)
    const measures: Measure[] = []
    for (const [index, scenario] of scenarios.entries()) {
      const dueMs = atMs + index * everySeconds * 1_000
      const due = new Date(dueMs).toISOString()
      const isCalled = async () =>
        Date.now() > dueMs && (await receiver.count(name)) >= count && (await receiver.requests(name))
      // What is due is written ahead.
      await sleep(dueMs - Date.now() - aheadMs)
      const before = lab.readCpu()
      const requests = await waitFor(`all of them to be called, ${scenario}`, isCalled, {
        timeoutMs: (everySeconds - 5) * 1_000,
        everyMs: 500,
      })
      const cpu = lab.cpuPerRun(before, count).filter(({ metric }) => metric?.startsWith('cpu'))
      await receiver.forget(name)
      if (scenario === 'warm-up') continue
      measures.push(...describe(scenario, requests, due), ...(await accepted(meridian, { name, due, scenario })))
      measures.push(...cpu.map((each) => ({ ...each, metric: `${scenario}.${each.metric}` })))
      if (scenario === 'free') await meridian.api.ask('PATCH', `/v1/queues/${name}`, { concurrency: cap })
    }
    return measures
  } finally {
    await meridian.query('update schedules s set next_at = null from jobs j where j.id = s.job_id and j.name = $1', [
      name,
    ])
    await meridian.close()
  }
}

const creatorsAtOnce = 16

/** Jobs that do nothing until tomorrow: how long it takes to make them is not known before. */
async function makeJobs(
  { api }: Meridian,
  { name, count, url }: { name: string; count: number; url: string },
): Promise<void> {
  const anchor = new Date(Date.now() + 86_400_000).toISOString()
  const schedule = { type: 'every', every: `PT${everySeconds}S`, anchor }
  const job = { name, target: { type: 'http', url }, queue: name, retry: { limit: 0 }, schedule }
  let made = 0
  await Promise.all(
    Array.from({ length: creatorsAtOnce }, async () => {
      while (made++ < count) await api.ask('POST', '/v1/jobs', job)
    }),
  )
}

/** Lets all of them be due at one second soon, once the database has come to rest. */
async function gather(meridian: Meridian, name: string): Promise<number> {
  await meridian.query('vacuum analyze schedules, jobs, job_versions, occurrences, due, inputs')
  const atMs = Math.ceil(Date.now() / 1_000) * 1_000 + restMs
  const at = new Date(atMs).toISOString()
  await meridian.query(
    `update schedules s set next_at = $2::timestamptz, spec = s.spec || jsonb_build_object('anchor', $3::text)
     from jobs j where j.tenant_id = s.tenant_id and j.id = s.job_id and j.name = $1`,
    [name, at, at],
  )
  return atMs
}

function describe(scenario: string, requests: readonly ReceivedRequest[], due: string): Measure[] {
  const strange = requests.find(({ nominalAt }) => Date.parse(nominalAt ?? '') !== Date.parse(due))
  if (strange !== undefined) throw new Error(`a call was for ${strange.nominalAt}, not for ${due}`)
  const latenessMs = requests.map(({ receivedAtMs }) => receivedAtMs - Date.parse(due))
  return [
    ...[50, 99, 100].map((percent) => ({
      metric: `${scenario}.${percent === 100 ? 'max' : `p${percent}`}`,
      value: percentile(latenessMs, percent),
      unit: 'ms',
    })),
    { metric: `${scenario}.early`, value: latenessMs.filter((late) => late < 0).length, unit: 'runs' },
    { metric: `${scenario}.calls`, value: requests.length, unit: 'runs' },
  ]
}

/** How long it took from the first run of the second to the last one to be there. */
async function accepted(
  meridian: Meridian,
  { name, due, scenario }: { name: string; due: string; scenario: string },
): Promise<Measure[]> {
  const [row] = await meridian.query<{ seconds: number }>(
    `select extract(epoch from max(i.created_at) - min(i.created_at))::float8 as seconds
     from inputs i join queues q on q.tenant_id = i.tenant_id and q.id = i.queue_id where q.name = $1 and i.nominal_at = $2`,
    [name, due],
  )
  return [{ metric: `${scenario}.accepted`, value: row?.seconds ?? Number.NaN, unit: 's' }]
}

export const herdAtOneSecond: Benchmark = {
  title: 'Schedules that are due at the same second: runs accepted, and lateness, without a cap and with 50 running',
  contenders: [{ name: 'meridian', round: herd }],
  rounds: 1,
}
