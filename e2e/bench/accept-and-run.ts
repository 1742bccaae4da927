import { randomUUID } from 'node:crypto'
import { waitFor } from '../wait.ts'
import type { Benchmark } from './benchmark.ts'
import { Meridian, runBody } from './meridian.ts'
import { saturate } from './saturate.ts'

export const acceptAndRun: Benchmark = {
  title: 'Runs accepted one by one over 64 connections, due at once, and performed meanwhile',
  contenders: [
    {
      name: 'meridian',
      round: async (lab) => {
        const meridian = new Meridian(await lab.stack())
        const target = await lab.target()
        try {
          const queue = await meridian.createQueue(`sustained-${randomUUID()}`)
          const barrage = {
            url: `${meridian.api.origin}/v1/runs`,
            method: 'POST' as const,
            headers: { ...meridian.api.headers, 'content-type': 'application/json' },
            body: JSON.stringify(runBody(1, target.url, { queue })),
            connections: 64,
          }
          await saturate({ ...barrage, keyPrefix: `${randomUUID()}-`, seconds: 2 })
          const before = await target.count()
          const cpu = lab.readCpu()
          const { seconds } = lab.profile
          const { perSecond, p99, failures } = await saturate({ ...barrage, keyPrefix: `${randomUUID()}-`, seconds })
          if (failures > 0) throw new Error(`${failures} of the requests failed`)
          const performed = (await target.count()) - before
          const perRun = lab.cpuPerRun(cpu, performed)
          const open = `select 1 from queues q where q.name = $1 and (exists (select from ready where queue_id = q.id)
            or exists (select from held where queue_id = q.id) or exists (select from due where queue_id = q.id))`
          const start = performance.now()
          const isEmpty = async () => (await meridian.query(open, [queue])).length === 0
          await waitFor('the backlog to drain', isEmpty, { timeoutMs: 120_000 })
          return [
            { value: performed / seconds, unit: 'runs/s' },
            { metric: 'accepted', value: perSecond, unit: 'runs/s' },
            { metric: 'p99', value: p99, unit: 'ms' },
            { metric: 'backlog', value: (performance.now() - start) / 1_000, unit: 's' },
            ...perRun,
          ]
        } finally {
          await meridian.close()
        }
      },
    },
  ],
}
