import { afterAll, beforeAll, beforeEach, expect, inject } from 'vitest'
import type { Ctx } from '../../src/db/context.ts'
import type { Uuid } from '../../src/kernel/ids.ts'
import { announceExecutor } from '../../src/run/admit.ts'
import { explainJob } from '../../src/why/job.ts'
import { explainRun } from '../../src/why/run.ts'
import type { Why, WhyCode } from '../../src/why/why.ts'
import { type Change, createStage, executorId, type Stage } from '../run/stage.ts'

/** Which file sees which codes: each code has a test. */
export const codesOfFile = {
  waits: [
    'not-due',
    'waits-for-batch',
    'waits-for-retry',
    'waits-for-earlier-run',
    'waits-for-test-clock',
    'breaker-open',
  ],
  limits: [
    'queue-paused',
    'queue-full',
    'tenant-paused',
    'tenant-full',
    'limit-paused',
    'limit-full',
    'limit-rate',
    'backlog-full',
  ],
  executors: ['no-executor', 'pool-full', 'class-waits', 'preempted', 'next-in-line', 'on-its-way', 'running'],
  ended: ['succeeded', 'failed', 'cancelled', 'deadline-passed', 'skipped'],
  job: [
    'job-paused',
    'job-archived',
    'in-shadow',
    'no-schedule',
    'blackout',
    'calendar',
    'schedule-over',
    'scheduler-behind',
    'last-skipped',
    'last-missed',
  ],
} as const satisfies Record<string, readonly WhyCode[]>

export const codesOf = ({ reasons }: Why): WhyCode[] => reasons.map(({ code }) => code)

/** A stage with one executor, empty before each test; at the end the codes of the file must have been seen. */
export function setWhyStage(file: keyof typeof codesOfFile) {
  let stage: Stage
  const seen = new Set<WhyCode>()
  const note = (why: Why): Why => {
    for (const { code } of why.reasons) seen.add(code)
    return why
  }
  const announce = (running = 0) =>
    announceExecutor(stage.db.engine, { id: executorId, pool: 1, capacity: 4, spare: 1, running, finishedPerSecond: 0 })
  beforeAll(async () => {
    stage = await createStage(inject('postgresUrl'))
  })
  afterAll(async () => {
    await stage.db.close()
    expect(codesOfFile[file].filter((code) => !seen.has(code))).toEqual([])
  })
  beforeEach(async () => {
    await stage.db.owner.query('delete from due; delete from ready; delete from held; delete from executors')
    await announce()
  })
  return {
    get stage(): Stage {
      return stage
    },
    announce,
    one: async (change: Change = {}): Promise<Uuid> => (await stage.accept(change))[0]?.id ?? '',
    whyRun: async (id: Uuid = '', ctx: Ctx = stage.ctx): Promise<Why> => note(await explainRun(ctx, id)),
    whyJob: async (id: Uuid, ctx: Ctx = stage.ctx): Promise<Why> => note(await explainJob(ctx, id)),
  }
}
