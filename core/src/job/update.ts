import type { z } from 'zod'
import { audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { holdCalendars } from '../calendar/resolve.ts'
import { type Ctx, type Tx, withTx } from '../db/context.ts'
import { append } from '../event/append.ts'
import { AppError } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { parseValue } from '../kernel/parse.ts'
import { requireVersion } from '../kernel/version.ts'
import {
  changedFields,
  definitionOf,
  findByExternalId,
  type JobRow,
  lockExternalId,
  lockOpenJob,
  toJob,
} from './internal.ts'
import { type Job, type JobChanges, type JobDefinition, jobChangesValue } from './job.ts'
import { fromStored, toStored } from './sealed-target.ts'
import { writeVersion } from './write-version.ts'

/**
 * Changes a job, as a new version; what is left out stays, and nothing is written when nothing differs. What its
 * schedule had written ahead is taken back and written again. Throws `precondition-failed` when it is not at
 * `expectedVersion`, `validation-failed`, `not-found`, `invalid-transition` for an archived one, and `conflict` when another job has the external id.
 */
export async function updateJob(
  ctx: Ctx,
  id: Uuid,
  { expectedVersion, ...input }: JobChanges & { expectedVersion?: number | undefined },
): Promise<Job> {
  requireScope(ctx, 'jobs:write')
  const changes = parseValue(jobChangesValue, input)
  await ctx.keyRing.load(ctx.tenantId)
  return withTx(ctx, async (tx) => {
    const { externalId } = changes
    if (typeof externalId === 'string') await lockExternalId(tx, externalId)
    if (changes.schedule) await holdCalendars(tx, changes.schedule)
    const before = await lockOpenJob(tx, id)
    requireVersion('job', before.version, expectedVersion)
    const definition = merge(await definitionOf(tx, before), changes)
    if (typeof externalId === 'string') {
      const holder = await findByExternalId(tx, externalId)
      if (holder !== undefined && holder !== id) {
        throw new AppError('conflict', `Another job has the external id ${externalId}.`, { current: { id: holder } })
      }
    }
    return toJob(tx, (await applyDefinition(tx, before, definition)) ?? before)
  })
}

/** Undefined means "left out" here as well. */
function merge(before: JobDefinition, changes: z.output<typeof jobChangesValue>): JobDefinition {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined)
  return { ...before, ...(Object.fromEntries(given) as Partial<JobDefinition>) }
}

/**
 * Writes the definition as the next version of a locked job, with its event and audit line. Undefined when nothing
 * differs. Shared by update and upsert.
 */
export async function applyDefinition(tx: Tx, before: JobRow, definition: JobDefinition): Promise<JobRow | undefined> {
  // Both through the stored form, so that only what would be stored can differ.
  const changed = changedFields(await definitionOf(tx, before), fromStored(toStored(definition)))
  if (changed.length === 0) return undefined
  const after = await writeVersion(tx, { before, definition })
  const data = { name: definition.name, version: after.version, changed }
  await append(tx, { type: 'job.updated', subject: before.id, jobId: before.id, data })
  await audit(tx, 'job.update', { subject: before.id, data })
  return after
}
