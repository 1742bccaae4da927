import { randomUUID } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import { sleep, waitFor } from '../wait.ts'
import { Person, type WireRun } from './person.ts'

interface WireJob {
  id: string
  name: string
  version: number
  state: string
}

const person = await Person.meet()
const made: string[] = []
afterAll(async () => {
  await Promise.all(made.map((id) => person.api.send('DELETE', `/v1/jobs/${id}`)))
  await person.leave()
})

async function createJob(more: object, behaviour = 'ok'): Promise<WireJob> {
  const body = { name: `flow ${randomUUID()}`, target: person.target(behaviour), ...more }
  const job = await person.api.ask<WireJob>('POST', '/v1/jobs', body)
  made.push(job.id)
  return job
}

const runsOf = async (job: string) => (await person.api.ask<{ data: WireRun[] }>('GET', `/v1/runs?jobId=${job}`)).data

test('a job is created, run now, and its attempt is there to see', async () => {
  const job = await createJob({ schedule: { type: 'cron', cron: '25 6 * * *', timezone: 'Europe/London' } })
  const { id } = await person.api.ask<WireRun>('POST', `/v1/jobs/${job.id}/run`)
  expect(await person.ended(id)).toMatchObject({ status: 'succeeded', attempt: 1 })
  expect(await person.calls(id)).toHaveLength(1)
  expect((await runsOf(job.id)).map((run) => run.id)).toEqual([id])
})

test('the next instants of a crontab line are known before it is saved', async () => {
  const schedule = { type: 'cron', cron: '25 6 * * *', timezone: 'Europe/London' }
  const after = '2026-03-28T12:00:00.000Z'
  const { occurrences } = await person.api.ask<{ occurrences: { effectiveAt: string; offset: string }[] }>(
    'POST',
    '/v1/schedules/preview',
    { schedule, after, count: 2 },
  )
  expect(occurrences.map(({ effectiveAt, offset }) => [effectiveAt, offset])).toEqual([
    ['2026-03-29T05:25:00.000Z', '+01:00'],
    ['2026-03-30T05:25:00.000Z', '+01:00'],
  ])
})

test('a schedule of every second fires on the dot, until it is paused', async () => {
  const job = await createJob({ schedule: { type: 'every', every: 'PT1S' }, overlap: 'allow' })
  await waitFor(
    'four runs',
    async () => (await runsOf(job.id)).filter(({ status }) => status === 'succeeded').length >= 4,
  )
  await person.api.ask('POST', `/v1/jobs/${job.id}/pause`, { reason: 'enough' })
  await sleep(500)
  const before = (await runsOf(job.id)).length
  await sleep(2_500)
  expect((await runsOf(job.id)).length).toBe(before)

  const ids = (await runsOf(job.id)).map(({ id }) => id)
  const calls = (await person.receiver.requests(person.label)).filter(({ run }) => ids.includes(run))
  const nominal = calls.map(({ nominalAt }) => Date.parse(nominalAt ?? '')).sort((a, b) => a - b)
  const gaps = nominal.slice(1).map((instant, index) => instant - (nominal[index] ?? 0))
  expect(new Set(gaps)).toEqual(new Set([1_000]))
  expect(calls.filter(({ receivedAtMs, nominalAt }) => receivedAtMs < Date.parse(nominalAt ?? ''))).toEqual([])

  await person.api.ask('POST', `/v1/jobs/${job.id}/resume`)
  await waitFor('it to go on', async () => (await runsOf(job.id)).length > before)
})

test('an occurrence is skipped while the one before it is still running', async () => {
  const job = await createJob({ schedule: { type: 'every', every: 'PT1S' }, overlap: 'skip' }, 'slow/2500')
  const skipped = async () => (await runsOf(job.id)).filter(({ status }) => status === 'skipped').length >= 2
  await waitFor('two skipped runs', skipped)
  const { data } = await person.api.ask<{ data: { outcome: string; reason: string | null }[] }>(
    'GET',
    `/v1/jobs/${job.id}/occurrences`,
  )
  expect(data).toContainEqual(expect.objectContaining({ outcome: 'skipped', reason: 'overlap' }))
  expect(data).toContainEqual(expect.objectContaining({ outcome: 'run' }))
})

test('every change is a version, and any version can be restored', async () => {
  const job = await createJob({})
  const changed = await person.api.ask<WireJob>('PATCH', `/v1/jobs/${job.id}`, { name: 'changed' })
  expect(changed).toMatchObject({ name: 'changed', version: 2 })
  const restored = await person.api.ask<WireJob>('POST', `/v1/jobs/${job.id}/versions/1/restore`)
  expect(restored).toMatchObject({ name: job.name, version: 3 })
})

test('an external id makes a job once and then changes it', async () => {
  const externalId = `flow-${randomUUID()}`
  const put = (name: string) =>
    person.api.send<WireJob>('PUT', `/v1/jobs/by-external-id/${externalId}`, { name, target: person.target() })
  const first = await put('one')
  const second = await put('two')
  made.push(first.body.id)
  expect([first.status, second.status]).toEqual([201, 200])
  expect(second.body).toMatchObject({ id: first.body.id, name: 'two', version: 2 })
})
