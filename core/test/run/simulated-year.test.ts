import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { createJob } from '../../src/job/create.ts'
import { materialise } from '../../src/run/materialise.ts'
import { listOccurrences, type Occurrence } from '../../src/run/occurrences.ts'
import type { FullSchedule } from '../../src/schedule/full-schedule.ts'
import { previewSchedule } from '../../src/schedule/preview.ts'
import { sampleJob } from '../../src/testing/job-samples.ts'
import { createStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())

const yearMs = 366 * 86_400_000

const schedules: Record<string, FullSchedule> = {
  'in the hour that clocks skip': { type: 'cron', cron: '30 2 * * *', timezone: 'America/New_York' },
  'in the hour that clocks repeat, twice': {
    type: 'cron',
    cron: '30 1 * * *',
    timezone: 'Europe/London',
    fold: 'both',
  },
  'skipped by a gap': { type: 'cron', cron: '15 2 * * *', timezone: 'Australia/Sydney', gap: 'skip' },
  'by the half hour of Lord Howe': { type: 'cron', cron: '0 2 * * *', timezone: 'Australia/Lord_Howe', gap: 'shift' },
  'in real time': { type: 'cron', cron: '0 */6 * * *', timezone: 'Europe/Berlin' },
  'in calendar units': { type: 'every', every: 'P1D', anchor: '2026-01-31T02:30:00', timezone: 'America/Chicago' },
  'by a rule of RFC 5545': {
    ...{ type: 'rrule', rrule: 'FREQ=WEEKLY;BYDAY=SU,MO;BYHOUR=2;BYMINUTE=30', timezone: 'Europe/Paris' },
    dtstart: '2026-01-04T02:30:00',
  },
  'at hashed times, with jitter': { type: 'cron', cron: 'H H * * *', timezone: 'America/Santiago', jitter: 'PT30M' },
  'until it ends': { type: 'cron', cron: '0 12 * * *', timezone: 'UTC', maxRuns: 100 },
}

async function wholeLedger(jobId: string): Promise<Occurrence[]> {
  const rows: Occurrence[] = []
  let cursor: string | undefined
  do {
    const range = { from: new Date(0), to: new Date('2100-01-01') }
    const page = await listOccurrences(stage.ctx, jobId, range, { limit: 200, cursor })
    rows.push(...page.items)
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined)
  return rows
}

it.each(Object.entries(schedules))(
  'over a year, what the preview says is what the ledger gets: %s',
  async (_name, schedule) => {
    const { id, createdAt } = await createJob(stage.ctx, sampleJob({ schedule, overlap: 'allow' }))
    const untilMs = Date.now() + yearMs
    while (
      (
        await materialise(stage.db.engine, {
          keyRing: stage.db.engineKeyRing,
          shard: 1,
          aheadMs: untilMs - Date.now(),
          limit: 50,
        })
      ).isFull
    );
    const after = Temporal.Instant.fromEpochMilliseconds(createdAt.getTime())
    const { occurrences } = previewSchedule(schedule, after, 3_000, { seed: id })
    const said = occurrences.filter(({ nominalAt }) => Date.parse(nominalAt) <= untilMs - 60_000)
    const got = (await wholeLedger(id)).filter(
      ({ nominalAt, reason }) => reason !== 'max-runs' && nominalAt.getTime() <= untilMs - 60_000,
    )
    expect(got.length).toBeGreaterThan(50)
    expect(got.map(({ nominalAt, effectiveAt }) => [nominalAt.toISOString(), effectiveAt.toISOString()])).toEqual(
      said.map(({ nominalAt, effectiveAt }) => [nominalAt, effectiveAt]),
    )
    const due = 'select count(*)::int as value from due where job_id = $1'
    expect(await stage.value(due, id)).toBeGreaterThanOrEqual(got.length)
  },
)
