import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import type { Ctx } from '../db/context.ts'
import { deleteJob } from '../job/delete.ts'
import { getJob, getJobByExternalId } from '../job/get.ts'
import { listJobs } from '../job/list.ts'
import { listPings } from '../ping/list.ts'
import { openPingUrl } from '../ping/ping-url.ts'
import { recordPing } from '../ping/record.ts'
import { materialise } from '../run/materialise.ts'
import { createTenant, testCtx } from '../testing/factories.ts'
import { trailOf, unknownId } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { createImport, planOnly } from './create.ts'
import { getImport, listImports } from './get.ts'
import type { Import, NewImport } from './import.ts'
import { openImportPingUrls, reportImport } from './report.ts'
import { cronJobs, serverCrontab } from './samples.ts'
import { switchImport } from './switch.ts'

let db: TestDb
let ctx: Ctx
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
})
beforeEach(async () => {
  ctx = testCtx(db, await createTenant(db))
})
afterAll(() => db.close())

const options = { allowPrivate: false }
const target = { url: 'https://runner.example.com/run' }
const make = (changes: Partial<NewImport> = {}): Promise<Import> =>
  createImport(ctx, { source: serverCrontab, timezone: 'Europe/Berlin', prefix: 'web-1', target, ...changes }, options)
const as = (...scopes: Parameters<Ctx['scopes']['has']>[0][]): Ctx => ({ ...ctx, scopes: new Set(scopes) })
const countJobs = async (): Promise<number> => (await listJobs(ctx, {}, { limit: 200 })).items.length

describe('an import', () => {
  test('looked at first, writes nothing', async () => {
    const planned = await planOnly(ctx, { source: serverCrontab, timezone: 'Europe/Berlin' }, options)
    expect(planned).toMatchObject({ format: 'crontab', prefix: 'crontab:', problems: [] })
    expect(planned.entries.map(({ status }) => status)).toEqual(
      expect.arrayContaining(['ready', 'needs-target', 'refused']),
    )
    expect(await countJobs()).toBe(0)
    expect((await listImports(ctx, { limit: 10 })).items).toEqual([])
  })

  test('makes a job in shadow of each line that can be one, and names the others', async () => {
    const made = await make()
    expect(made).toMatchObject({ created: 16, updated: 0, unchanged: 0, refused: 4 })
    expect(await countJobs()).toBe(16)
    const first = made.entries[0]
    expect(first).toMatchObject({
      line: 7,
      outcome: 'created',
      text: '25 6 * * * /usr/sbin/logrotate /etc/logrotate.d/app.conf',
    })
    expect(await getJob(ctx, first?.jobId ?? '')).toMatchObject({
      mode: 'shadow',
      overlap: 'allow',
      externalId: first?.externalId,
      description: 'Rotate and compress the application logs',
      target: {
        url: 'https://runner.example.com/run',
        body: { command: '/usr/sbin/logrotate /etc/logrotate.d/app.conf' },
      },
    })
    for (const { outcome, jobId, problems } of made.entries)
      expect(outcome === 'refused').toBe(jobId === null && problems.length > 0)
    expect(await trailOf(db, made.id)).toEqual({ events: ['import.created'], actions: ['import.create'] })
  })

  test('made again, tells which jobs are not in the source any more, and leaves them alone unless it is asked', async () => {
    const source = '5 * * * * curl https://a.example/a\n6 * * * * curl https://a.example/b\n'
    const less = '5 * * * * curl https://a.example/a\n'
    await make({ source, fileName: 'jobs.crontab' })
    await make({ source, fileName: 'other.crontab', prefix: 'web-2' })
    const names = (made: Pick<Import, 'vanished'>) => made.vanished.map(({ name, outcome }) => `${name} ${outcome}`)
    const planned = await planOnly(
      ctx,
      { source: less, prefix: 'web-1', fileName: 'jobs.crontab', vanished: 'pause' },
      options,
    )
    expect(planned.vanished).toMatchObject([{ externalId: expect.stringMatching(/^web-1:/), outcome: 'paused' }])
    const again = await make({ source: less, fileName: 'jobs.crontab' })
    expect(names(again)).toEqual([expect.stringMatching(/ kept$/)])
    const jobId = again.vanished[0]?.jobId ?? ''
    expect(await getJob(ctx, jobId)).toMatchObject({ state: 'active' })
    expect(names(await make({ source: less, fileName: 'jobs.crontab', vanished: 'pause' }))).toEqual([
      expect.stringMatching(/ paused$/),
    ])
    expect(await getJob(ctx, jobId)).toMatchObject({ state: 'paused' })
    const archived = await make({ source: less, fileName: 'jobs.crontab', vanished: 'archive' })
    expect(await getJob(ctx, jobId)).toMatchObject({ state: 'archived' })
    expect((await getImport(ctx, archived.id)).vanished).toMatchObject([{ jobId, outcome: 'archived' }])
    expect((await make({ source: less, fileName: 'jobs.crontab' })).vanished).toEqual([])
    // Back in the source, it is back.
    expect(await make({ source, fileName: 'jobs.crontab' })).toMatchObject({ updated: 1, unchanged: 1, vanished: [] })
    expect((await make({ source: less })).vanished).toEqual([])
  })

  test('made again, changes what has changed and nothing else; a job that is live stays live', async () => {
    const once = await make()
    await switchImport(ctx, once.id, 'live')
    expect(await make()).toMatchObject({ created: 0, updated: 0, unchanged: 16 })
    const again = await make({
      source: serverCrontab.replace('25 6 * * *', '25 7 * * *').replace('# Rotate and', '# Rotate,'),
    })
    expect(again).toMatchObject({ created: 0, updated: 1, unchanged: 15 })
    expect(await getJob(ctx, again.entries[0]?.jobId ?? '')).toMatchObject({
      version: 2,
      mode: 'live',
      schedule: { cron: '25 7 * * *' },
    })
    expect(await countJobs()).toBe(16)
    const planned = await planOnly(ctx, { source: serverCrontab, prefix: 'web-1', target }, options)
    expect(planned.entries[0]?.jobId).toBe(once.entries[0]?.jobId)
  })

  test('of another machine makes jobs of its own', async () => {
    await make()
    expect(await make({ prefix: 'web-2' })).toMatchObject({ created: 16 })
  })

  test('leaves a job paused that was switched off there', async () => {
    const made = await createImport(ctx, { source: cronJobs, target, mode: 'live' }, options)
    expect(made).toMatchObject({ created: 2, refused: 1 })
    const paused = await getJobByExternalId(ctx, 'kubernetes:billing/report')
    expect(paused).toMatchObject({
      state: 'paused',
      mode: 'live',
      pauseReason: expect.stringContaining('switched off'),
    })
  })

  test('can be looked at later; lines and commands only by those who may see payloads', async () => {
    const made = await make()
    expect((await listImports(ctx, { limit: 10 })).items).toMatchObject([{ id: made.id, created: 16 }])
    expect(await getImport(ctx, made.id)).toEqual(made)
    const seen = await getImport(as('jobs:read'), made.id)
    expect(seen.entries[0]).toMatchObject({
      text: null,
      command: null,
      request: 'POST https://runner.example.com/run',
      words: expect.any(String),
    })
    expect(JSON.stringify(seen)).not.toContain('key=abc')
    await deleteJob(ctx, made.entries[0]?.jobId ?? '')
    expect((await getImport(ctx, made.id)).entries).toHaveLength(20)
  })

  test('that holds nothing for us is refused with its lines', async () => {
    await expect(make({ source: '1 1 * * * \n@reboot x' })).rejects.toMatchObject({
      code: 'validation-failed',
      extra: { errors: [{ pointer: '/source', detail: expect.stringMatching(/^Line 1: /) }, { pointer: '/source' }] },
    })
    await expect(make({ target: null, source: '1 1 * * * x' })).rejects.toMatchObject({
      extra: { errors: [{ pointer: '/target' }] },
    })
    await expect(make({ source: 'kind: CronJob\n  a: [', format: 'kubernetes' })).rejects.toMatchObject({
      extra: { errors: [{ pointer: '/source', detail: expect.stringMatching(/^Line \d+: This can't be read/) }] },
    })
    await expect(make({ timezone: 'Mars/Base' })).rejects.toMatchObject({
      extra: { errors: [{ pointer: '/timezone' }] },
    })
    expect(await countJobs()).toBe(0)
  })

  test('makes what it can when a line can not be read', async () => {
    const source = '@daily a\nCRON_TZ=Mars/Olympus\n@daily b'
    const { entries } = await createImport(ctx, { source, target }, options)
    expect(entries.map(({ outcome, problems }) => [outcome, problems.length])).toEqual([
      ['created', 0],
      ['refused', 1],
    ])
  })

  test('takes two entries of one name for one, and says so', async () => {
    const twice = `${cronJobs.split('---')[0]}---\n${cronJobs.split('---')[0]}`
    const { entries } = await createImport(ctx, { source: twice, target }, options)
    expect(entries.map(({ outcome }) => outcome)).toEqual(['created', 'refused'])
    expect(entries[1]?.problems[0]?.detail).toMatch(/Line 6/)
  })

  test('of two people at once makes each job once', async () => {
    const [one, other] = await Promise.all([make(), make()])
    expect((one?.created ?? 0) + (other?.created ?? 0)).toBe(16)
    expect(await countJobs()).toBe(16)
  })

  test('needs jobs:write, and is nobody else’s', async () => {
    await expect(createImport(as('jobs:read'), { source: serverCrontab }, options)).rejects.toMatchObject({
      code: 'forbidden',
    })
    const made = await make()
    const stranger = testCtx(db, await createTenant(db))
    for (const verb of [getImport, (c: Ctx, id: string) => switchImport(c, id, 'live'), openImportPingUrls])
      await expect(verb(stranger, made.id)).rejects.toMatchObject({ code: 'not-found' })
    await expect(getImport(ctx, unknownId())).rejects.toMatchObject({ code: 'not-found' })
  })
})

test('one switch lets all jobs of an import run, and one puts them back', async () => {
  const made = await make()
  const live = await switchImport(ctx, made.id, 'live')
  expect(live.changed).toBe(16)
  expect(live.jobs.every(({ mode }) => mode === 'live')).toBe(true)
  expect((await switchImport(ctx, made.id, 'live')).changed).toBe(0)
  expect((await switchImport(ctx, made.id, 'shadow')).changed).toBe(16)
  expect((await trailOf(db, made.id)).events).toEqual(['import.created', 'import.switched', 'import.switched'])
})

describe('pings', () => {
  const base = () => ({ pool: ctx.pool, keyRing: ctx.keyRing, clock: ctx.clock, requestId: null })
  const ping = (token: string, kind: 'start' | 'finish' | 'fail', body: string | null = null): Promise<void> =>
    recordPing(base(), token, { kind, exitCode: null, body: body === null ? null : Buffer.from(body) })

  test('are kept with what came along, for those who may see it', async () => {
    const made = await make()
    const jobId = made.entries[0]?.jobId ?? ''
    const { token } = await openPingUrl(ctx, jobId, { rotate: false })
    await ping(token, 'start')
    await ping(token, 'fail', `boom ${'x'.repeat(10_000)}`)
    const { items } = await listPings(ctx, jobId, { limit: 10 })
    expect(items.map(({ kind }) => kind)).toEqual(['fail', 'start'])
    expect(items[0]?.body).toHaveLength(4_096)
    expect((await listPings(as('jobs:read'), jobId, { limit: 10 })).items[0]?.body).toBeNull()
    const [row] = (
      await db.owner.query<{ body: Buffer }>('select body from pings where job_id = $1 and body is not null', [jobId])
    ).rows
    expect(row?.body.includes('boom')).toBe(false)
  })

  test('have a URL that stays until it is changed, and the old one is dead then', async () => {
    const jobId = (await make()).entries[0]?.jobId ?? ''
    const first = await openPingUrl(ctx, jobId, { rotate: false })
    expect((await openPingUrl(ctx, jobId, { rotate: false })).token).toBe(first.token)
    const second = await openPingUrl(ctx, jobId, { rotate: true })
    expect(second.token).not.toBe(first.token)
    await ping(first.token, 'start')
    expect((await listPings(ctx, jobId, { limit: 10 })).items).toEqual([])
  })

  test('of a URL that there is none of pass in silence', async () => {
    await expect(ping(`mp_${'a'.repeat(43)}`, 'start')).resolves.toBeUndefined()
    await expect(ping('nonsense', 'start')).resolves.toBeUndefined()
  })

  test('too old go when the next one comes', async () => {
    const jobId = (await make()).entries[0]?.jobId ?? ''
    const { token } = await openPingUrl(ctx, jobId, { rotate: false })
    await ping(token, 'start')
    await db.owner.query("update pings set at = at - interval '41 days' where job_id = $1", [jobId])
    await ping(token, 'finish')
    expect((await listPings(ctx, jobId, { limit: 10 })).items.map(({ kind }) => kind)).toEqual(['finish'])
  })

  test('are held against what was expected', async () => {
    const source = '* * * * * curl https://a.example/each\n0 0 1 1 * curl https://a.example/yearly'
    const made = await createImport(ctx, { source }, options)
    const [each, yearly] = await openImportPingUrls(ctx, made.id)
    await materialise(db.engine, { keyRing: db.engineKeyRing, shard: 1, aheadMs: 150_000, limit: 1_000 })
    await ping(each?.token ?? '', 'start')
    await ping(yearly?.token ?? '', 'fail')
    // The instants lie ahead of us here; the ping is moved to the first of them.
    const { rows } = await db.owner.query<{ at: Date }>(
      'select min(nominal_at) as at from occurrences where job_id = $1',
      [each?.jobId],
    )
    const first = rows[0]?.at ?? new Date()
    await db.owner.query("update pings set at = $2 where job_id = $1 and kind = 'start'", [each?.jobId, first])
    const range = {
      from: new Date(Date.now() - 3_600_000),
      to: new Date(first.getTime() + 300_000),
      graceMs: 900_000,
      buckets: 4,
    }
    const report = await reportImport(ctx, made.id, range)
    expect(report.totals).toMatchObject({ matched: 1, unexpected: 1, missing: 0, failed: 1 })
    expect(report.totals.waiting).toBeGreaterThan(0)
    expect(report.jobs).toMatchObject([
      { line: 1, mode: 'shadow', lastPingAt: first, counts: { matched: 1 } },
      { line: 2, counts: { unexpected: 1, failed: 1 }, matches: [{ outcome: 'unexpected', hasFailed: true }] },
    ])
    const sum = (name: 'matched' | 'unexpected'): number =>
      report.buckets.reduce((total, { counts }) => total + counts[name], 0)
    expect([sum('matched'), sum('unexpected')]).toEqual([1, 1])
    expect(report.isCut).toBe(false)
  })
})
