import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Job, type Page, type Problem, startTestApi, type TestApi, target } from './api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startTestApi()
})
afterAll(() => api.close())

interface Calendar {
  id: string
  name: string
  version: number
  dates: string[]
  use?: { count: number; jobs: { id: string; name: string }[] }
}

test('a calendar is made, changed by who has seen it last, and every version stays', async () => {
  const { client } = await api.tenant()
  const made = await client.post<Calendar>('/v1/calendars', { name: 'feasts', dates: ['2026-12-25'] })
  expect([made.status, made.body.version, made.body.id.slice(0, 4)]).toEqual([201, 1, 'cal_'])
  const path = '/v1/calendars/feasts'
  const etag = made.headers.get('etag') ?? ''
  const changed = await client.send<Calendar>('PATCH', path, { dates: ['2026-12-26'] }, { 'if-match': etag })
  expect(changed.body).toMatchObject({ version: 2, dates: ['2026-12-26'] })
  expect((await client.send('PATCH', path, { dates: [] }, { 'if-match': etag })).status).toBe(412)
  expect((await client.get<Calendar>(`${path}/versions/1`)).body.dates).toEqual(['2026-12-25'])
  expect((await client.get<Page<Calendar>>(`${path}/versions`)).body.data.map(({ version }) => version)).toEqual([2, 1])
  expect((await client.get<Page<Calendar>>('/v1/calendars')).body.data).toEqual([{ ...changed.body, jobCount: 0 }])
  const wrong = await client.send<Problem>('PATCH', path, {
    weekly: [{ days: ['NOON'], from: '09:00', until: '10:00' }],
  })
  expect([wrong.status, wrong.body.errors?.map(({ pointer }) => pointer)]).toEqual([422, ['/weekly/0/days/0']])
})

test('a calendar in use is kept, and the answer names the jobs', async () => {
  const { client } = await api.tenant()
  await client.post('/v1/calendars', { name: 'closed', dates: ['2026-12-25'] })
  const schedule = { type: 'cron', cron: '0 6 * * *', timezone: 'Europe/London' }
  const { body: job } = await client.post<Job>('/v1/jobs', { name: 'Nightly', target, schedule })
  await api.db.owner.query(`update schedules set spec = spec || '{"notOn": ["closed"]}' where spec ->> 'cron' = $1`, [
    schedule.cron,
  ])
  const kept = await client.send<Problem>('DELETE', '/v1/calendars/closed')
  expect([kept.status, kept.body.current]).toEqual([409, { count: 1, jobs: [{ id: job.id, name: 'Nightly' }] }])
  expect((await client.get<Calendar>('/v1/calendars/closed')).body.use).toEqual(kept.body.current)
  expect((await client.get<Page<{ jobCount: number }>>('/v1/calendars')).body.data[0]?.jobCount).toBe(1)
  await client.send('DELETE', `/v1/jobs/${job.id}`)
  expect((await client.send('DELETE', '/v1/calendars/closed')).status).toBe(204)
  expect((await client.get('/v1/calendars/closed')).status).toBe(404)
})

test('blackouts are set and lifted, and those that are over can be left out', async () => {
  const { client } = await api.tenant()
  const past = await client.post('/v1/blackouts', {
    name: 'past',
    from: '2020-01-01T00:00Z',
    until: '2020-01-02T00:00Z',
  })
  const body = { name: 'move', from: '2040-01-01T00:00:00Z', until: '2040-01-01T06:00:00Z', roll: 'next' }
  const { body: made, status } = await client.post<{ id: string }>('/v1/blackouts', body)
  expect([past.status, status]).toEqual([201, 201])
  expect(made).toMatchObject({ name: 'move', from: '2040-01-01T00:00:00.000Z', roll: 'next', isForAll: false })
  const open = await client.get<Page<unknown>>('/v1/blackouts?open=true')
  expect(open.body.data).toEqual([made])
  expect((await client.get<Page<unknown>>('/v1/blackouts')).body.data).toHaveLength(2)
  const backwards = await client.send<Problem>('PATCH', `/v1/blackouts/${made.id}`, { until: body.from })
  expect([backwards.status, backwards.body.errors?.[0]?.pointer]).toEqual([422, '/until'])
  expect((await client.post('/v1/blackouts', { ...body, isForAll: true })).status).toBe(403)
  expect((await client.send('DELETE', `/v1/blackouts/${made.id}`)).status).toBe(204)
})

test('the days of a calendar are told before it is saved, and the places whose holidays are known', async () => {
  const { client } = await api.tenant()
  const calendar = { holidays: [{ country: 'DE', state: 'BY' }], ranges: [{ from: '2027-01-07', until: '2027-01-07' }] }
  const days = await client.post('/v1/calendars/days', { calendar, from: '2027-01-02', until: '2027-01-08' })
  const hours = [{ from: '00:00', until: '24:00' }]
  expect(days.body).toEqual({
    data: [
      { date: '2027-01-06', hours, holiday: 'Heilige Drei Könige' },
      { date: '2027-01-07', hours, holiday: null },
    ],
  })
  const wrong = { calendar: { holidays: [{ country: 'XX' }] }, from: '2027-01-02', until: '2027-01-08' }
  const refused = await client.post<Problem>('/v1/calendars/days', wrong)
  expect([refused.status, refused.body.errors?.[0]?.pointer]).toEqual([422, '/calendar/holidays/0'])
  const places = await client.get<{ data: unknown[] }>('/v1/holiday-places?country=DE&state=BY')
  expect(places.body.data).toContainEqual({ code: 'A', name: 'Stadt Augsburg' })
})

test('a job runs by a calendar, and the preview of a draft says what it will do to it', async () => {
  const { client } = await api.tenant()
  await client.post('/v1/calendars', { name: 'feasts', dates: ['2031-12-25', '2031-12-26'] })
  const draft = { type: 'cron', cron: '0 6 * * *', timezone: 'Europe/London', notOn: ['feasts'] }
  const after = '2031-12-24T00:00:00Z'
  const preview = async (schedule: object) =>
    (
      await client.post<{
        occurrences: { nominalAt: string; effectiveAt: string; notes: string[]; skipped?: string }[]
      }>('/v1/schedules/preview', { schedule, after, count: 3 })
    ).body.occurrences
  const skipped = await preview({ ...draft, roll: 'skip' })
  // What is left out is shown as well, with the reason.
  expect(skipped.map((each) => [each.nominalAt.slice(8, 10), each.skipped])).toEqual([
    ['24', undefined],
    ['25', 'calendar'],
    ['26', 'calendar'],
  ])
  const rolled = await preview({ ...draft, cron: '0 6 25 * *', roll: 'next' })
  expect([rolled[0]?.nominalAt, rolled[0]?.effectiveAt]).toEqual([
    '2031-12-25T06:00:00.000Z',
    '2031-12-27T06:00:00.000Z',
  ])
  expect(rolled[0]?.notes).not.toEqual([])

  const unknown = { ...draft, notOn: ['feasts', 'nobody'] }
  for (const [path, body] of [
    ['/v1/schedules/preview', { schedule: unknown, count: 1 }],
    ['/v1/jobs', { name: 'Nightly', target, schedule: unknown }],
  ] as const) {
    const refused = await client.post<Problem>(path, body)
    expect([refused.status, refused.body.errors?.[0]?.pointer]).toEqual([422, '/schedule/notOn/1'])
  }
  const made = await client.post<Job>('/v1/jobs', { name: 'Nightly', target, schedule: draft })
  expect([made.status, made.body.schedule]).toEqual([201, draft])
  expect((await client.get<Calendar>('/v1/calendars/feasts')).body.use).toEqual({
    count: 1,
    jobs: [{ id: made.body.id, name: 'Nightly' }],
  })
  const foreign = await api.tenant()
  expect((await foreign.client.post('/v1/jobs', { name: 'Nightly', target, schedule: draft })).status).toBe(422)
})

test('what a blackout would skip is counted before it is set', async () => {
  const { client } = await api.tenant()
  const schedule = { type: 'cron', cron: '0 6 * * *', timezone: 'UTC' }
  const { body: job } = await client.post<Job>('/v1/jobs', { name: 'Nightly', target, schedule })
  const stretch = { from: '2040-01-01T00:00:00Z', until: '2040-01-03T00:00:00Z' }
  expect((await client.post('/v1/blackouts/preview', stretch)).body).toEqual({
    starts: 2,
    jobCount: 1,
    jobs: [{ id: job.id, name: 'Nightly', starts: 2 }],
    uncountedJobs: 0,
  })
})
