import { audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { type Ctx, type Tx, withTx } from '../db/context.ts'
import { append } from '../event/append.ts'
import { notFound } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { takeBackPendingOf } from '../run/take-back.ts'
import { archived, readJob, toJob } from './internal.ts'
import type { Job, JobMode } from './job.ts'

/**
 * Puts a job into shadow, where its schedule is kept in the ledger and starts nothing, or back to life. It holds from
 * the next instant on: runs that are due already go on. Setting the mode it has changes nothing. Throws `not-found`, and
 * `invalid-transition` for an archived one.
 */
export async function setJobMode(ctx: Ctx, id: Uuid, mode: JobMode): Promise<Job> {
  requireScope(ctx, 'jobs:write')
  const row = await withTx(ctx, async (tx) => {
    const before = await readJob(tx, id)
    if (before.archivedAt !== null) throw archived()
    await setModeOf(tx, [before.id], mode)
    return readJob(tx, id)
  })
  return toJob(ctx, row)
}

/**
 * The same for many jobs of the project at one instant. Those that are gone, or have the mode already, are left alone;
 * returns how many were changed. Needs the scope checked.
 */
export async function setModeOf(tx: Tx, ids: readonly Uuid[], mode: JobMode): Promise<number> {
  const shadow = mode === 'shadow'
  const { rows: locked } = await tx.client.query<{ id: Uuid; name: string }>(
    `select id, name from jobs where tenant_id = $1 and project_id = $2 and id = any($3::uuid[]) and state <> 'deleted'
       and archived_at is null and shadow <> $4 order by id for update`,
    [tx.tenantId, tx.projectId, ids, shadow],
  )
  if (locked.length === 0) return 0
  const changing = locked.map(({ id }) => id)
  await tx.client.query(
    'select from schedules where tenant_id = $1 and job_id = any($2::uuid[]) order by job_id for update',
    [tx.tenantId, changing],
  )
  const takenBack = await takeBackPendingOf(tx, changing)
  await tx.client.query(
    'update jobs set shadow = $3, updated_at = now() where tenant_id = $1 and id = any($2::uuid[])',
    [tx.tenantId, changing, shadow],
  )
  await tx.client.query(
    `update schedules s set shadow = $3, updated_at = now(), next_at = case when s.paused then s.next_at else least(s.next_at, u.back) end
     from unnest($2::uuid[], $4::timestamptz[]) u(id, back) where s.tenant_id = $1 and s.job_id = u.id`,
    [tx.tenantId, changing, shadow, changing.map((id) => takenBack.get(id) ?? null)],
  )
  const type = shadow ? 'job.shadowed' : 'job.switched'
  for (const { id, name } of locked) {
    await append(tx, { type, subject: id, jobId: id, data: { name, mode } })
    await audit(tx, 'job.set-mode', { subject: id, data: { mode } })
  }
  return locked.length
}

/** Throws `not-found` when a job is not one of the project's. */
export async function requireJob(tx: Tx, id: Uuid): Promise<void> {
  const { rowCount } = await tx.client.query(
    "select from jobs where tenant_id = $1 and project_id = $2 and id = $3 and state <> 'deleted'",
    [tx.tenantId, tx.projectId, id],
  )
  if (rowCount === 0) throw notFound('job')
}
