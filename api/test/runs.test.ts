import { afterAll, beforeAll, expect, test } from 'vitest'
import { inAnHour, type Job, type Page, type Problem, type Run, startTestApi, type TestApi, target } from './api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.close())

test('a run is accepted, and is there to be read', async () => {
  const { client } = await api.tenant()
  const dueAt = inAnHour()
  const created = await client.post<Run>('/v1/runs', { target, dueAt, queue: 'reports', priority: 1 })
  expect(created.status).toBe(201)
  expect(created.body).toMatchObject({ status: 'scheduled', dueAt, queue: 'reports', priority: 1, source: 'api' })
  expect(created.body).toMatchObject({ attempt: 0, attemptsMax: 6, startedAt: null, finishedAt: null })
  const read = await client.get<Run>(`/v1/runs/${created.body.id}`)
  expect(read.body).toEqual(created.body)
})

test('many reads at once each find their own run, whoever asks, and what is not there is not found', async () => {
  const [mine, theirs] = [await api.tenant(), await api.tenant()]
  const runs = Array.from({ length: 40 }, () => ({ target, dueAt: inAnHour() }))
  const { body } = await mine.client.post<{ data: Run[] }>('/v1/runs/batch', { runs })
  const reads = body.data.map(async ({ id }) => {
    expect((await mine.client.get<Run>(`/v1/runs/${id}`)).body).toMatchObject({ id, status: 'scheduled' })
    expect((await theirs.client.get(`/v1/runs/${id}`)).status).toBe(404)
  })
  const gone = mine.client.get('/v1/runs/run_01jzzzzzzzfzzrzzzzzzzzzzzz')
  await Promise.all(reads)
  expect((await gone).status).toBe(404)
})

test('a dry run checks everything and writes nothing, not even a new queue', async () => {
  const { client } = await api.tenant()
  const answer = await client.post<Run>('/v1/runs?dryRun=true', { target, queue: 'never-made' })
  expect(answer.status).toBe(200)
  expect(answer.body.status).toBe('ready')
  expect((await client.get(`/v1/runs/${answer.body.id}`)).status).toBe(404)
  expect((await client.get('/v1/queues/never-made')).status).toBe(404)
  expect((await client.post('/v1/runs?dryRun=true', { target: { type: 'http' } })).status).toBe(422)
})

test('a batch answers each row in its place, and bad rows spoil nothing', async () => {
  const { client } = await api.tenant()
  const good = { target, dueAt: inAnHour() }
  const bad = { target: { ...target, url: 'ftp://example.com/' } }
  const { status, body } = await client.post<{ data: (Run | { status: 'refused'; problem: Problem })[] }>(
    '/v1/runs/batch',
    { runs: [good, bad, { ...good, colour: 'red' }, good] },
  )
  expect(status).toBe(200)
  expect(body.data.map((row) => row.status)).toEqual(['scheduled', 'refused', 'refused', 'scheduled'])
  const problems = body.data.flatMap((row) => (row.status === 'refused' && 'problem' in row ? row.problem.errors : []))
  expect(problems?.map((error) => error?.pointer)).toEqual(['/runs/1/target/url', '/runs/2/colour'])
  expect((await client.get<Page<Run>>('/v1/runs')).body.data).toHaveLength(2)
})

test('a batch sent again with its key makes nothing new; another batch with that key is refused as a whole', async () => {
  const { client } = await api.tenant()
  const runs = [1, 2, 3].map((index) => ({ target: { ...target, body: index }, dueAt: inAnHour() }))
  const key = { 'idempotency-key': 'batch-1' }
  const first = await client.post<Page<Run>>('/v1/runs/batch', { runs }, key)
  const again = await client.post<Page<Run>>('/v1/runs/batch', { runs }, key)
  expect(again.body).toEqual(first.body)
  expect((await client.post('/v1/runs/batch', { runs: runs.slice(1) }, key)).status).toBe(422)
  expect((await client.get<Page<Run>>('/v1/runs')).body.data).toHaveLength(3)
})

test('lists filter by status, queue, source and time of creation', async () => {
  const { client } = await api.tenant()
  const before = new Date().toISOString()
  const later = await client.post<Run>('/v1/runs', { target, dueAt: inAnHour(), queue: 'later' })
  const now = await client.post<Run>('/v1/runs', { target })
  const ids = async (query: string) => (await client.get<Page<Run>>(`/v1/runs?${query}`)).body.data.map(({ id }) => id)
  expect(await ids('')).toEqual([now.body.id, later.body.id])
  expect(await ids('status=scheduled')).toEqual([later.body.id])
  expect(await ids('status=scheduled,ready')).toEqual([now.body.id, later.body.id])
  expect(await ids('status=scheduled&status=ready')).toEqual([now.body.id, later.body.id])
  expect(await ids('queue=later')).toEqual([later.body.id])
  expect(await ids('queue=nowhere')).toEqual([])
  expect(await ids('source=replay')).toEqual([])
  expect(await ids(`createdTo=${encodeURIComponent(before)}`)).toEqual([])
  expect(await ids(`createdFrom=${encodeURIComponent(before)}`)).toEqual([now.body.id, later.body.id])
})

test('a cancelled run has ended for good: cancelling again is the same answer, and its end is told', async () => {
  const { client } = await api.tenant()
  const { body } = await client.post<Run>('/v1/runs', { target, dueAt: inAnHour() })
  const cancelled = await client.post<Run>(`/v1/runs/${body.id}/cancel`)
  expect(cancelled.body.status).toBe('cancelled')
  expect((await client.post<Run>(`/v1/runs/${body.id}/cancel`)).body).toEqual(cancelled.body)
  const events = await client.get<Page<{ type: string; subject: string }>>(`/v1/runs/${body.id}/events`)
  expect(events.body.data.map(({ type, subject }) => [type, subject])).toEqual([
    ['run.created', body.id],
    ['run.cancelled', body.id],
  ])
})

test('a replay is a new run that names the old one, with its request or another body', async () => {
  const { client } = await api.tenant()
  const { body } = await client.post<Run>('/v1/runs', { target, dueAt: inAnHour() })
  expect((await client.post(`/v1/runs/${body.id}/replay`)).status).toBe(409)
  await client.post(`/v1/runs/${body.id}/cancel`)
  const replay = await client.post<Run>(`/v1/runs/${body.id}/replay`, { body: 'other words' })
  expect(replay.status).toBe(201)
  expect(replay.body).toMatchObject({ replayOf: body.id, source: 'replay' })
  const sent = await client.get(`/v1/runs/${replay.body.id}/request`)
  expect(sent.body).toMatchObject({ method: 'POST', url: target.url, body: 'other words', bodyEncoding: 'utf8' })
})

test('what was sent and logged is only for those who may see payloads', async () => {
  const { client, apiKey } = await api.tenant()
  const { body } = await client.post<Run>('/v1/runs', { target, dueAt: inAnHour() })
  const lines = { lines: [{ level: 'info', message: 'halfway there' }] }
  expect((await client.post(`/v1/runs/${body.id}/logs`, lines)).status).toBe(201)
  const logs = await client.get<Page<{ message: string }>>(`/v1/runs/${body.id}/logs`)
  expect(logs.body.data.map(({ message }) => message)).toEqual(['halfway there'])
  expect((await client.get(`/v1/runs/${body.id}/attempts`)).body).toEqual({ data: [], nextCursor: null })
  expect((await client.get(`/v1/runs/${body.id}/response`)).status).toBe(404)

  const made = await api.as(apiKey).post<{ secret: string }>('/v1/keys', { name: 'blind', scopes: ['runs:read'] })
  const blind = api.as(made.body.secret)
  expect((await blind.get(`/v1/runs/${body.id}`)).status).toBe(200)
  for (const part of ['request', 'response', 'logs']) {
    const refused = await blind.get(`/v1/runs/${body.id}/${part}`)
    expect([refused.status, refused.body.detail]).toEqual([403, 'This needs the scope payloads:read.'])
  }
})

test('a target can be tried once, without retries', async () => {
  const { client } = await api.tenant()
  const { status, body } = await client.post<Run>('/v1/targets/test', { target })
  expect(status).toBe(201)
  expect(body).toMatchObject({ status: 'ready', priority: 1, attemptsMax: 1, jobId: null })
})

test('why a run waits, and why a job does, is told in codes with evidence on the wire', async () => {
  const { client } = await api.tenant()
  const job = (await client.post<Job>('/v1/jobs', { name: 'why', target })).body
  const run = (await client.post<Run>('/v1/runs', { target, dueAt: '2099-01-01T00:00:00Z', endWithin: 'PT1H' })).body
  expect(await client.get(`/v1/runs/${run.id}/why`)).toMatchObject({
    status: 200,
    body: {
      reasons: [
        { code: 'not-due', evidence: { at: '2099-01-01T00:00:00.000Z' }, expectedAt: '2099-01-01T00:00:00.000Z' },
      ],
      isWaiting: true,
      expiresAt: '2099-01-01T01:00:00.000Z',
    },
  })
  await client.post(`/v1/jobs/${job.id}/pause`, { reason: 'moving' })
  expect((await client.get(`/v1/jobs/${job.id}/why`)).body).toMatchObject({
    reasons: [
      { code: 'job-paused', evidence: { reason: 'moving', by: expect.stringMatching(/^key_/) } },
      { code: 'no-schedule' },
    ],
    expectedAt: null,
  })
})
