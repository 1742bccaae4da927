import { createBlackout } from '../../src/calendar/blackouts.ts'
import { createCalendar } from '../../src/calendar/create.ts'
import { updateCalendar } from '../../src/calendar/update.ts'
import { findBusyClocks, stepTestClock } from '../../src/clock/step.ts'
import { advanceTestClock, createTestClock } from '../../src/clock/test-clocks.ts'
import { discardLetter, redriveLetter } from '../../src/dead-letter/handle.ts'
import { keepDead } from '../../src/dead-letter/keep.ts'
import { readEvents } from '../../src/event/read.ts'
import { archiveJob, unarchiveJob } from '../../src/job/archive.ts'
import { deleteJob } from '../../src/job/delete.ts'
import { pauseFailing, putAwayOver, resumePaused } from '../../src/job/keep.ts'
import { pauseJob, resumeJob } from '../../src/job/set-state.ts'
import { updateJob } from '../../src/job/update.ts'
import { createOperation, undoOperation } from '../../src/operation/create.ts'
import { abortOperation } from '../../src/operation/set-state.ts'
import { stepOperation } from '../../src/operation/step.ts'
import { admitRuns } from '../../src/run/admit.ts'
import { cancelRun } from '../../src/run/cancel.ts'
import { editOccurrence } from '../../src/run/edit-occurrence.ts'
import { expireRuns } from '../../src/run/expire.ts'
import { materialise } from '../../src/run/materialise.ts'
import { refreshZones } from '../../src/run/refresh-zones.ts'
import { rescueRuns } from '../../src/run/rescue.ts'
import { type Act, aheadMs, type Process, type Scene } from './scene.ts'

type Step = (scene: Scene) => Promise<Act>

const write: Act = ({ engine, ctx }) => materialise(engine, { keyRing: ctx.keyRing, shard: 1, aheadMs, limit: 100 })
const admit: Act = ({ engine }) =>
  admitRuns(engine, { pool: 1, batch: 100, capacity: 1_000, aheadMs: 25, queuedSeconds: 5 })
const stepOnce = ({ engine, ctx }: Process) =>
  stepOperation({ engine, keyRing: ctx.keyRing, clock: ctx.clock, shard: 1 })

/** What schedules do. */
const schedules: Record<string, Step> = {
  'writing what is late, due, and to come': async (scene) => {
    await scene.hourly({ endWithin: 'PT2H' })
    return write
  },
  'writing the last run that a schedule may have': async (scene) => {
    await scene.hourly({ schedule: { type: 'every', every: 'PT1H', anchor: scene.at(-2).toISOString(), maxRuns: 4 } })
    return write
  },
  'writing what a moved occurrence left behind': async (scene) => {
    const id = await scene.written()
    await editOccurrence(scene.stage.ctx, id, scene.at(1), { moveTo: scene.at(1.5) })
    return write
  },
  'writing what an edit of the schedule left behind': async (scene) => {
    const id = await scene.hourly()
    const schedule = { type: 'every', every: 'PT30M', anchor: scene.at(-2).toISOString() } as const
    await updateJob(scene.stage.ctx, id, { schedule })
    return write
  },
  'writing what a pause left behind': async (scene) => {
    const id = await scene.hourly()
    await pauseJob(scene.stage.ctx, id, null)
    await resumeJob(scene.stage.ctx, id)
    return write
  },
  'writing what is forbidden': async (scene) => {
    await createBlackout(scene.stage.ctx, { name: 'no', fromAt: scene.at(0.5), untilAt: scene.at(2.5), roll: 'next' })
    await scene.hourly()
    return write
  },
  'computing again with other time zone data': async (scene) => {
    await scene.written()
    await scene.sql("update schedules set tz_version = 'old'")
    return ({ engine }) => refreshZones(engine, { shard: 1, limit: 100 })
  },
}

/** What runs go through. */
const runs: Record<string, Step> = {
  'promotion: the first of three goes, the others wait behind it': async (scene) => {
    await scene.written()
    await scene.sql('update due set due_at = nominal_at')
    return admit
  },
  'promotion: the next one, when the one before it has ended': async (scene) => {
    await scene.written()
    await scene.sql('update due set due_at = nominal_at')
    await scene.fail()
    return admit
  },
  'promotion: the running one is cancelled for the next': async (scene) => {
    await scene.written({ overlap: 'cancel-running', catchUp: 'one' })
    await scene.stage.claim(await scene.stage.admit())
    await scene.sql('update due set due_at = now() where nominal_at = $1', scene.at(1))
    return admit
  },
  'admission: slots divided among queues that all want more': async (scene) => {
    await scene.stage.accept(...['a', 'a', 'a', 'b', 'b', 'b'].map((queue) => ({ queue, dueAt: scene.at(-1) })))
    // The queues are made the first time only.
    for (const table of ['events', 'audit_entries']) await scene.sql(`delete from ${table}`)
    return ({ engine }) => admitRuns(engine, { pool: 1, batch: 100, capacity: 4, aheadMs: 25, queuedSeconds: 5 })
  },
  'a deadline': async (scene) => {
    await scene.written({ startWithin: 'PT1H' })
    await scene.sql("update run_deadlines set start_by = now() - interval '1 s', check_at = now() - interval '1 s'")
    return ({ engine }) => expireRuns(engine, 100)
  },
  'a rescue': async (scene) => {
    await scene.written({ overlap: 'allow' })
    await scene.stage.claim((await scene.stage.admit()).slice(1))
    await scene.stage.expireLeases()
    return ({ engine }) => rescueRuns(engine, 1, 100)
  },
  'a cancel': async (scene) => {
    await scene.written()
    const [run] = await scene.stage.accept({})
    return ({ ctx }) => cancelRun(ctx, run?.id ?? '')
  },
  'a pause after failures': async (scene) => {
    const id = await scene.written({ pauseAfterFailures: 1 })
    await scene.fail()
    const { tenantId } = scene.stage.ctx
    return ({ engine, ctx }) => pauseFailing(engine, ctx.keyRing, [{ tenantId, jobId: id }])
  },
  'the end of a pause': async (scene) => {
    const id = await scene.written()
    await pauseJob(scene.stage.ctx, id, null, scene.at(1))
    await scene.sql("update jobs set pause_until = now() - interval '1 s'")
    return ({ engine, ctx }) => resumePaused(engine, ctx.keyRing)
  },
  'a job put away when it is over': async (scene) => {
    await scene.hourly({ afterLastRun: 'archive' })
    await scene.sql('update schedules set next_at = null')
    return ({ engine, ctx }) => putAwayOver(engine, ctx.keyRing, 1)
  },
}

const failed = async ({ stage, written, fail }: Scene): Promise<string> => {
  await written()
  await fail()
  return stage.value<string>('select id as value from runs')
}
const kept = async (scene: Scene): Promise<string> => {
  const id = await failed(scene)
  await keepDead(scene.stage.db.engine, await readEvents(scene.stage.db.engine, '0-0', 1_000))
  return id
}
const plain = { delayMs: 0, evenQuarantined: false }

const deadLetters: Record<string, Step> = {
  'a dead letter kept': async (scene) => {
    await failed(scene)
    const events = await readEvents(scene.stage.db.engine, '0-0', 1_000)
    return ({ engine }) => keepDead(engine, events)
  },
  'a dead letter redriven': async (scene) => {
    const id = await kept(scene)
    return ({ ctx }) => redriveLetter(ctx, id, plain)
  },
  'a dead letter discarded': async (scene) => {
    const id = await kept(scene)
    return ({ ctx }) => discardLetter(ctx, id)
  },
}

/** A backfill of one instant, under way. */
async function backfill(scene: Scene): Promise<string> {
  const id = await scene.written({ catchUp: 'skip' })
  const plan = { jobId: id, from: scene.at(-2), to: scene.at(-1.5) }
  return (await createOperation(scene.stage.ctx, { kind: 'jobs.backfill', plan, rate: null })).id
}
const here = ({ stage }: Scene): Process => ({ engine: stage.db.engine, ctx: stage.ctx })

const operations: Record<string, Step> = {
  'an operation started': async (scene) => {
    await scene.written()
    return ({ ctx }) => createOperation(ctx, { kind: 'jobs.pause', plan: { filter: {} }, rate: null })
  },
  'a step of an operation': async (scene) => {
    await scene.written()
    await createOperation(scene.stage.ctx, { kind: 'jobs.pause', plan: { filter: {} }, rate: null })
    return stepOnce
  },
  'a step of a backfill': async (scene) => {
    await backfill(scene)
    return stepOnce
  },
  'a backfill undone': async (scene) => {
    const id = await backfill(scene)
    await stepOnce(here(scene))
    return ({ ctx }) => undoOperation(ctx, id)
  },
  'a step of that undo': async (scene) => {
    const id = await backfill(scene)
    await stepOnce(here(scene))
    await undoOperation(scene.stage.ctx, id)
    return stepOnce
  },
  'an operation aborted': async (scene) => {
    const id = await backfill(scene)
    return ({ ctx }) => abortOperation(ctx, id)
  },
  'a step of a redrive': async (scene) => {
    await kept(scene)
    await createOperation(scene.stage.ctx, { kind: 'dead-letters.redrive', plan: { filter: {} }, rate: null })
    return stepOnce
  },
}

/** What people and programs do to jobs. */
const verbs: Record<string, Step> = {
  'a pause': async (scene) => {
    const id = await scene.written()
    return ({ ctx }) => pauseJob(ctx, id, 'because')
  },
  'a resume': async (scene) => {
    const id = await scene.written()
    await pauseJob(scene.stage.ctx, id, null)
    return ({ ctx }) => resumeJob(ctx, id)
  },
  'an edit that leaves the schedule as it is': async (scene) => {
    const id = await scene.written()
    return ({ ctx }) => updateJob(ctx, id, { name: 'Another', expectedVersion: 1 })
  },
  'an edit of the schedule': async (scene) => {
    const id = await scene.written()
    const schedule = { type: 'every', every: 'PT30M', anchor: scene.at(-2).toISOString() } as const
    return ({ ctx }) => updateJob(ctx, id, { schedule, expectedVersion: 1 })
  },
  'an occurrence moved': async (scene) => {
    const id = await scene.written()
    return ({ ctx }) => editOccurrence(ctx, id, scene.at(2), { moveTo: scene.at(2.5), note: 'later' })
  },
  'an occurrence skipped': async (scene) => {
    const id = await scene.written()
    return ({ ctx }) => editOccurrence(ctx, id, scene.at(2), { skip: true })
  },
  'a job archived': async (scene) => {
    const id = await scene.written()
    return ({ ctx }) => archiveJob(ctx, id)
  },
  'a job brought back': async (scene) => {
    const id = await scene.written()
    await archiveJob(scene.stage.ctx, id)
    return ({ ctx }) => unarchiveJob(ctx, id)
  },
  'a job deleted': async (scene) => {
    const id = await scene.written()
    return ({ ctx }) => deleteJob(ctx, id)
  },
  'a calendar changed under its jobs': async (scene) => {
    await scene.sql('delete from calendars')
    await createCalendar(scene.stage.ctx, { name: 'closed' })
    await scene.written({
      schedule: { type: 'every', every: 'PT1H', anchor: scene.at(-2).toISOString(), notOn: ['closed'] },
    })
    const dates = [scene.at(2).toISOString().slice(0, 10)]
    return ({ ctx }) => updateCalendar(ctx, 'closed', { dates, expectedVersion: 1 })
  },
}

export const steps = { ...schedules, ...runs, ...deadLetters, ...operations, ...verbs }

const advance: Act = async ({ engine, ctx }) => {
  for (const clock of await findBusyClocks(engine, 1)) await stepTestClock(engine, ctx.keyRing, clock)
}

/** The steps of a test clock, in a project that is made for one. */
export const clockSteps: Record<string, Step> = {
  'a test clock sent on': async (scene) => {
    const { id } = await createTestClock(scene.stage.ctx, { name: 'clock', now: scene.at(-1.5) })
    await scene.hourly()
    return ({ ctx }) => advanceTestClock(ctx, id, { to: scene.at(1.5) })
  },
  'a test clock at an instant: what is due there is written, and let go': async (scene) => {
    const { id } = await createTestClock(scene.stage.ctx, { name: 'clock', now: scene.at(-1.5) })
    await scene.hourly()
    await scene.sql('update schedules set next_at = $1', scene.at(-1))
    await advanceTestClock(scene.stage.ctx, id, { to: scene.at(1.5) })
    return advance
  },
  'a test clock where a pause ends': async (scene) => {
    const { id } = await createTestClock(scene.stage.ctx, { name: 'clock', now: scene.at(-1.5) })
    await pauseJob(scene.stage.ctx, await scene.hourly(), null, scene.at(-1))
    await advanceTestClock(scene.stage.ctx, id, { to: scene.at(1.5) })
    return advance
  },
  'a test clock that arrives': async (scene) => {
    const { id } = await createTestClock(scene.stage.ctx, { name: 'clock', now: scene.at(-1.5) })
    await advanceTestClock(scene.stage.ctx, id, { to: scene.at(1.5) })
    return advance
  },
}
