import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { Ctx, Tx } from '../db/context.ts'
import { operations } from '../db/schema.ts'
import { notFound } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { kindOf } from './kinds.ts'
import type { Operation } from './operation.ts'

const columns = {
  id: operations.id,
  projectId: operations.projectId,
  kind: operations.kind,
  plan: sql<Record<string, unknown>>`${operations.plan}`,
  state: operations.state,
  total: operations.total,
  done: operations.done,
  unchanged: operations.unchanged,
  failed: operations.failed,
  rate: operations.rate,
  actor: operations.actor,
  undoOf: operations.undoOf,
  undoneBy: operations.undoneBy,
  sample: sql<Operation['sample']>`${operations.sample}`,
  createdAt: operations.createdAt,
  updatedAt: operations.updatedAt,
  finishedAt: operations.finishedAt,
}

/** The project's operations that meet a condition. */
export const selectOperations = (tx: Tx, condition: SQL | undefined) =>
  tx.db
    .select(columns)
    .from(operations)
    .where(and(ofProject(tx), condition))
    .$dynamic()

const ofProject = (ctx: Ctx) => and(eq(operations.tenantId, ctx.tenantId), eq(operations.projectId, ctx.projectId))

type OperationRow = Omit<Operation, 'canUndo'>

export const toOperation = (row: OperationRow): Operation => ({
  ...row,
  canUndo:
    row.finishedAt !== null &&
    row.done > 0 &&
    row.undoOf === null &&
    row.undoneBy === null &&
    kindOf(row.kind).undo !== undefined,
})

/** One operation. Throws `not-found`. */
export async function readOperation(tx: Tx, id: Uuid): Promise<Operation> {
  const [row] = await selectOperations(tx, eq(operations.id, id))
  if (row === undefined) throw notFound('operation')
  return toOperation(row)
}

/** The same, locked: while it is, no worker takes a step of it. Waits for the step that is going on. */
export async function lockOperation(tx: Tx, id: Uuid): Promise<Operation> {
  const [row] = await selectOperations(tx, eq(operations.id, id)).for('update')
  if (row === undefined) throw notFound('operation')
  return toOperation(row)
}
