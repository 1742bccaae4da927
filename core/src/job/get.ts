import { requireScope } from '../access/scope.ts'
import { type Ctx, withRead } from '../db/context.ts'
import { notFound } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { findByExternalId, readJob, toJob } from './internal.ts'
import { externalIdValue, type Job } from './job.ts'

/** One job of the project, with its target as far as the caller may see it. Throws `not-found`. */
export async function getJob(ctx: Ctx, id: Uuid): Promise<Job> {
  requireScope(ctx, 'jobs:read')
  return toJob(ctx, await withRead(ctx, (tx) => readJob(tx, id)))
}

/** The same by the caller's own id of it. */
export async function getJobByExternalId(ctx: Ctx, externalId: string): Promise<Job> {
  requireScope(ctx, 'jobs:read')
  // A text that can't be an external id is not even fit to be asked for.
  if (!externalIdValue.safeParse(externalId).success) throw notFound('job')
  const row = await withRead(ctx, async (tx) => {
    const id = await findByExternalId(tx, externalId)
    if (id === undefined) throw notFound('job')
    return readJob(tx, id)
  })
  return toJob(ctx, row)
}
