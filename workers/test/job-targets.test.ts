import { createJob } from '@meridian/core/job/create'
import { updateJob } from '@meridian/core/job/update'
import { sampleJob } from '@meridian/core/testing/job-samples'
import { expect, it } from 'vitest'
import { openScene, until } from './scene.ts'
import { targetOf } from './workers.ts'

const letters = (count: number): string => 'x'.repeat(count)

it('jobs that are due together each do what their own version says, however large it is', async () => {
  const { bench, target } = await openScene()
  const at = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 2_000).toISOString()
  const sizes = [10, 20, 30, 40, 100_000, 200_000]
  for (const [index, size] of sizes.entries()) {
    const job = sampleJob({
      target: targetOf(`${target.url}/old/${index}`, { body: { size: 0 } }),
      schedule: { type: 'at', at },
    })
    const { id } = await createJob(bench.ctx, job)
    await updateJob(bench.ctx, id, {
      target: targetOf(`${target.url}/${index}`, { body: { size, text: letters(size) } }),
    })
  }
  await bench.startWorkers('scheduler', 'dispatcher', 'executor')
  await until(() => target.received.length >= sizes.length)
  const seen = target.received.map(({ path, body }) => [path, (JSON.parse(body.toString()) as { size: number }).size])
  expect(new Map(seen as [string, number][])).toEqual(new Map(sizes.map((size, index) => [`/${index}`, size])))
  expect(seen).toHaveLength(sizes.length)
})

it('a job whose target is gone fails alone, and those beside it are performed', async () => {
  const { bench, target, count } = await openScene()
  const at = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 2_000).toISOString()
  const ids: string[] = []
  for (const path of ['/one', '/two', '/three']) {
    const job = sampleJob({
      target: targetOf(target.url + path),
      schedule: { type: 'at', at },
      retry: { limit: 0 },
    })
    ids.push((await createJob(bench.ctx, job)).id)
  }
  await bench.db.owner.query("update job_versions set target = decode('00', 'hex') where job_id = $1", [ids[1]])
  await bench.startWorkers('scheduler', 'dispatcher', 'executor')
  await until(async () => (await count('runs')) === 3)
  expect(target.received.map(({ path }) => path).sort()).toEqual(['/one', '/three'])
  expect(await count("runs where error = 'unreadable'")).toBe(1)
})
