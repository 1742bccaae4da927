import { randomUUID } from 'node:crypto'
import { expect, inject, test } from 'vitest'
import { Meridian, MeridianProblem, type Run } from '../src/index.ts'

const { url, apiKey } = inject('api')
const meridian = new Meridian({ baseUrl: url, apiKey })
const target = { type: 'http' as const, url: 'http://127.0.0.1:9/hook', body: { hello: 'world' } }
const inAnHour = () => new Date(Date.now() + 3_600_000)

test('a job is upserted, run and read', async () => {
  const externalId = randomUUID()
  const schedule = { type: 'cron' as const, cron: '25 6 * * *', timezone: 'Europe/London' }
  const job = await meridian.jobs.upsert({ externalId, name: 'Nightly', target, schedule })
  const again = await meridian.jobs.upsert({ externalId, name: 'Nightly', target, schedule })
  expect(again).toEqual(job)
  const run = await meridian.jobs.run(job.id, { dueAt: inAnHour() })
  expect(run).toMatchObject({ jobId: job.id, source: 'manual', status: 'scheduled' })
  expect((await meridian.jobs.getByExternalId(externalId)).id).toBe(job.id)
  await meridian.jobs.delete(job.id, { ifVersion: job.version })
  await expect(meridian.jobs.get(job.id)).rejects.toMatchObject({ code: 'not-found', status: 404 })
})

test('runs are created, cancelled and replayed', async () => {
  const run = await meridian.runs.create({ target, dueAt: inAnHour() })
  expect(run.status).toBe('scheduled')
  const ended = meridian.runs.ended(run.id)
  expect((await meridian.runs.cancel(run.id)).status).toBe('cancelled')
  expect(await ended).toMatchObject({ id: run.id, status: 'cancelled' })
  const replay = await meridian.runs.replay(run.id)
  expect(replay.replayOf).toBe(run.id)
  expect((await meridian.runs.request(replay.id)).url).toBe(target.url)
  expect((await meridian.runs.events(run.id)).map(({ type }) => type)).toEqual(['run.created', 'run.cancelled'])
  expect((await meridian.runs.rehearse({ target })).status).toBe('ready')
})

test('a list is iterated over its pages, or one page is read', async () => {
  const queue = `pages-${randomUUID().slice(0, 8)}`
  const made = await meridian.runs.createMany(Array.from({ length: 25 }, () => ({ target, queue, dueAt: inAnHour() })))
  const ids = made.flatMap((row) => (row.status === 'refused' ? [] : [(row as Run).id]))
  const seen: string[] = []
  for await (const run of meridian.runs.list({ queue, limit: 7 })) seen.push(run.id)
  expect(seen.toSorted()).toEqual(ids.toSorted())
  const first = await meridian.runs.list({ queue, limit: 7 }).page()
  expect(first.data).toHaveLength(7)
  const sizes: number[] = []
  for await (const page of meridian.runs.list({ queue, limit: 10 }).pages()) sizes.push(page.data.length)
  expect(sizes).toEqual([10, 10, 5])
  expect((await meridian.runs.list({ queue, status: ['failed', 'scheduled'], limit: 200 }).page()).data).toHaveLength(
    25,
  )
})

test('a schedule is previewed', async () => {
  const preview = await meridian.schedules.preview({
    schedule: { type: 'cron', cron: '25 6 * * *', timezone: 'Europe/London' },
    after: new Date('2026-03-28T12:00:00Z'),
    count: 1,
  })
  expect(preview.occurrences[0]).toMatchObject({ nominalAt: '2026-03-29T05:25:00.000Z', offset: '+01:00' })
})

test('a problem says what is wrong, where, and under which request', async () => {
  const failed = meridian.schedules.preview({ schedule: { type: 'cron', cron: '61 * * * *', timezone: 'UTC' } })
  const problem = await failed.catch((error: unknown) => error)
  expect(problem).toBeInstanceOf(MeridianProblem)
  expect(problem).toMatchObject({
    code: 'validation-failed',
    status: 422,
    requestId: expect.stringMatching(/^req_/),
    errors: [{ pointer: '/schedule/cron', detail: expect.any(String) }],
  })
  const stranger = new Meridian({ baseUrl: url, apiKey: `mk_${'x'.repeat(43)}` })
  await expect(stranger.me()).rejects.toMatchObject({ code: 'unauthenticated' })
})

test('breakers are opened, listed, closed and configured', async () => {
  const host = `${randomUUID()}.example.com`
  const breaker = await meridian.breakers.open({ host, reason: 'test' })
  const ids = (await meridian.breakers.list().page()).data.map(({ id }) => id)
  expect(ids).toContain(breaker.id)
  expect((await meridian.breakers.close(breaker.id)).state).toBe('draining')
  expect((await meridian.breakers.get(breaker.id)).host).toBe(host)
  const { version } = await meridian.breakers.settings()
  expect((await meridian.breakers.configure({ failures: 25 }, { ifVersion: version })).failures).toBe(25)
})

test('queues, keys, projects and stats are there', async () => {
  const queue = await meridian.queues.create({ name: `q-${randomUUID().slice(0, 8)}`, concurrency: 5 })
  expect((await meridian.queues.pause(queue.name, { reason: 'test' })).pauseReason).toBe('test')
  expect((await meridian.queues.resume(queue.name)).pausedAt).toBeNull()
  const key = await meridian.keys.create({ name: 'short', scopes: ['runs:read'], expiresAt: inAnHour() })
  expect(await new Meridian({ baseUrl: url, apiKey: key.secret }).me()).toMatchObject({
    kind: 'key',
    scopes: ['runs:read'],
  })
  expect((await meridian.keys.revoke(key.id)).revokedAt).not.toBeNull()
  const [project] = (await meridian.projects.list().page()).data
  expect((await meridian.projects.update(project?.id ?? '', {}, { ifVersion: project?.version ?? 0 })).id).toBe(
    project?.id,
  )
  expect((await meridian.stats.runs({ buckets: 4 })).buckets).toHaveLength(4)
  expect(await meridian.stats.open()).toHaveProperty('running')
  expect(await meridian.stats.upcoming()).toEqual(expect.any(Array))
  expect(await meridian.system()).toHaveProperty('tzVersion')
})

test('events are followed from where one was, and the stream ends when asked', async () => {
  const controller = new AbortController()
  const job = await meridian.jobs.create({ name: 'watched', target })
  const seen: string[] = []
  for await (const event of meridian.events.stream({ lastEventId: '0-0', signal: controller.signal })) {
    if (event.type === 'stream.ready' || event.type === 'stream.reset' || event.subject !== job.id) continue
    seen.push(event.type)
    controller.abort()
  }
  expect(seen).toEqual(['job.created'])
})
