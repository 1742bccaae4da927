import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { materialise } from '@meridian/core/run/materialise'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Job, type Page, type Problem, startTestApi, type TestApi, target } from './api.ts'

let api: TestApi
let folder: string
beforeAll(async () => {
  api = await startTestApi()
  folder = await mkdtemp(join(tmpdir(), 'meridian-certificate-'))
})
afterAll(async () => {
  await api.close()
  await rm(folder, { recursive: true })
})

const verifier = fileURLToPath(new URL('../../docs/guides/verify-certificate.mjs', import.meta.url))
const keep = async (name: string, value: unknown): Promise<string> => {
  const file = join(folder, name)
  await writeFile(file, JSON.stringify(value))
  return file
}
const verify = (...files: string[]): Promise<{ code: number; text: string }> =>
  new Promise((resolve) =>
    execFile(process.execPath, [verifier, ...files], (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, text: stdout + stderr }),
    ),
  )

interface Signed {
  certificate: { mismatchCount: number; from: string; to: string; outcomes: Record<string, number> }
  jws: string
}

test('a certificate is checked with the published key and nothing else', async () => {
  const { client } = await api.tenant()
  const from = new Date(Math.floor(Date.now() / 1_000) * 1_000 - 600_000)
  const schedule = { type: 'every', every: 'PT30S', anchor: from.toISOString() }
  const { body: job } = await client.post<Job>('/v1/jobs', { name: 'Half minutes', target, schedule })
  await api.db.owner.query('update schedules set next_at = $2 where job_id = $1', [await uuidOf(job), from])
  await api.db.owner.query("update schedule_spans set from_at = $1::timestamptz - interval '1 second'", [from])
  await materialise(api.db.engine, { keyRing: api.db.engineKeyRing, shard: 1, aheadMs: 2_000, limit: 100 })

  const path = `/v1/jobs/${job.id}/certificate?from=${from.toISOString()}`
  const { status, body } = await client.get<Signed>(path)
  expect([status, body.certificate.mismatchCount]).toEqual([200, 0])
  const published = await api.as(null).get('/.well-known/jwks.json')
  expect(published.headers.get('cache-control')).toContain('public')
  const keys = await keep('jwks.json', published.body)
  const range = `from=${body.certificate.from}&to=${body.certificate.to}&limit=200`
  const occurrences = await client.get<Page<{ outcome: string }>>(`/v1/jobs/${job.id}/occurrences?${range}`)
  const file = await keep('certificate.json', body)
  const good = await verify(file, keys, await keep('occurrences.json', occurrences.body.data))
  expect(good).toMatchObject({ code: 0, text: expect.stringContaining('VERIFIED: every instant is accounted for') })

  const altered = { ...body, certificate: { ...body.certificate, outcomes: { run: 1 } } }
  expect(await verify(await keep('altered.json', altered), keys)).toMatchObject({
    code: 1,
    text: expect.stringContaining('not what was signed'),
  })
  const forged = { ...body, jws: body.jws.replace(/\.[^.]*$/, `.${Buffer.alloc(64).toString('base64url')}`) }
  expect((await verify(await keep('forged.json', forged), keys)).text).toContain('signature is not that of the key')
  const fewer = await keep('fewer.json', occurrences.body.data.slice(1))
  expect((await verify(file, keys, fewer)).text).toContain('occurrences are not those that were signed')

  await api.db.owner.query(
    `delete from occurrences where nominal_at = (select max(nominal_at) from occurrences where nominal_at < now() - interval '30 seconds')`,
  )
  const broken = await client.get<Signed>(path)
  expect(broken.body.certificate.mismatchCount).toBeGreaterThan(0)
  expect((await verify(await keep('broken.json', broken.body), keys)).text).toMatch(/NOT VERIFIED: \d+ mismatch/)
})

const uuidOf = async ({ name }: Job): Promise<string> =>
  (await api.db.owner.query<{ id: string }>('select id from jobs where name = $1', [name])).rows[0]?.id ?? ''

test('a range that has not been, or is too long, is refused', async () => {
  const { client } = await api.tenant()
  const { body: job } = await client.post<Job>('/v1/jobs', { name: 'None', target })
  const ask = async (query: string) => {
    const { status, body } = await client.get<Problem>(`/v1/jobs/${job.id}/certificate?${query}`)
    return [status, body.errors?.[0]?.pointer]
  }
  expect(await ask('from=2100-01-01T00:00:00Z')).toEqual([422, '/from'])
  expect(await ask('from=2020-01-01T00:00:00Z')).toEqual([422, '/from'])
  expect((await client.get<Signed>(`/v1/jobs/${job.id}/certificate`)).body.certificate.outcomes).toEqual({
    pending: 0,
    run: 0,
    skipped: 0,
    missed: 0,
  })
})
