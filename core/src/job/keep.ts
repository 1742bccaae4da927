import { arrayLiteral, type Pool, runNamed } from '../db/client.ts'
import { type Ctx, type Tx, withTx } from '../db/context.ts'
import { systemClock } from '../kernel/clock.ts'
import { AppError } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { archiveJob } from './archive.ts'
import { deleteJob } from './delete.ts'
import { databaseNowMs, lockJob } from './internal.ts'
import { afterLastRuns } from './job.ts'
import { pauseIn, resumeIn } from './set-state.ts'

/** What the engine does to jobs by itself is done by the same verbs, in the name of the system. */
export const systemCtx = (
  engine: Pool,
  keyRing: KeyRing,
  [tenantId, projectId]: readonly [Uuid, Uuid, ...unknown[]],
): Ctx => ({
  pool: engine,
  keyRing,
  clock: systemClock,
  tenantId,
  projectId,
  actor: { type: 'system' },
  scopes: new Set(['jobs:write'] as const),
  requestId: null,
})

const limit = 100

/**
 * Resumes the jobs whose pause is over. Any number of callers may; returns how many this one did. Where a test clock says
 * what time it is, that clock does it.
 */
export async function resumePaused(engine: Pool, keyRing: KeyRing): Promise<number> {
  const due = await runNamed<[Uuid, Uuid, Uuid]>(
    engine,
    'pauses_over',
    `select j.tenant_id, j.project_id, j.id from jobs j join projects p on p.tenant_id = j.tenant_id and p.id = j.project_id
     where j.pause_until <= now() and not p.has_test_clock order by j.pause_until limit $1`,
    [limit],
  )
  let resumed = 0
  for (const job of due) {
    const isDone = await unlessGone(engine, keyRing, job, async (tx) => {
      // Somebody may have resumed it, and paused it anew.
      const { pauseUntil } = await lockJob(tx, job[2])
      if (pauseUntil === null || pauseUntil.getTime() > (await databaseNowMs(tx))) return false
      await resumeIn(tx, job[2])
      return true
    })
    if (isDone) resumed++
  }
  return resumed
}

/** Deletes or archives the jobs that ask for it, once their schedules are over and nothing of them is open. */
export async function putAwayOver(engine: Pool, keyRing: KeyRing, shard: number): Promise<number> {
  const over = await runNamed<[Uuid, Uuid, Uuid, number, number]>(
    engine,
    'jobs_over',
    `select s.tenant_id, s.project_id, s.job_id, s.job_version, s.when_over from schedules s
     where s.shard_id = $1 and s.next_at is null and s.when_over > 0 and not s.paused
       and not exists (select from due d where d.tenant_id = s.tenant_id and d.job_id = s.job_id offset 0)
       and not exists (select from ready r where r.tenant_id = s.tenant_id and r.job_id = s.job_id offset 0)
       and not exists (select from held h where h.tenant_id = s.tenant_id and h.job_id = s.job_id offset 0)
       and not exists (select from schedule_rests t where t.tenant_id = s.tenant_id and t.job_id = s.job_id offset 0)
     limit $2`,
    [shard, limit],
  )
  let done = 0
  for (const job of over) {
    const [, , id, expectedVersion, whenOver] = job
    const putAway = afterLastRuns[whenOver] === 'archive' ? archiveJob : deleteJob
    const isDone = await unlessGone(engine, keyRing, job, async (tx) => {
      if ((await lockJob(tx, id)).archivedAt !== null) return false
      await putAway(tx, id, { expectedVersion })
      return true
    })
    if (isDone) done++
  }
  return done
}

/** Runs of these jobs have failed: pauses those whose last runs, as many as they say, all did since they were resumed or edited. */
export async function pauseFailing(
  engine: Pool,
  keyRing: KeyRing,
  failed: readonly { tenantId: Uuid; jobId: Uuid }[],
): Promise<number> {
  if (failed.length === 0) return 0
  const failing = await runNamed<[Uuid, Uuid, Uuid, number]>(
    engine,
    'failing_jobs',
    `select s.tenant_id, s.project_id, s.job_id, s.pause_after from unnest($1::uuid[], $2::uuid[]) u(t, j)
     cross join lateral (select * from schedules s where s.tenant_id = u.t and s.job_id = u.j offset 0) s
     where s.pause_after is not null and not s.paused and s.pause_after = (
       select count(*) filter (where state = 5) from (
         select r.state from runs r where r.tenant_id = s.tenant_id and r.job_id = s.job_id and r.state in (4, 5)
           and r.ended_at > s.updated_at order by r.id desc limit s.pause_after) x)`,
    [arrayLiteral(failed.map(({ tenantId }) => tenantId)), arrayLiteral(failed.map(({ jobId }) => jobId))],
  )
  let paused = 0
  for (const job of failing) {
    const [, , id, count] = job
    const reason = count === 1 ? 'Its last run has failed.' : `Its last ${count} runs have failed.`
    const isDone = await unlessGone(engine, keyRing, job, async (tx) => {
      await pauseIn(tx, id, { reason })
      return true
    })
    if (isDone) paused++
  }
  return paused
}

/** Does something to a job, unless it was deleted or changed since it was looked for. */
async function unlessGone(
  engine: Pool,
  keyRing: KeyRing,
  job: readonly [Uuid, Uuid, ...unknown[]],
  work: (tx: Tx) => Promise<boolean>,
): Promise<boolean> {
  try {
    return await withTx(systemCtx(engine, keyRing, job), work)
  } catch (error) {
    if (error instanceof AppError && (error.code === 'not-found' || error.code === 'precondition-failed')) return false
    throw error
  }
}
