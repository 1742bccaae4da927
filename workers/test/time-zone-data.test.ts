import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { createJob } from '@meridian/core/job/create'
import { toWireId } from '@meridian/core/kernel/ids'
import { compileTimes } from '@meridian/core/schedule/compile'
import { nativeZones } from '@meridian/core/schedule/zone'
import { zoneFiles } from '@meridian/core/schedule/zone-files'
import { compileZone } from '@meridian/core/testing/compiled-zone'
import { sampleJob } from '@meridian/core/testing/job-samples'
import { expect, it, onTestFinished } from 'vitest'
import { openScene, type Scene, until } from './scene.ts'

const execute = promisify(execFile)
const program = new URL('../src/zone-report.ts', import.meta.url).pathname
const version = '2099z'

/** Another version: India an hour ahead of what it is, Berlin without summer time, and no Lagos at all. */
async function openFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'meridian-tzdata-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const files: Record<string, Buffer | string> = {
    'tzdata.zi': `# version ${version}\n`,
    'Asia/Kolkata': compileZone(23_400, [], 'IST-6:30'),
    'Asia/Tokyo': compileZone(32_400, [], 'JST-9'),
    'Europe/Berlin': compileZone(3_600, [], 'CET-1'),
    'Europe/London': compileZone(0, [], 'GMT0BST,M3.5.0/1,M10.5.0'),
  }
  for (const [name, bytes] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), bytes)
  }
  return folder
}

/** A quarter of an hour away in each of these zones, whose offsets are whole and half hours: none passes meanwhile. */
const minute = (new Date().getUTCMinutes() + 15) % 60
const daily = (timezone: string) => ({ type: 'cron', cron: `${minute} 9 * * *`, timezone }) as const

interface Standing {
  name: string
  nextAt: Date
  tzVersion: string
}
const standings = async ({ bench }: Scene): Promise<Standing[]> =>
  (
    await bench.db.owner.query<Standing>(
      `select j.name, s.next_at as "nextAt", s.tz_version as "tzVersion" from schedules s
       join jobs j on j.tenant_id = s.tenant_id and j.id = s.job_id order by j.name`,
    )
  ).rows

it('a report says which schedules other data would move, and the workers that have other data move those, and tell', async () => {
  const scene = await openScene()
  const { bench } = scene
  const folder = await openFolder()
  const ids = new Map<string, string>()
  for (const timezone of ['Africa/Lagos', 'Asia/Kolkata', 'Asia/Tokyo', 'Europe/Berlin', 'Europe/London'])
    ids.set(timezone, (await createJob(bench.ctx, sampleJob({ name: timezone, schedule: daily(timezone) }))).id)
  const before = await standings(scene)

  const { stdout, stderr } = await execute(process.execPath, [program, folder, '--days', '366'], {
    env: { ...process.env, DATABASE_URL: bench.db.engineUrl },
  })
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  const [lagos, kolkata, berlin] = ['Africa/Lagos', 'Asia/Kolkata', 'Europe/Berlin'].map((timezone) =>
    lines.find((line) => line['timezone'] === timezone),
  )
  expect(lines).toHaveLength(3)
  expect(stderr).toBe(`${nativeZones.version} -> ${version}: 3 schedules move within 366 days\n`)
  expect(lagos).toMatchObject({ problem: expect.stringContaining('Africa/Lagos') })
  expect(kolkata).toMatchObject({
    tenantId: toWireId('ten', bench.tenant.tenantId),
    jobId: toWireId('job', ids.get('Asia/Kolkata') ?? ''),
    jobName: 'Asia/Kolkata',
    removed: 366,
  })
  // Berlin moves for as long as summer time would have been.
  expect(berlin?.['removed']).toBe(berlin?.['added'])
  expect(berlin?.['removed']).toSatisfy((days: number) => days > 150 && days < 250)
  expect(await standings(scene)).toEqual(before)

  // As the other data had computed them.
  const zones = zoneFiles(folder, version)
  for (const [timezone, id] of ids) {
    const next = zones.find(timezone) && compileTimes(daily(timezone), zones, id).next(Date.now())
    await bench.db.owner.query(
      'update schedules set tz_version = $2, next_at = coalesce($3, next_at) where job_id = $1',
      [id, version, next === undefined || next === null ? null : new Date(next.at)],
    )
  }
  await scene.spawn(['janitor'])
  await until(async () => (await standings(scene)).every(({ tzVersion }) => tzVersion === nativeZones.version))
  expect(await standings(scene)).toEqual(before)
  const { rows } = await bench.db.owner.query<{ subject: string; from: string; after: string }>(
    "select subject, data->>'from' as from, data->>'after' as after from events where type = 'job.moved'",
  )
  const told = new Map(rows.map((row) => [row.subject, row]))
  const moved = told.get(ids.get('Asia/Kolkata') ?? '')
  expect(moved?.from).toBe(version)
  expect(new Date(moved?.after ?? '')).toEqual(before.find(({ name }) => name === 'Asia/Kolkata')?.nextAt)
  for (const timezone of ['Africa/Lagos', 'Asia/Tokyo']) expect(told.has(ids.get(timezone) ?? '')).toBe(false)
})
