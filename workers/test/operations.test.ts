import { createJob } from '@meridian/core/job/create'
import { createOperation } from '@meridian/core/operation/create'
import { getOperation } from '@meridian/core/operation/get'
import { sampleJob } from '@meridian/core/testing/job-samples'
import { expect, it } from 'vitest'
import { openScene, until } from './scene.ts'

const schedule = { type: 'every', every: 'PT1H' } as const

it('workers of an operation are killed again and again: each thing is done once, and none is left out', async () => {
  const { bench, spawn } = await openScene()
  const total = 240
  for (let index = 0; index < total; index++) await createJob(bench.ctx, sampleJob({ name: `job ${index}`, schedule }))
  const operation = await createOperation(bench.ctx, { kind: 'jobs.pause', plan: { filter: {} }, rate: null })
  const progress = async (): Promise<number> => (await getOperation(bench.ctx, operation.id)).done
  // What is waited for is a step that is going on, so that the kill falls into the next one.
  for (let kills = 0; kills < 3; kills++) {
    const before = await progress()
    const doomed = await spawn(['scheduler'])
    await until(async () => (await progress()) > before || before === total)
    doomed.signal('SIGKILL')
    await doomed.exited
  }
  await spawn(['scheduler'])
  await spawn(['scheduler'])
  await until(async () => (await getOperation(bench.ctx, operation.id)).finishedAt !== null)
  expect(await getOperation(bench.ctx, operation.id)).toMatchObject({
    state: 'finished',
    total,
    done: total,
    unchanged: 0,
    failed: 0,
  })
  const { rows } = await bench.db.owner.query<{ lines: number; jobs: number }>(
    "select count(*)::int as lines, count(distinct subject)::int as jobs from audit_entries where action = 'job.pause'",
  )
  expect(rows).toEqual([{ lines: total, jobs: total }])
})
