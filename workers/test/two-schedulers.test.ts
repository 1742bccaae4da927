import { createJob } from '@meridian/core/job/create'
import { listOccurrences } from '@meridian/core/run/occurrences'
import { sampleJob } from '@meridian/core/testing/job-samples'
import { expect, it } from 'vitest'
import { openScene, until } from './scene.ts'

it('O-48: a second scheduler comes and goes twenty times beside the first: every second runs once, and none is left out', async () => {
  const { bench, target } = await openScene()
  await bench.startWorkers('scheduler', 'dispatcher', 'executor')
  const { id } = await createJob(
    bench.ctx,
    sampleJob({
      target: { type: 'http', url: `${target.url}/tick` },
      schedule: { type: 'every', every: 'PT1S' },
      overlap: 'allow',
    }),
  )
  const ticks = (): string[] => target.received.map(({ headers }) => String(headers['meridian-nominal-at'])).toSorted()
  await until(() => ticks().length > 0)
  for (let round = 0; round < 20; round++) {
    const second = await bench.startWorkers('scheduler')
    // It has had the time to do something, every fourth time over the turn of a second.
    const seen = ticks().length
    if (round % 4 === 0) await until(() => ticks().length > seen)
    await second.stop()
  }
  const seen = ticks().length
  await until(() => ticks().length > seen)

  const called = ticks()
  const firstMs = Date.parse(called[0] ?? '')
  expect(called).toEqual(called.map((_at, index) => new Date(firstMs + index * 1_000).toISOString()))
  const ledger = await listOccurrences(bench.ctx, id, { from: new Date(0), to: new Date('2100-01-01') }, { limit: 200 })
  const instants = ledger.items.map(({ nominalAt }) => nominalAt.getTime())
  expect(instants).toEqual(instants.map((_at, index) => firstMs + index * 1_000))
  expect(ledger.items.every(({ outcome, count }) => count === 1 && (outcome === 'run' || outcome === 'pending'))).toBe(
    true,
  )
})
