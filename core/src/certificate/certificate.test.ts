import { createHash, createPublicKey, verify } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import type { Ctx } from '../db/context.ts'
import { createJob } from '../job/create.ts'
import { deleteJob } from '../job/delete.ts'
import type { NewJob } from '../job/job.ts'
import { pauseJob, resumeJob } from '../job/set-state.ts'
import { updateJob } from '../job/update.ts'
import { materialise } from '../run/materialise.ts'
import { nativeZones } from '../schedule/zone.ts'
import { type InstallationKey, keepInstallationKey } from '../secret/installation-key.ts'
import { createTenant, testCtx } from '../testing/factories.ts'
import { sampleJob, trailOf, unknownId } from '../testing/job-samples.ts'
import { createTestDb, type TestDb } from '../testing/test-db.ts'
import { type Certificate, issueCertificate } from './issue.ts'

let db: TestDb
let ctx: Ctx
let key: InstallationKey
let folder: string
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
  folder = await mkdtemp(join(tmpdir(), 'meridian-certificate-'))
  key = await keepInstallationKey(join(folder, 'installation.key'))
})
afterAll(async () => {
  await db.close()
  await rm(folder, { recursive: true })
})
beforeEach(async () => {
  ctx = testCtx(db, await createTenant(db))
})
afterEach(async () => {
  for (const table of ['schedules', 'schedule_rests', 'due', 'ready', 'held'])
    await db.owner.query(`delete from ${table}`)
})

const zonesOf = (version: string) => (version === nativeZones.version ? nativeZones : undefined)
const certify = async (jobId: string, range: { from?: Date; to?: Date } = {}): Promise<Certificate> =>
  (await issueCertificate(ctx, { key, zonesOf }, { jobId, ...range })).certificate
const drain = async (): Promise<void> => {
  while ((await materialise(db.engine, { keyRing: db.engineKeyRing, shard: 1, aheadMs: 2_000, limit: 500 })).isFull);
}

/** A job that has had its schedule for an hour, of which nothing is decided yet. */
async function hourOld(every: string, changes: Partial<NewJob> = {}): Promise<{ id: string; from: Date }> {
  const from = new Date(Math.floor(Date.now() / 1_000) * 1_000 - 3_600_000)
  const schedule = { type: 'every', every, anchor: from.toISOString() } as const
  const { id } = await createJob(ctx, sampleJob({ schedule, ...changes }))
  await db.owner.query('update schedules set next_at = $2 where job_id = $1', [id, from])
  await age(id, from)
  return { id, from }
}
const age = (id: string, from: Date) =>
  db.owner.query(
    `update schedule_spans set from_at = $2::timestamptz - interval '1 millisecond' where job_id = $1
       and from_at = (select min(from_at) from schedule_spans where job_id = $1)`,
    [id, from],
  )

const whole = { mismatchCount: 0, mismatches: [], unchecked: 0, isComplete: true }

describe('a certificate', () => {
  test('counts every instant once, and its signature holds with the published key', async () => {
    const { id, from } = await hourOld('PT1S')
    await drain()
    const { certificate, jws } = await issueCertificate(ctx, { key, zonesOf }, { jobId: id, from })
    expect(certificate).toMatchObject({ ...whole, undecided: 0, atSeams: 0 })
    const { expected, ledger, outcomes } = certificate
    expect(ledger.rows).toBeLessThan(200)
    expect(outcomes.missed).toBeGreaterThan(3_400)
    const lines = Array.from({ length: expected.count }, (_, index) => new Date(from.getTime() + index * 1_000))
    const digest = createHash('sha256').update(lines.map((at) => `${at.toISOString()}\n`).join(''))
    expect(digest.digest('hex')).toBe(expected.digest)
    const [header = '', payload = '', signature = ''] = jws.split('.')
    const isGood = verify(
      null,
      Buffer.from(`${header}.${payload}`),
      createPublicKey({ key: key.publicJwk, format: 'jwk' }),
      Buffer.from(signature, 'base64url'),
    )
    expect([isGood, JSON.parse(Buffer.from(payload, 'base64url').toString())]).toEqual([true, certificate])
  })

  test('is whole over pauses, edits and the end of a job', async () => {
    const { id, from } = await hourOld('PT1S', { overlap: 'allow' })
    await drain()
    await pauseJob(ctx, id, null)
    await resumeJob(ctx, id)
    await updateJob(ctx, id, { name: 'Another' })
    await drain()
    await updateJob(ctx, id, { schedule: { type: 'every', every: 'PT2S' } })
    await drain()
    await deleteJob(ctx, id)
    await drain()
    const { certificate } = await issueCertificate(ctx, { key, zonesOf, settledMs: 0 }, { jobId: id, from })
    expect(certificate.mismatches).toEqual([])
    expect(certificate).toMatchObject(whole)
    expect(certificate.atSeams).toBeLessThanOrEqual(2)
    expect(certificate.spans.at(-1)).toMatchObject({ schedule: null, until: null })
    expect(certificate.expected.count).toBeGreaterThan(3_590)
  })

  test('says what is not decided yet, and what a pause holds open', async () => {
    const { id, from } = await hourOld('PT1M')
    expect(await certify(id, { from })).toMatchObject({ ...whole, undecided: 60, ledger: { count: 0 } })
    await pauseJob(ctx, id, null)
    expect(await certify(id, { from })).toMatchObject({ ...whole, undecided: 60 })
    await resumeJob(ctx, id)
    await drain()
    expect(await certify(id, { from })).toMatchObject({ ...whole, undecided: 0, outcomes: { skipped: 60 } })
  })

  test('ends with the last run that a job may have', async () => {
    const { id, from } = await hourOld('PT1M')
    await db.owner.query(
      `update schedules set spec = spec || '{"maxRuns": 3}', runs_left = 3, catch_up = 2 where job_id = $1`,
      [id],
    )
    await db.owner.query(`delete from schedule_spans where job_id = $1 and not spec ? 'maxRuns'`, [id])
    await age(id, from)
    await drain()
    const certificate = await certify(id, { from })
    expect(certificate).toMatchObject({ ...whole, undecided: 0 })
    expect(certificate.expected.count).toBe(certificate.ledger.count)
    expect(certificate.expected.count).toBeLessThan(60)
  })

  test('of a row that was lost, invented or miscounted says so, and it is told as an event once', async () => {
    const { id, from } = await hourOld('PT1M', { overlap: 'allow', catchUp: 'all' })
    await drain()
    const at = (minute: number) => new Date(from.getTime() + minute * 60_000)
    await db.owner.query('delete from occurrences where job_id = $1 and nominal_at = $2', [id, at(10)])
    await db.owner.query(
      `update occurrences set nominal_at = nominal_at + interval '1 second' where job_id = $1 and nominal_at = $2`,
      [id, at(20)],
    )
    await db.owner.query('update occurrences set until_at = $3, count = 3 where job_id = $1 and nominal_at = $2', [
      id,
      at(30),
      at(31),
    ])
    await db.owner.query('delete from occurrences where job_id = $1 and nominal_at = $2', [id, at(31)])
    const certificate = await certify(id, { from })
    expect(certificate.mismatches).toEqual([
      { at: at(10).toISOString(), kind: 'missing' },
      { at: at(20).toISOString(), kind: 'missing' },
      { at: new Date(at(20).getTime() + 1_000).toISOString(), kind: 'unexpected' },
      { at: at(30).toISOString(), kind: 'miscounted' },
    ])
    expect(certificate.isComplete).toBe(false)
    await certify(id, { from })
    expect((await trailOf(db, id)).events.filter((type) => type === 'certificate.mismatch')).toHaveLength(1)
  })

  test('does not vouch for what was decided with time zone data that is not here', async () => {
    const { id, from } = await hourOld('PT1M')
    await drain()
    await db.owner.query(`update schedule_spans set tz_version = '1999a' where job_id = $1`, [id])
    const certificate = await certify(id, { from })
    expect(certificate).toMatchObject({ isComplete: false, mismatchCount: 0, expected: { count: 0 } })
    expect(certificate.unchecked).toBe(certificate.ledger.count)
    expect(certificate.spans).toMatchObject([{ tzVersion: '1999a', isRecomputed: false }])
  })

  test('is refused for what is not there, what has not been, and without a key', async () => {
    const { id, from } = await hourOld('PT1M')
    await expect(certify(unknownId())).rejects.toMatchObject({ code: 'not-found' })
    await expect(certify(id, { from: new Date(Date.now() + 60_000) })).rejects.toMatchObject({
      code: 'validation-failed',
    })
    await expect(certify(id, { from: new Date(0) })).rejects.toMatchObject({ code: 'validation-failed' })
    await expect(issueCertificate(ctx, { key: null, zonesOf }, { jobId: id, from })).rejects.toMatchObject({
      code: 'dependency-unavailable',
    })
    await db.owner.query('update projects set has_test_clock = true where id = $1', [ctx.projectId])
    await expect(certify(id, { from })).rejects.toMatchObject({ code: 'conflict' })
  })
})
