import { and, eq, sql } from 'drizzle-orm'
import { audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { type Ctx, withTx } from '../db/context.ts'
import { operations } from '../db/schema.ts'
import { append } from '../event/append.ts'
import { AppError } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { kindOf } from './kinds.ts'
import type { Operation, OperationState } from './operation.ts'
import { lockOperation, readOperation } from './rows.ts'

/** What a person may do to an operation that is under way; what is done already stays done. */
const moves = {
  pause: { from: ['running'], to: 'paused', event: 'operation.paused' },
  resume: { from: ['paused'], to: 'running', event: 'operation.resumed' },
  abort: { from: ['running', 'paused'], to: 'aborted', event: 'operation.aborted' },
} as const satisfies Record<string, { from: readonly OperationState[]; to: OperationState; event: string }>

/** Holds an operation: when this returns, no further item is done until it is resumed. Throws `not-found`, `invalid-transition`. */
export const pauseOperation = (ctx: Ctx, id: Uuid): Promise<Operation> => move(ctx, id, 'pause')

/** Lets a paused operation go on where it stood. */
export const resumeOperation = (ctx: Ctx, id: Uuid): Promise<Operation> => move(ctx, id, 'resume')

/** Ends an operation for good: when this returns, no further item is done. What was done can be undone. */
export const abortOperation = (ctx: Ctx, id: Uuid): Promise<Operation> => move(ctx, id, 'abort')

async function move(ctx: Ctx, id: Uuid, verb: keyof typeof moves): Promise<Operation> {
  requireScope(ctx, 'operations:write')
  const { from, to, event } = moves[verb]
  return withTx(ctx, async (tx) => {
    const before = await lockOperation(tx, id)
    requireScope(tx, kindOf(before.kind).scope)
    if (before.state === to) return before
    if (!(from as readonly OperationState[]).includes(before.state)) {
      throw new AppError('invalid-transition', `The operation is ${before.state}.`, {
        current: { state: before.state },
      })
    }
    await tx.db
      .update(operations)
      .set({
        state: to,
        // Time spent paused is no credit for its rate.
        nextAt: sql`clock_timestamp()`,
        updatedAt: sql`clock_timestamp()`,
        ...(to === 'aborted' ? { finishedAt: sql`clock_timestamp()` } : {}),
      })
      .where(and(eq(operations.tenantId, tx.tenantId), eq(operations.id, id)))
    const { kind, total, done, unchanged, failed } = before
    const data = { kind, total, done, unchanged, failed }
    await append(tx, { type: event, subject: id, data })
    await audit(tx, `operation.${verb}`, { subject: id, data })
    return readOperation(tx, id)
  })
}
