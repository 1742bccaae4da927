import type { z } from 'zod'
import type { Scope } from '../access/scope.ts'
import type { Tx } from '../db/context.ts'
import type { Uuid } from '../kernel/ids.ts'

/** One thing an operation does something to. */
export interface Item {
  /** The thing, or the id of what is to be made. */
  id: Uuid
  /** What a person knows it by. */
  name: string
  /** What its kind wrote down about it; in an undo, the `before` of the original's outcome. */
  data?: unknown
}

/** How one item went. `before` is what an undo has to know; without it there is nothing to undo. */
export type Outcome =
  | { state: 'done'; before?: unknown /** A pool whose dispatcher should look now. */; wakes?: number }
  | { state: 'unchanged'; detail?: string }

/**
 * What is particular about one kind of operation. Everything else (counting, pace, progress, crashes, fairness, pause,
 * abort, who may) is the same for all of them.
 */
export interface OperationKind<Plan> {
  /** What its starter must hold besides `operations:write`. */
  readonly scope: Scope
  /** What its items are. */
  readonly things: 'jobs' | 'runs'
  readonly plan: z.ZodType<Plan>
  /** Everything it would do, in the order in which it will; at most `limit`. Writes nothing. */
  select(tx: Tx, plan: Plan, limit: number): Promise<Item[]>
  /**
   * Does one item, in the step's transaction and as whoever started the operation. Throws `AppError` when it can't be
   * done: then nothing of it is kept and the item counts as failed.
   */
  apply(tx: Tx, plan: Plan, item: Item): Promise<Outcome>
  /** Takes back what `apply` did, unless somebody has changed the thing since. Absent: it can't be undone. */
  undo?(tx: Tx, plan: Plan, item: Item): Promise<Outcome>
  /** How many items may be begun now. Absent: any number. */
  room?(tx: Tx, plan: Plan, operationId: Uuid): Promise<number>
}
