import { requireScope } from '../access/scope.ts'
import { holdCalendars } from '../calendar/resolve.ts'
import { type Ctx, withTx } from '../db/context.ts'
import { AppError } from '../kernel/errors.ts'
import { parseValue } from '../kernel/parse.ts'
import { requireVersion } from '../kernel/version.ts'
import { unarchiveIn } from './archive.ts'
import { insertJob } from './create.ts'
import { findByExternalId, lockExternalId, lockJob, toJob } from './internal.ts'
import { type Job, jobDefinitionValue, type NewJob } from './job.ts'
import { applyDefinition } from './update.ts'

/**
 * Makes the job of that external id be exactly what is given, whether it exists or not: what is left out becomes the
 * default. Any number of callers at once make one job, and a call that changes nothing makes no version. A paused job
 * stays paused, an archived one is brought back. Throws `validation-failed`, and `precondition-failed` when it is not at `expectedVersion`.
 */
export async function upsertJob(
  ctx: Ctx,
  externalId: string,
  { expectedVersion, ...input }: Omit<NewJob, 'externalId'> & { expectedVersion?: number | undefined },
): Promise<{ job: Job; outcome: 'created' | 'updated' | 'unchanged' }> {
  requireScope(ctx, 'jobs:write')
  const definition = parseValue(jobDefinitionValue, { ...input, externalId })
  await ctx.keyRing.load(ctx.tenantId)
  return withTx(ctx, async (tx) => {
    await lockExternalId(tx, externalId)
    if (definition.schedule !== null) await holdCalendars(tx, definition.schedule)
    const id = await findByExternalId(tx, externalId)
    if (id === undefined) {
      if (expectedVersion !== undefined) {
        throw new AppError('precondition-failed', `There is no job with the external id ${externalId} yet.`)
      }
      return { job: await toJob(tx, await insertJob(tx, definition)), outcome: 'created' }
    }
    const found = await lockJob(tx, id)
    requireVersion('job', found.version, expectedVersion)
    const before = await unarchiveIn(tx, found)
    const after = await applyDefinition(tx, before, definition)
    const isUnchanged = after === undefined && before === found
    return { job: await toJob(tx, after ?? before), outcome: isUnchanged ? 'unchanged' : 'updated' }
  })
}
