import { and, eq } from 'drizzle-orm'
import { audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { type Ctx, withTx } from '../db/context.ts'
import { limits } from '../db/schema.ts'
import { append } from '../event/append.ts'
import { notFound } from '../kernel/errors.ts'
import { nilUuid } from '../kernel/ids.ts'

/** What an organisation may have of the slots of each pool. */
export interface Share {
  /** Its share where slots are scarce, beside those of others. */
  weight: number
  /** The most slots of a pool that it may have at once. */
  concurrency: number
}

/**
 * Sets what the caller's organisation may have of each pool; what is left out stays. For operators alone: whoever could give
 * itself more would take it from others. It holds at once, for what waits as well; setting what is set already changes nothing.
 */
export async function setShare(ctx: Ctx, changes: { [Key in keyof Share]?: Share[Key] | undefined }): Promise<Share> {
  requireScope(ctx, 'shares:write')
  return withTx(ctx, async (tx) => {
    const own = and(eq(limits.tenantId, tx.tenantId), eq(limits.queueId, nilUuid))
    const [before] = await tx.db
      .select({ weight: limits.weight, concurrency: limits.concurrency })
      .from(limits)
      .where(own)
      .for('update')
    if (before === undefined) throw notFound('organisation')
    const after: Share = {
      weight: changes.weight ?? before.weight,
      concurrency: changes.concurrency ?? before.concurrency,
    }
    if (after.weight === before.weight && after.concurrency === before.concurrency) return before
    await tx.db.update(limits).set(after).where(own)
    await append(tx, { type: 'share.updated', subject: tx.tenantId, data: { ...after } })
    await audit(tx, 'share.update', { subject: tx.tenantId, data: { before, after } })
    return after
  })
}
