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
