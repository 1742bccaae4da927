import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Job, type Page, type Problem, type Run, startTestApi, type TestApi, target } from './api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.close())

const schedule = { type: 'cron', cron: '25 6 * * *', timezone: 'Europe/London' }

test('a job is stored as it was given, with its defaults, and knows when it runs next', async () => {
  const { client } = await api.tenant()
  const { status, body } = await client.post<Job>('/v1/jobs', { name: 'Nightly', target, schedule, tags: ['billing'] })
  expect(status).toBe(201)
  expect(body).toMatchObject({ name: 'Nightly', version: 1, state: 'active', queue: 'default', overlap: 'skip' })
  expect(body.target).toEqual({ ...target, method: 'POST', headers: {}, timeout: 'PT30S' })
  expect(new Date(body.nextAt ?? 0).getTime()).toBeGreaterThan(Date.now())
  expect((await client.get<Job>(`/v1/jobs/${body.id}`)).body).toEqual(body)
})

test('YAML says the same as JSON', async () => {
  const { client } = await api.tenant()
  const yaml = `
name: Nightly
target: { type: http, url: "https://example.com/" }
schedule:
  type: cron
  cron: 25 6 * * *
  timezone: Europe/London
`
  const { status, body } = await client.post<Job>('/v1/jobs', yaml, { 'content-type': 'application/yaml' })
  expect(status).toBe(201)
  expect(body.schedule).toEqual(schedule)
  const wrong = await client.post<Problem>('/v1/jobs', 'name: [1,\n  2', { 'content-type': 'application/yaml' })
  expect(wrong.status).toBe(400)
  expect(wrong.body.detail).toMatch(/line 2/)
})

test('an edit with a stale ETag is refused, and a copy that is still the same is not sent again', async () => {
  const { client } = await api.tenant()
  const { body, headers } = await client.post<Job>('/v1/jobs', { name: 'one', target })
  const etag = headers.get('etag') ?? ''
  const path = `/v1/jobs/${body.id}`
  const read = await client.get(path)
  expect((await client.get(path, { 'if-none-match': read.headers.get('etag') ?? '' })).status).toBe(304)

  const edited = await client.send<Job>('PATCH', path, { name: 'two' }, { 'if-match': etag })
  expect(edited.body).toMatchObject({ name: 'two', version: 2 })
  const stale = await client.send<Problem>('PATCH', path, { name: 'three' }, { 'if-match': etag })
  expect([stale.status, stale.body.current]).toEqual([412, { version: 2 }])
  expect((await client.send('DELETE', path, undefined, { 'if-match': etag })).status).toBe(412)
  expect((await client.send('PATCH', path, {}, { 'if-match': 'W/nonsense' })).status).toBe(400)
  expect((await client.get(path, { 'if-none-match': read.headers.get('etag') ?? '' })).status).toBe(200)
  expect((await client.send('DELETE', path, undefined, { 'if-match': '"2"' })).status).toBe(204)
  expect((await client.get(path)).status).toBe(404)
})

test('an edit that only runs have touched meanwhile is no conflict', async () => {
  const { client } = await api.tenant()
  const { body, headers } = await client.post<Job>('/v1/jobs', { name: 'one', target, schedule })
  await client.post(`/v1/jobs/${body.id}/pause`)
  const edited = await client.send(
    'PATCH',
    `/v1/jobs/${body.id}`,
    { name: 'two' },
    { 'if-match': headers.get('etag') ?? '' },
  )
  expect(edited.status).toBe(200)
})

test('an upsert makes a job once, changes it, and leaves it alone when nothing differs', async () => {
  const { client } = await api.tenant()
  const put = (name: string) => client.send<Job>('PUT', '/v1/jobs/by-external-id/a%2Fb', { name, target })
  const made = await put('one')
  expect([made.status, made.body.version, made.body.externalId]).toEqual([201, 1, 'a/b'])
  const same = await put('one')
  expect([same.status, same.body.version]).toEqual([200, 1])
  const changed = await put('two')
  expect([changed.status, changed.body.version, changed.body.id]).toEqual([200, 2, made.body.id])
  expect((await client.get<Job>('/v1/jobs/by-external-id/a%2Fb')).body.name).toBe('two')
  const taken = await client.post<Problem>('/v1/jobs', { name: 'three', externalId: 'a/b', target })
  expect([taken.status, taken.body.current]).toEqual([409, { id: made.body.id }])
})

test('pausing takes the next instant away, resuming gives it back', async () => {
  const { client } = await api.tenant()
  const { body } = await client.post<Job>('/v1/jobs', { name: 'one', target, schedule })
  const paused = await client.post<Job>(`/v1/jobs/${body.id}/pause`, { reason: 'moving house' })
  expect(paused.body).toMatchObject({ state: 'paused', pauseReason: 'moving house', nextAt: null })
  expect(paused.body.pausedBy).toMatch(/^key_/)
  const resumed = await client.post<Job>(`/v1/jobs/${body.id}/resume`)
  expect(resumed.body).toMatchObject({ state: 'active', pausedAt: null, nextAt: body.nextAt })
})

test('any version can be read and restored', async () => {
  const { client } = await api.tenant()
  const { body } = await client.post<Job>('/v1/jobs', { name: 'one', target })
  await client.send('PATCH', `/v1/jobs/${body.id}`, { name: 'two', target: { ...target, body: 'other' } })
  const versions = await client.get<Page<{ version: number }>>(`/v1/jobs/${body.id}/versions`)
  expect(versions.body.data.map(({ version }) => version)).toEqual([2, 1])
  const first = await client.get(`/v1/jobs/${body.id}/versions/1`)
  expect(first.body).toMatchObject({ version: 1, definition: { name: 'one' }, target: { body: target.body } })
  const restored = await client.post<Job>(`/v1/jobs/${body.id}/versions/1/restore`)
  expect(restored.body).toMatchObject({ name: 'one', version: 3, target: { body: target.body } })
  expect((await client.get(`/v1/jobs/${body.id}/versions/4`)).status).toBe(404)
  expect((await client.get(`/v1/jobs/${body.id}/versions/first`)).status).toBe(404)
})

test('a job is run by hand, with other words if wanted', async () => {
  const { client } = await api.tenant()
  const { body } = await client.post<Job>('/v1/jobs', { name: 'one', target })
  const run = await client.post<Run>(`/v1/jobs/${body.id}/run`, { body: { hello: 'again' } })
  expect(run.status).toBe(201)
  expect(run.body).toMatchObject({ jobId: body.id, jobVersion: 1, source: 'manual', status: 'ready' })
  expect((await client.get(`/v1/runs/${run.body.id}/request`)).body.body).toBe('{"hello":"again"}')
  expect((await client.get<Page<Run>>(`/v1/runs?jobId=${body.id}`)).body.data).toHaveLength(1)
})

test('lists find jobs by name, tag, queue, state and external id, and bring their last runs along', async () => {
  const { client } = await api.tenant()
  const invoices = { name: 'Invoices', externalId: 'inv', tags: ['billing'], queue: 'money', target }
  const a = await client.post<Job>('/v1/jobs', invoices)
  const b = await client.post<Job>('/v1/jobs', { name: 'Backups', target, schedule })
  await client.post(`/v1/jobs/${b.body.id}/pause`)
  const names = async (query: string) =>
    (await client.get<Page<Job>>(`/v1/jobs?${query}`)).body.data.map(({ name }) => name)
  expect(await names('')).toEqual(['Backups', 'Invoices'])
  expect(await names('search=voice')).toEqual(['Invoices'])
  expect(await names('tag=billing')).toEqual(['Invoices'])
  expect(await names('queue=money')).toEqual(['Invoices'])
  expect(await names('state=paused')).toEqual(['Backups'])
  expect(await names('externalId=inv')).toEqual(['Invoices'])
  expect(await names('externalId=none')).toEqual([])

  const run = await client.post<Run>(`/v1/jobs/${a.body.id}/run`)
  await client.post(`/v1/runs/${run.body.id}/cancel`)
  const listed = await client.get<
    Page<{ recent: { runs: { id: string; status: string }[]; successRate: number | null } }>
  >('/v1/jobs?externalId=inv&include=recent')
  expect(listed.body.data[0]?.recent).toMatchObject({
    runs: [{ id: run.body.id, status: 'cancelled' }],
    successRate: null,
    week: { succeeded: 0, failed: 0, successRate: null },
  })
})

test('without payloads:read a job shows where it leads, not what it carries', async () => {
  const { client } = await api.tenant()
  const secret = { ...target, url: `${target.url}?token=hidden`, headers: { 'x-key': 'hidden' } }
  const { body } = await client.post<Job>('/v1/jobs', { name: 'one', target: secret })
  const key = await client.post<{ secret: string }>('/v1/keys', { name: 'blind', scopes: ['jobs:read'] })
  const seen = await api.as(key.body.secret).get<Job>(`/v1/jobs/${body.id}`)
  expect(seen.body.isTargetReduced).toBe(true)
  expect(seen.text).not.toContain('hidden')
})

test('the ledger of a schedule is listed, and what schedules will do', async () => {
  const { client } = await api.tenant()
  const { body } = await client.post<Job>('/v1/jobs', { name: 'one', target, schedule })
  expect((await client.get<Page<unknown>>(`/v1/jobs/${body.id}/occurrences`)).body).toEqual({
    data: [],
    nextCursor: null,
  })
  const upcoming = await client.get<{ data: { jobId: string; nominalAt: string }[] }>('/v1/upcoming')
  expect(upcoming.body.data.map(({ jobId, nominalAt }) => [jobId, nominalAt])).toEqual([[body.id, body.nextAt]])
})

test('the preview is what design promises, and its problems point into the request', async () => {
  const { client } = await api.tenant()
  const answer = await client.post('/v1/schedules/preview', { schedule, after: '2026-03-28T12:00:00.000Z', count: 2 })
  expect(answer.body).toMatchObject({
    occurrences: [
      {
        nominalAt: '2026-03-29T05:25:00.000Z',
        effectiveAt: '2026-03-29T05:25:00.000Z',
        local: '2026-03-29T06:25:00',
        offset: '+01:00',
      },
      { nominalAt: '2026-03-30T05:25:00.000Z' },
    ],
    warnings: [],
  })
  const wrong = async (change: object) =>
    (
      await client.post<Problem>('/v1/schedules/preview', { schedule: { ...schedule, ...change }, count: 1 })
    ).body.errors?.map(({ pointer }) => pointer)
  expect(await wrong({ cron: '61 * * * *' })).toEqual(['/schedule/cron'])
  expect(await wrong({ timezone: 'Mars/Base' })).toEqual(['/schedule/timezone'])
  expect(await wrong({ colour: 'red' })).toEqual(['/schedule/colour'])
  expect(await wrong({ type: 'sometimes' })).toEqual(['/schedule/type'])
})

test('private addresses are refused where they are not allowed', async () => {
  const strict = await startTestApi({ ALLOW_PRIVATE_TARGETS: 'false' })
  try {
    const { client } = await strict.tenant()
    const pointers = (problem: Problem) => problem.errors?.map(({ pointer }) => pointer)
    const job = await client.post<Problem>('/v1/jobs', { name: 'one', target })
    expect([job.status, pointers(job.body)]).toEqual([422, ['/target/url']])
    const run = await client.post<Problem>('/v1/runs', { target: { ...target, url: 'http://[::ffff:127.0.0.1]/' } })
    expect([run.status, pointers(run.body)]).toEqual([422, ['/target/url']])
  } finally {
    await strict.close()
  }
})

test('a dry run of an edit tells what would change, and changes nothing', async () => {
  const { client } = await api.tenant()
  const { body: job } = await client.post<Job>('/v1/jobs', { name: 'Nightly', target, schedule })
  const path = `/v1/jobs/${job.id}`
  const change = { schedule: { ...schedule, cron: '25 6,18 * * *' } }
  const { status, body } = await client.send<{
    job: Job
    added: { count: number; first: { local: string }[] }
    removed: { count: number }
    kept: number
  }>('PATCH', `${path}?dryRun=true`, change)
  expect([status, body.job.version, body.added.count, body.removed.count, body.kept]).toEqual([200, 2, 30, 0, 30])
  expect(body.added.first[0]?.local.slice(11)).toBe('18:25:00')
  expect((await client.get<Job>(path)).body).toEqual(job)
  const refused = await client.send<Problem>('PATCH', `${path}?dryRun=true`, {
    schedule: { type: 'cron', cron: '61 * * * *' },
  })
  expect(refused.status).toBe(422)
  expect((await client.send('PATCH', `${path}?dryRun=maybe`, change)).status).toBe(422)
})

test('one occurrence is skipped, moved and annotated by its nominal instant', async () => {
  const { client } = await api.tenant()
  const at = (minutes: number): string => new Date(Math.floor(Date.now() / 60_000 + minutes) * 60_000).toISOString()
  const schedule = { type: 'every', every: 'PT10M', anchor: at(10) }
  const { id } = (await client.post<{ id: string }>('/v1/jobs', { name: 'edited', target, schedule })).body
  const path = (minutes: number): string => `/v1/jobs/${id}/occurrences/${encodeURIComponent(at(minutes))}`
  const skipped = await client.send('PATCH', path(10), { skip: true, note: 'holiday' })
  expect(JSON.parse(skipped.text)).toMatchObject({ outcome: 'skipped', reason: 'edited', note: 'holiday' })
  const moved = await client.send('PATCH', path(20), { moveTo: at(25) })
  expect(JSON.parse(moved.text)).toMatchObject({ outcome: 'pending', isMoved: true, effectiveAt: at(25) })
  expect((await client.send('PATCH', path(11), { skip: true })).status).toBe(404)
  expect((await client.send('PATCH', `/v1/jobs/${id}/occurrences/tomorrow`, { skip: true })).status).toBe(404)
  const past = await client.send('PATCH', path(30), { moveTo: at(-1) })
  expect([past.status, JSON.parse(past.text)]).toMatchObject([422, { errors: [{ pointer: '/moveTo' }] }])
  const { body } = await client.get<{ data: { nominalAt: string }[] }>(`/v1/jobs/${id}/occurrences`)
  expect(body.data.map(({ nominalAt }) => nominalAt)).toEqual([at(10), at(20)])
})

test('an archived job is in no list that does not ask for it, can not be changed, and comes back', async () => {
  const { client } = await api.tenant()
  const { body } = await client.post<Job>('/v1/jobs', { name: 'Reminder', target, schedule, afterLastRun: 'archive' })
  const path = `/v1/jobs/${body.id}`
  expect((await client.send('POST', `${path}/archive`, undefined, { 'if-match': '"7"' })).status).toBe(412)
  const archived = await client.post<Job>(`${path}/archive`)
  expect([archived.status, archived.body]).toMatchObject([
    200,
    { state: 'archived', archivedAt: expect.any(String), nextAt: null, afterLastRun: 'archive' },
  ])
  const idsOf = async (query: string) => (await client.get<Page<Job>>(`/v1/jobs${query}`)).body.data.map(({ id }) => id)
  expect([await idsOf(''), await idsOf('?state=archived')]).toEqual([[], [body.id]])
  for (const [method, way, change] of [
    ['PATCH', '', { name: 'Another' }],
    ['POST', '/run', undefined],
    ['POST', '/pause', undefined],
    ['POST', '/resume', undefined],
    ['POST', '/mode', { mode: 'shadow' }],
    ['POST', '/versions/1/restore', undefined],
  ] as const) {
    const refused = await client.send<Problem>(method, `${path}${way}`, change)
    expect([way, refused.status, refused.body]).toMatchObject([
      way,
      409,
      { code: 'invalid-transition', current: { state: 'archived' } },
    ])
  }
  const back = await client.post<Job>(`${path}/unarchive`)
  expect([back.status, back.body]).toMatchObject([200, { state: 'active', archivedAt: null, nextAt: body.nextAt }])
})

test('the ledger is counted by the days of a zone', async () => {
  const { client } = await api.tenant()
  const { id } = (await client.post<{ id: string }>('/v1/jobs', { name: 'counted', target, schedule })).body
  const nominalAt = (await client.get<Job>(`/v1/jobs/${id}`)).body.nextAt ?? ''
  const path = `/v1/jobs/${id}/occurrences`
  await client.send('PATCH', `${path}/${nominalAt}`, { skip: true })
  const tokyo = await client.get(`${path}/counts?timezone=Asia/Tokyo`)
  // 06:25 in London is the afternoon of the same day in Tokyo, which began at 15:00 UTC of the day before.
  const day = new Date(Date.parse(nominalAt) - 86_400_000).toISOString().slice(0, 10)
  expect(tokyo.body).toEqual({
    counts: [{ from: `${day}T15:00:00.000Z`, pending: 0, run: 0, failed: 0, skipped: 1, missed: 0 }],
    stretches: [],
  })
  const listed = await client.get<Page<{ runStatus: string | null }>>(path)
  expect(listed.body.data.map(({ runStatus }) => runStatus)).toEqual([null])
  const tooLong = await client.get<Problem>(`${path}/counts?by=minute`)
  expect([tooLong.status, tooLong.body.errors?.[0]?.pointer]).toEqual([422, '/from'])
  expect((await client.get(`${path}/counts?timezone=Mars/Base`)).status).toBe(422)
})
