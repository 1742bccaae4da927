import { audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { type Ctx, type Tx, withTx } from '../db/context.ts'
import { append } from '../event/append.ts'
import { AppError } from '../kernel/errors.ts'
import { uuidv7 } from '../kernel/ids.ts'
import { parseValue } from '../kernel/parse.ts'
import { findByExternalId, type JobRow, lockExternalId, toJob } from './internal.ts'
import { type Job, type JobDefinition, jobDefinitionValue, type NewJob } from './job.ts'
import { writeVersion } from './write-version.ts'

/**
 * Makes a job, its first version and its schedule. Throws `validation-failed` with pointers, also for a schedule that
 * would never run, and `conflict` with the other job's id when the project has one of that external id.
 */
export async function createJob(ctx: Ctx, input: NewJob): Promise<Job> {
  requireScope(ctx, 'jobs:write')
  const definition = parseValue(jobDefinitionValue, input)
  await ctx.keyRing.load(ctx.tenantId)
  return withTx(ctx, async (tx) => {
    if (definition.externalId !== null) await claimExternalId(tx, definition.externalId)
    return toJob(tx, await insertJob(tx, definition))
  })
}

/** Throws `conflict` when another job has it; nobody can take it until this transaction ends. */
async function claimExternalId(tx: Tx, externalId: string): Promise<void> {
  await lockExternalId(tx, externalId)
  const id = await findByExternalId(tx, externalId)
  if (id === undefined) return
  throw new AppError('conflict', `There is a job with the external id ${externalId} already.`, { current: { id } })
}

/** The rest of making a job, once its external id is free. */
export async function insertJob(tx: Tx, definition: JobDefinition): Promise<JobRow> {
  const job = await writeVersion(tx, { before: { id: uuidv7(tx.clock.nowMs()) }, definition })
  const { name } = definition
  await append(tx, { type: 'job.created', subject: job.id, jobId: job.id, data: { name, version: job.version } })
  await audit(tx, 'job.create', { subject: job.id, data: { name, version: job.version } })
  return job
}
