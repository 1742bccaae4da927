import { createQueue } from '@meridian/core/flow/queues'
import { expect, it } from 'vitest'
import { openScene, until } from './scene.ts'
import { ended } from './workers.ts'

it('a critical run is performed while bulk runs that do not end have taken every slot that they may', async () => {
  const { bench, gates, at, requestsTo, allSucceed } = await openScene({ environment: { EXECUTOR_CAPACITY: '8' } })
  await createQueue(bench.ctx, { name: 'alarms', class: 'critical' })
  await createQueue(bench.ctx, { name: 'exports', class: 'bulk' })
  gates.set('/exports', [])
  const bulk = await bench.accept(...Array.from({ length: 30 }, () => ({ ...at('/exports'), queue: 'exports' })))
  await bench.startWorkers('dispatcher', 'executor')
  await until(() => requestsTo('/exports').length === 7)
  for (let turn = 0; turn < 3; turn++) {
    const [alarm] = await bench.accept({ ...at('/alarms'), queue: 'alarms' })
    expect(await ended(bench.ctx, alarm?.id ?? '')).toMatchObject({ status: 'succeeded' })
  }
  expect(requestsTo('/exports')).toHaveLength(7)
  for (const answer of gates.get('/exports') ?? []) answer()
  gates.delete('/exports')
  await allSucceed(bulk)
})

it('a critical run calls a host whose sockets bulk runs would all have', async () => {
  const { bench, gates, at, requestsTo, allSucceed } = await openScene({ environment: { SOCKETS_PER_ORIGIN: '4' } })
  await createQueue(bench.ctx, { name: 'alarms', class: 'critical' })
  await createQueue(bench.ctx, { name: 'exports', class: 'bulk' })
  await bench.startWorkers('dispatcher', 'executor')
  const [first] = await bench.accept({ ...at('/alarms'), queue: 'alarms' })
  await ended(bench.ctx, first?.id ?? '')
  gates.set('/exports', [])
  const bulk = await bench.accept(...Array.from({ length: 10 }, () => ({ ...at('/exports'), queue: 'exports' })))
  await until(() => requestsTo('/exports').length === 3)
  const [alarm] = await bench.accept({ ...at('/alarms'), queue: 'alarms' })
  expect(await ended(bench.ctx, alarm?.id ?? '')).toMatchObject({ status: 'succeeded' })
  expect(requestsTo('/exports')).toHaveLength(3)
  for (const answer of gates.get('/exports') ?? []) answer()
  gates.delete('/exports')
  await allSucceed(bulk)
})

it('a critical run takes the slot of a bulk run that lets itself be put back, which is performed again and ends once', async () => {
  const { bench, gates, at, requestsTo, count, allSucceed } = await openScene({
    environment: { EXECUTOR_CAPACITY: '8' },
  })
  await createQueue(bench.ctx, { name: 'alarms', class: 'critical' })
  await createQueue(bench.ctx, { name: 'exports', class: 'bulk', preemptible: true })
  gates.set('/exports', []).set('/alarms', [])
  const bulk = await bench.accept(...Array.from({ length: 10 }, () => ({ ...at('/exports'), queue: 'exports' })))
  await bench.startWorkers('dispatcher', 'executor')
  await until(() => requestsTo('/exports').length === 7)
  const alarms = await bench.accept(...Array.from({ length: 2 }, () => ({ ...at('/alarms'), queue: 'alarms' })))
  await until(() => requestsTo('/alarms').length === 2)
  expect(await count("events where type = 'run.preempted'")).toBe(1)
  for (const path of ['/alarms', '/exports']) {
    for (const answer of gates.get(path) ?? []) answer()
    gates.delete(path)
  }
  const ended = await allSucceed([...bulk, ...alarms])
  expect(new Set(ended.map(({ attempt }) => attempt))).toEqual(new Set([1]))
  expect(requestsTo('/exports')).toHaveLength(11)
})
