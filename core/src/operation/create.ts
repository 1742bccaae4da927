import { and, count, eq, inArray, isNotNull, sql } from 'drizzle-orm'
import { z } from 'zod'
import { actorText, audit } from '../access/audit.ts'
import { requireScope } from '../access/scope.ts'
import { arrayLiteral, runNamed, textArrayLiteral } from '../db/client.ts'
import { type Ctx, type Tx, withRead, withTx } from '../db/context.ts'
import { operationItems, operations } from '../db/schema.ts'
import { append } from '../event/append.ts'
import { AppError } from '../kernel/errors.ts'
import { type Uuid, uuidv7 } from '../kernel/ids.ts'
import { parseValue } from '../kernel/parse.ts'
import type { Item, OperationKind } from './kind.ts'
import { type KindName, kindOf } from './kinds.ts'
import { itemsMax, type Operation, openMax, sampleMax } from './operation.ts'
import { lockOperation, readOperation } from './rows.ts'

export const rateValue = z.number().min(0.01).max(1_000).nullable()

export interface NewOperation {
  kind: KindName
  /** As the kind's schema reads it. */
  plan: unknown
  /** The most items a second; null: as fast as it goes. */
  rate: number | null
}

/**
 * Starts an operation: what it is about is selected and written down here, so what is counted is what will be done;
 * workers do it. Throws `validation-failed` for the plan, `quota-exceeded` beyond 100,000 items or 50 operations under
 * way, and what the kind's selection throws.
 */
export async function createOperation(ctx: Ctx, input: NewOperation): Promise<Operation> {
  const { kind, plan } = prepare(ctx, input)
  return withTx(ctx, async (tx) => {
    const items = await selectItems(tx, kind, plan)
    const id = await insertOperation(tx, { ...input, plan, items, undoOf: null })
    return readOperation(tx, id)
  })
}

/** What `createOperation` would start, without writing anything. */
export async function planOperation(ctx: Ctx, input: NewOperation): Promise<Operation> {
  const { kind, plan } = prepare(ctx, input)
  const items = await withRead(ctx, (tx) => selectItems(tx, kind, plan))
  const now = new Date(ctx.clock.nowMs())
  return {
    id: uuidv7(now.getTime()),
    projectId: ctx.projectId,
    kind: input.kind,
    plan: toJson(plan),
    state: 'planned',
    total: items.length,
    done: 0,
    unchanged: 0,
    failed: 0,
    rate: input.rate,
    actor: actorText(ctx.actor),
    undoOf: null,
    undoneBy: null,
    canUndo: false,
    sample: sampleOf(items),
    createdAt: now,
    updatedAt: now,
    finishedAt: null,
  }
}

/**
 * Starts taking back what an ended operation did, last things first. A thing that was changed since is left alone and
 * counts as failed. Throws `not-found`, `invalid-transition` while it is under way, and `conflict` when there is
 * nothing to take back, or it was taken back already.
 */
export async function undoOperation(ctx: Ctx, id: Uuid): Promise<Operation> {
  requireScope(ctx, 'operations:write')
  return withTx(ctx, async (tx) => {
    const before = await lockOperation(tx, id)
    requireScope(tx, kindOf(before.kind).scope)
    if (before.finishedAt === null) {
      const detail = 'The operation is still under way: abort it first, or wait.'
      throw new AppError('invalid-transition', detail, { current: { state: before.state } })
    }
    if (before.undoneBy !== null) {
      throw new AppError('conflict', 'The operation was undone already.', { current: { id: before.undoneBy } })
    }
    if (!before.canUndo) throw new AppError('conflict', 'The operation did nothing that can be undone.')
    const items = await tx.db
      .select({ id: operationItems.itemId, name: operationItems.name, data: operationItems.before })
      .from(operationItems)
      .where(
        and(
          eq(operationItems.tenantId, tx.tenantId),
          eq(operationItems.operationId, id),
          eq(operationItems.state, 1),
          isNotNull(operationItems.before),
        ),
      )
      .orderBy(sql`${operationItems.position} desc`)
    const { kind, plan } = before
    const undo = await insertOperation(tx, { kind, plan, rate: null, items, undoOf: id })
    await tx.db
      .update(operations)
      .set({ undoneBy: undo, updatedAt: sql`clock_timestamp()` })
      .where(and(eq(operations.tenantId, tx.tenantId), eq(operations.id, id)))
    return readOperation(tx, undo)
  })
}

function prepare(ctx: Ctx, input: NewOperation): { kind: OperationKind<unknown>; plan: unknown } {
  requireScope(ctx, 'operations:write')
  const kind = kindOf(input.kind)
  requireScope(ctx, kind.scope)
  return { kind, plan: parseValue(kind.plan, input.plan) }
}

async function selectItems(tx: Tx, kind: OperationKind<unknown>, plan: unknown): Promise<Item[]> {
  const items = await kind.select(tx, plan, itemsMax + 1)
  if (items.length > itemsMax) {
    throw new AppError('quota-exceeded', `An operation works on at most ${itemsMax} things. Narrow it.`)
  }
  return items
}

const toJson = (value: unknown): Record<string, unknown> => JSON.parse(JSON.stringify(value)) as Record<string, unknown>

const sampleOf = (items: readonly Item[]): Operation['sample'] =>
  items.slice(0, sampleMax).map(({ id, name }) => ({ id, name }))

interface Insert {
  kind: string
  plan: unknown
  rate: number | null
  items: Item[]
  undoOf: Uuid | null
}

async function insertOperation(tx: Tx, { kind, plan, rate, items, undoOf }: Insert): Promise<Uuid> {
  await requireRoom(tx)
  const id = uuidv7(tx.clock.nowMs())
  const total = items.length
  const isOver = total === 0
  await tx.db.insert(operations).values({
    tenantId: tx.tenantId,
    id,
    projectId: tx.projectId,
    kind,
    plan: toJson(plan),
    state: isOver ? 'finished' : 'running',
    total,
    rate,
    actor: actorText(tx.actor),
    undoOf,
    sample: sampleOf(items),
    finishedAt: isOver ? sql`clock_timestamp()` : null,
  })
  await insertItems(tx, id, items)
  const data = { kind, total, ...(undoOf === null ? {} : { undoOf }) }
  await append(tx, { type: 'operation.created', subject: id, data })
  if (isOver) await append(tx, { type: 'operation.finished', subject: id, data: { kind, total } })
  await audit(tx, undoOf === null ? 'operation.create' : 'operation.undo', { subject: id, data })
  return id
}

async function requireRoom(tx: Tx): Promise<void> {
  const [open] = await tx.db
    .select({ count: count() })
    .from(operations)
    .where(and(eq(operations.tenantId, tx.tenantId), inArray(operations.state, ['running', 'paused'])))
  if ((open?.count ?? 0) < openMax) return
  throw new AppError('quota-exceeded', `At most ${openMax} operations may be under way. Wait for one, or abort one.`)
}

const rowsMax = 10_000

async function insertItems(tx: Tx, operationId: Uuid, items: readonly Item[]): Promise<void> {
  for (let start = 0; start < items.length; start += rowsMax) {
    const rows = items.slice(start, start + rowsMax)
    await runNamed(
      tx.client,
      'insert_operation_items',
      `insert into operation_items (tenant_id, operation_id, position, item_id, name, data)
       select $1, $2, $3 + o, i, n, d::jsonb from unnest($4::uuid[], $5::text[], $6::text[]) with ordinality u(i, n, d, o)`,
      [
        tx.tenantId,
        operationId,
        start,
        arrayLiteral(rows.map(({ id }) => id)),
        textArrayLiteral(rows.map(({ name }) => name)),
        textArrayLiteral(rows.map(({ data }) => (data === undefined ? null : JSON.stringify(data)))),
      ],
    )
  }
}
