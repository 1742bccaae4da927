import { stepOperation } from '@meridian/core/operation/step'
import { defaultPatience, lookFor } from '@meridian/core/watch/look'
import { notePass, settleAlarms, settleInstallationAlarms } from '@meridian/core/watch/settle'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { z } from 'zod'
import type { alarmsWire } from '../src/wire/alarm.ts'
import type { operationWire } from '../src/wire/operation.ts'
import { type Client, type Job, startTestApi, type TestApi, target } from './api.ts'

type Alarms = z.output<typeof alarmsWire>

let api: TestApi
let client: Client
beforeAll(async () => {
  api = await startTestApi()
  client = (await api.tenant()).client
})
afterAll(() => api.close())

const kind = 'schedule-stuck'
const look = async (): Promise<void> => {
  const { engine } = api.db
  await settleAlarms(engine, kind, await lookFor(engine, kind, { shard: 1, patience: defaultPatience }))
  await notePass(engine, 1, { keepDays: 30, seen: null })
}
const alarms = async (who: Client, query = ''): Promise<Alarms> => (await who.get<Alarms>(`/v1/alarms${query}`)).body

test('what stands still is told by name to its own organisation, until a repair has set it right', async () => {
  const schedule = { type: 'cron', cron: '25 6 * * *', timezone: 'UTC' }
  const job = (await client.post<Job>('/v1/jobs', { name: 'nightly', target, schedule })).body
  expect(await alarms(client)).toMatchObject({ data: [], watchedAt: null, isWatchdogSilent: true })
  await api.db.owner.query("update schedules set next_at = clock_timestamp() - interval '10 minutes'")
  await look()
  const stuck = { kind, subject: job.id, name: 'nightly', clearedAt: null }
  expect(await alarms(client)).toMatchObject({ data: [stuck], isWatchdogSilent: false })
  expect((await alarms((await api.tenant()).client)).data).toEqual([])

  const repair = await client.post<z.output<typeof operationWire>>('/v1/operations', {
    kind: 'jobs.repair',
    filter: {},
  })
  const { clock, keyRing } = api.services
  while ((await stepOperation({ engine: api.db.engine, keyRing, clock, shard: 1 })) !== null);
  expect((await client.get(`/v1/operations/${repair.body.id}`)).body).toMatchObject({ state: 'finished', done: 1 })
  expect((await client.get<Job>(`/v1/jobs/${job.id}`)).body.nextAt).toBe(job.nextAt)
  await look()
  expect((await alarms(client)).data).toEqual([])
  expect((await alarms(client, '?all=true')).data).toMatchObject([
    { kind, subject: job.id, clearedAt: expect.stringMatching(/Z$/) },
  ])
})

test('what stands still for everybody is told to everybody', async () => {
  const found = { name: '1', sinceMs: Date.parse('2026-11-30T10:00:00Z') }
  await settleInstallationAlarms(api.db.engine, 'dispatch-stuck', [found])
  for (const who of [client, (await api.tenant()).client])
    expect((await alarms(who)).installation).toMatchObject([
      { kind: 'dispatch-stuck', name: '1', since: '2026-11-30T10:00:00.000Z' },
    ])
})
