import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { createJob } from '../../src/job/create.ts'
import { countOccurrences } from '../../src/run/occurrence-counts.ts'
import { sampleJob } from '../../src/testing/job-samples.ts'
import { createStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())

const hourMs = 3_600_000
const base = Math.floor(Date.now() / hourMs) * hourMs - 5 * hourMs
const at = (hours: number): Date => new Date(base + hours * hourMs)
const range = { from: at(0), to: at(5), by: 'hour', timezone: 'UTC' } as const
const none = { pending: 0, run: 0, failed: 0, skipped: 0, missed: 0 }

/** A job whose ledger and runs are written by hand, in hours from the beginning of the range. */
async function written() {
  const { tenantId, projectId } = stage.ctx
  const { id, queue } = await createJob(stage.ctx, sampleJob())
  const put = (hours: number, outcome: string, more: { until?: number; count?: number; movedTo?: number } = {}) =>
    stage.db.owner.query(
      `insert into occurrences (tenant_id, project_id, job_id, nominal_at, job_version, outcome, reason, tz_version, until_at, count,
         effective_at, moved)
       values ($1, $2, $3, $4, 1, $5, 'overlap', 'x', $6, $7, $8, $8::timestamptz is not null)`,
      [
        ...[tenantId, projectId, id, at(hours), outcome, more.until === undefined ? null : at(more.until)],
        ...[more.count ?? 1, more.movedTo === undefined ? null : at(more.movedTo)],
      ],
    )
  const fail = (nominal: number, ended: number) =>
    stage.db.owner.query(
      `insert into runs (tenant_id, project_id, id, queue_id, pool, state, attempt, fence, due_at, ended_at, job_id, nominal_at)
       select $1, $2, $3, q.id, 0, 5, 1, 1, $4, $5, $6, $4 from queues q where q.tenant_id = $1 and q.name = $7`,
      [tenantId, projectId, randomUUID(), at(nominal), at(ended), id, queue],
    )
  return { id, put, fail }
}

test('what ran, failed, was skipped or stands for many is counted once, by the hour', async () => {
  const { id, put, fail } = await written()
  await put(0, 'run')
  await put(0.5, 'run')
  await put(0.75, 'skipped')
  await fail(0.5, 0.6)
  await put(2, 'skipped', { until: 3.5, count: 90 })
  await put(4, 'missed')
  expect(await countOccurrences(stage.ctx, id, range)).toEqual({
    counts: [
      { ...none, from: at(0), run: 2, failed: 1, skipped: 1 },
      { ...none, from: at(4), missed: 1 },
    ],
    stretches: [{ nominalAt: at(2), untilAt: at(3.5), count: 90, outcome: 'skipped', reason: 'overlap' }],
  })
  // A stretch that reaches into the range belongs to it.
  expect((await countOccurrences(stage.ctx, id, { ...range, from: at(3) })).stretches).toHaveLength(1)
  await expect(countOccurrences(stage.ctx, randomUUID(), range)).rejects.toMatchObject({ code: 'not-found' })
})

test.each([
  ['a day and a half before', -32],
  ['two days after', 52],
])('one that was moved to %s its instant failed at its instant, and hides no other', async (_name, movedTo) => {
  const { id, put, fail } = await written()
  await put(1, 'run')
  await fail(1, 1)
  await put(4, 'run', { movedTo })
  await fail(4, movedTo)
  const { counts } = await countOccurrences(stage.ctx, id, range)
  expect(counts.map(({ from, failed }) => [from, failed])).toEqual([
    [at(1), 1],
    [at(4), 1],
  ])
})
