import type { Benchmark, Measure } from './benchmark.ts'
import type { Lab } from './lab.ts'
import { Meridian, runBody } from './meridian.ts'
import { pace } from './pace.ts'
import { percentile } from './statistics.ts'

const perSecond = 2_000

/** Gets runs by their ids at that pace, those that are given and as many that are new: half open, half in history. */
export async function getAtPace(lab: Lab, { api }: Meridian, given: readonly string[] = []): Promise<Measure[]> {
  const { url } = await lab.target()
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString()
  const made = await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      const body = runBody(index, url, index % 2 === 0 ? { dueAt: inAnHour } : {})
      return (await api.ask<{ id: string }>('POST', '/v1/runs', body)).id
    }),
  )
  const ids = [...given, ...made]
  const get = (index: number) => ({
    method: 'GET' as const,
    path: `/v1/runs/${ids[index % ids.length]}`,
    headers: api.headers,
  })
  await pace(api.origin, { perSecond, seconds: 2 }, get)
  const cpu = lab.readCpu()
  const { latenciesMs, statuses, errors } = await pace(api.origin, { perSecond, seconds: lab.profile.seconds }, get)
  const failures = errors + [...statuses].reduce((sum, [status, count]) => sum + (status === 200 ? 0 : count), 0)
  if (failures > 0) throw new Error(`${failures} requests failed: ${JSON.stringify([...statuses])}`)
  return [
    { value: latenciesMs.length / lab.profile.seconds, unit: 'requests/s' },
    ...[50, 95, 99, 100].map((percent) => ({
      metric: percent === 100 ? 'max' : `p${percent}`,
      value: percentile(latenciesMs, percent),
      unit: 'ms',
    })),
    ...lab.cpuPerRun(cpu, latenciesMs.length),
  ]
}

export const getRun: Benchmark = {
  title: 'GET /v1/runs/{id} at 2,000 a second, half of the runs open and half in history',
  contenders: [
    {
      name: 'meridian',
      round: async (lab) => {
        const meridian = new Meridian(await lab.stack())
        try {
          return await getAtPace(lab, meridian)
        } finally {
          await meridian.close()
        }
      },
    },
  ],
}
