import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Meridian } from '@meridian/sdk'
import { afterAll, expect, test } from 'vitest'
import { Person } from './person.ts'

const person = await Person.meet()
afterAll(() => person.leave())

/** A client of a project that was made for tests. */
async function sandbox(): Promise<Meridian> {
  const main = join(import.meta.dirname, '../../infra/local/main.ts')
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [main, 'tenant', `clock-${randomUUID()}`, '--test-clock'],
    {
      env: { ...process.env, MERIDIAN_HOME: person.stack.home },
    },
  )
  return new Meridian({ baseUrl: person.api.origin, apiKey: (JSON.parse(stdout) as { apiKey: string }).apiKey })
}

test('a month of a daily job is 30 runs, a few seconds later', async () => {
  const meridian = await sandbox()
  const clock = await meridian.testClocks.create({ name: 'June', now: '2031-06-01T00:00:00Z' })
  const job = await meridian.jobs.create({
    name: 'Daily invoices',
    target: { type: 'http', url: person.receiver.url(person.label, 'ok') },
    schedule: { type: 'cron', cron: '25 6 * * *', timezone: 'Europe/London' },
  })

  const { now } = await meridian.testClocks.advance(clock.id, { by: 'P1M' })

  expect(now).toBe('2031-07-01T00:00:00.000Z')
  const runs: string[] = []
  for await (const run of meridian.runs.list({ jobId: job.id, status: ['succeeded'] })) runs.push(run.dueAt)
  expect(runs).toHaveLength(30)
  expect(runs.at(-1)).toBe('2031-06-01T05:25:00.000Z')
  expect(runs[0]).toBe('2031-06-30T05:25:00.000Z')
  expect(await person.receiver.count(person.label)).toBe(30)
  const outcomes = new Set<string>()
  for await (const occurrence of meridian.jobs.occurrences(job.id, { from: '2031-06-01T00:00:00Z', to: now }))
    outcomes.add(occurrence.outcome)
  expect([...outcomes]).toEqual(['run'])
  await meridian.testClocks.delete(clock.id)
})
