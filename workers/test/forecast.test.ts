import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { createJob } from '@meridian/core/job/create'
import { pauseJob } from '@meridian/core/job/set-state'
import { createTenant, testCtx } from '@meridian/core/testing/factories'
import { sampleJob } from '@meridian/core/testing/job-samples'
import { expect, it } from 'vitest'
import { openScene } from './scene.ts'

const execute = promisify(execFile)
const program = new URL('../src/forecast.ts', import.meta.url).pathname
/** Half an hour away, so that no instant passes meanwhile. */
const minute = (new Date().getUTCMinutes() + 30) % 60
const everyHour = { type: 'cron', cron: `${minute} * * * *`, timezone: 'UTC' } as const
const everyDay = { type: 'cron', cron: `${minute} 12 * * *`, timezone: 'UTC' } as const

it('an operator sees the load that comes by organisation, of all its projects, the busiest first', async () => {
  const { bench } = await openScene()
  const { db } = bench
  const projects = [
    { slug: 'one', name: 'One', label: 'production' as const },
    { slug: 'two', name: 'Two', label: 'production' as const },
    { slug: 'tests', name: 'Tests', label: 'development' as const, hasTestClock: true },
  ]
  const busy = await createTenant(db, { slug: 'busy', projects, concurrency: 7 })
  const { rows } = await db.owner.query<{ id: string; slug: string }>(
    'select id, slug from projects where tenant_id = $1',
    [busy.tenantId],
  )
  for (const { id, slug } of rows) {
    const ctx = testCtx(db, { ...busy, projectId: id as typeof busy.projectId })
    for (const name of ['a', 'b']) await createJob(ctx, sampleJob({ name: `${slug}-${name}`, schedule: everyHour }))
    await pauseJob(ctx, (await createJob(ctx, sampleJob({ name: 'paused', schedule: everyHour }))).id, null)
  }
  await createJob(testCtx(db, await createTenant(db, { slug: 'calm' })), sampleJob({ schedule: everyDay }))
  await createTenant(db, { slug: 'idle' })

  const { stdout } = await execute(process.execPath, [program, '--series'], {
    env: { ...process.env, ENGINE_DATABASE_URL: db.engineUrl, KEY_FILE: bench.environment['KEY_FILE'] },
  })
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { tenant: string; mostStarts: { at: string }; series: { starts: number[] } })
  expect(lines).toMatchObject([
    { tenant: 'busy', jobs: 4, unmeasuredJobs: 4, capacity: 7, starts: 96, mostStarts: { count: 4 } },
    { tenant: 'calm', jobs: 1, starts: 1, mostStarts: { count: 1 } },
  ])
  const atMinute = `${String(minute).padStart(2, '0')}:00.000Z`
  expect(lines[0]?.mostStarts.at).toMatch(new RegExp(`:${atMinute}$`))
  expect(lines[1]?.mostStarts.at).toMatch(new RegExp(`T12:${atMinute}$`))
  expect(lines[0]?.series.starts).toHaveLength(1_440)
})
