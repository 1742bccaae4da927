import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nativeZones } from '@meridian/core/schedule/zone'
import { compileZone } from '@meridian/core/testing/compiled-zone'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Job, type Problem, startTestApi, type TestApi, target } from './api.ts'

interface Data {
  version: string
  others: string[]
  versions: { version: string; schedules: number; until: string | null }[]
  lastMoves: unknown[]
}
interface Report {
  version: string
  current: string
  schedules: number
  moved: number
  data: { jobId: string; removed: number; before: string[]; after: string[]; problem: string | null }[]
}

let api: TestApi
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'meridian-tzdata-'))
  api = await startTestApi({ TZDATA_FOLDER: folder })
})
afterAll(async () => {
  await api.close()
  await rm(folder, { recursive: true })
})

const daily = (timezone: string) => ({ type: 'cron', cron: '0 9 * * *', timezone })

test('on an ordinary installation nothing moves, and it says under what schedules run', async () => {
  const { client } = await api.tenant()
  await client.post<Job>('/v1/jobs', { name: 'daily', target, schedule: daily('Asia/Kolkata') })
  const data = await client.get<Data>('/v1/time-zone-data')
  expect(data.body).toMatchObject({ version: nativeZones.version, others: [], lastMoves: [] })
  expect(data.body.versions).toMatchObject([{ version: nativeZones.version, schedules: 1, until: null }])
  const report = await client.get<Report>('/v1/time-zone-data/report')
  const version = nativeZones.version
  expect(report.body).toMatchObject({ version, current: version, schedules: 1, moved: 0, data: [] })
})

test('before other data is applied the schedules that it moves are told, of the own project only', async () => {
  const { client } = await api.tenant()
  const moving = await client.post<Job>('/v1/jobs', { name: 'moving', target, schedule: daily('Asia/Kolkata') })
  await client.post<Job>('/v1/jobs', { name: 'staying', target, schedule: daily('UTC') })
  const lost = await client.post<Job>('/v1/jobs', { name: 'lost', target, schedule: daily('Africa/Lagos') })
  for (const place of ['Etc', 'Asia']) await mkdir(join(folder, '2099a', place), { recursive: true })
  for (const name of ['UTC', 'Etc/UTC']) await writeFile(join(folder, '2099a', name), compileZone(0, [], 'UTC0'))
  await writeFile(join(folder, '2099a', 'Asia/Kolkata'), compileZone(21_600, [], '<+06>-6'))

  const { body } = await client.get<Report>('/v1/time-zone-data/report?days=10')
  expect(body).toMatchObject({ version: '2099a', current: nativeZones.version, schedules: 3, moved: 2 })
  const moved = body.data.find(({ jobId }) => jobId === moving.body.id)
  expect(moved).toMatchObject({ removed: 10, problem: null })
  expect(Date.parse(moved?.before[0] ?? '') % 86_400_000).toBe(3.5 * 3_600_000)
  expect(Date.parse(moved?.after[0] ?? '') % 86_400_000).toBe(3 * 3_600_000)
  expect(body.data.find(({ jobId }) => jobId === lost.body.id)?.problem).toContain('Africa/Lagos')
  expect((await client.get<Data>('/v1/time-zone-data')).body.others).toEqual(['2099a'])
  const stranger = await api.tenant()
  expect((await stranger.client.get<Report>('/v1/time-zone-data/report')).body).toMatchObject({
    schedules: 0,
    data: [],
  })
})

test('data that is not here can not be compared with', async () => {
  const { client } = await api.tenant()
  for (const version of ['2098z', '..', '2099a/..']) {
    const { status, body } = await client.get<Problem>(
      `/v1/time-zone-data/report?version=${encodeURIComponent(version)}`,
    )
    expect([status, body.errors?.[0]?.pointer]).toEqual([422, '/version'])
  }
})
