import { and, asc, desc, eq, gt, inArray, lt } from 'drizzle-orm'
import { requireScope } from '../access/scope.ts'
import { type Ctx, withRead } from '../db/context.ts'
import { operationItems, operations } from '../db/schema.ts'
import { AppError } from '../kernel/errors.ts'
import type { Uuid } from '../kernel/ids.ts'
import { decodeCursor, type Page, type PageRequest, toPage } from '../kernel/page.ts'
import { type ItemState, itemStates, type Operation, type OperationItem, type OperationState } from './operation.ts'
import { readOperation, selectOperations, toOperation } from './rows.ts'

/** One operation of the project, with its progress. Throws `not-found`. */
export async function getOperation(ctx: Ctx, id: Uuid): Promise<Operation> {
  requireScope(ctx, 'operations:read')
  return withRead(ctx, (tx) => readOperation(tx, id))
}

export interface OperationFilter {
  state?: Exclude<OperationState, 'planned'>[] | undefined
  kind?: string | undefined
}

/** The project's operations, newest first. */
export async function listOperations(ctx: Ctx, filter: OperationFilter, page: PageRequest): Promise<Page<Operation>> {
  requireScope(ctx, 'operations:read')
  const condition = and(
    filter.state && inArray(operations.state, filter.state),
    filter.kind === undefined ? undefined : eq(operations.kind, filter.kind),
    page.cursor === undefined ? undefined : lt(operations.id, decodeCursor(page.cursor)),
  )
  const rows = await withRead(ctx, (tx) =>
    selectOperations(tx, condition)
      .orderBy(desc(operations.id))
      .limit(page.limit + 1),
  )
  return toPage(rows.map(toOperation), page.limit)
}

/** The things of an operation in its order, and how each went. Throws `not-found`. */
export async function listOperationItems(
  ctx: Ctx,
  id: Uuid,
  { state, ...page }: PageRequest & { state?: ItemState | undefined },
): Promise<Page<OperationItem>> {
  requireScope(ctx, 'operations:read')
  return withRead(ctx, async (tx) => {
    await readOperation(tx, id)
    const rows = await tx.db
      .select({
        position: operationItems.position,
        itemId: operationItems.itemId,
        name: operationItems.name,
        state: operationItems.state,
        detail: operationItems.detail,
      })
      .from(operationItems)
      .where(
        and(
          eq(operationItems.tenantId, tx.tenantId),
          eq(operationItems.operationId, id),
          state && eq(operationItems.state, itemStates.indexOf(state)),
          page.cursor === undefined ? undefined : gt(operationItems.position, decodePosition(page.cursor)),
        ),
      )
      .orderBy(asc(operationItems.position))
      .limit(page.limit + 1)
    const items = rows.slice(0, page.limit).map((row) => ({ ...row, state: itemStates[row.state] ?? 'waiting' }))
    const last = items.at(-1)
    return { items, nextCursor: rows.length > page.limit && last ? encodePosition(last.position) : null }
  })
}

const encodePosition = (position: number): string => Buffer.from(String(position)).toString('base64url')

function decodePosition(cursor: string): number {
  const text = Buffer.from(cursor, 'base64url').toString()
  if (/^\d{1,9}$/.test(text) && encodePosition(Number(text)) === cursor) return Number(text)
  throw new AppError('malformed-request', 'The cursor is not one that this list gave out.', {
    errors: [{ pointer: '/cursor', detail: 'not a cursor of this list' }],
  })
}
