import { createJob } from '@meridian/core/job/create'
import { sampleJob } from '@meridian/core/testing/job-samples'
import { listAlarms } from '@meridian/core/watch/list'
import { expect, it } from 'vitest'
import { openScene, until } from './scene.ts'

it('a process of its own finds what stands still while everything else is down, and clears it when a scheduler is back', async () => {
  const { bench, spawn } = await openScene()
  const job = await createJob(bench.ctx, sampleJob({ schedule: { type: 'every', every: 'PT1H' } }))
  await bench.db.owner.query("update schedules set next_at = clock_timestamp() - interval '10 minutes'")
  await spawn(['watchdog'])
  const open = async () => (await listAlarms(bench.ctx, { all: false })).alarms
  await until(async () => (await open()).length > 0)
  expect(await open()).toMatchObject([{ kind: 'schedule-stuck', subject: job.id }])
  await bench.startWorkers('scheduler')
  await until(async () => (await open()).length === 0)
  // What means to do nothing more is no scheduler's to find.
  await bench.db.owner.query('update schedules set next_at = null')
  await until(async () => (await open()).length > 0)
  expect(await open()).toMatchObject([{ kind: 'schedule-astray', subject: job.id }])
})
