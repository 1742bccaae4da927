import type { z } from 'zod'
import type { Scope } from '../access/scope.ts'
import type { Tx } from '../db/context.ts'
import type { Uuid } from '../kernel/ids.ts'

/** One thing an operation does something to. */
export interface Item {
  /** The thing; null: it is yet to be made. */
  id: Uuid | null
  /** What a person knows it by. */
  name: string
  /** What its kind wrote down about it; in an undo, the `before` of the original's outcome. */
  data?: unknown
}

/** An item as a step does it. */
export interface StepItem extends Item {
  operationId: Uuid
}

/** How one item went. `before` is what an undo has to know; without it there is nothing to undo. */
export type Outcome =
  | {
      state: 'done'
      before?: unknown
      /** What was made. */
      madeId?: Uuid
      /** A pool whose dispatcher should look now. */
      wakes?: number
    }
  | { state: 'unchanged'; detail?: string }

/** An item that is a thing already. */
type Thing = Item & { id: Uuid }

/** For a kind whose items are things that are there when it starts. */
export const ofThings =
  <Plan>(work: (tx: Tx, plan: Plan, thing: Thing) => Promise<Outcome>) =>
  (tx: Tx, plan: Plan, { id, ...item }: Item): Promise<Outcome> => {
    if (id === null) throw new Error('the item is no thing yet')
    return work(tx, plan, { id, ...item })
  }

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
  apply(tx: Tx, plan: Plan, item: StepItem): Promise<Outcome>
  /** Takes back what `apply` did, unless somebody has changed the thing since. Absent: it can't be undone. */
  undo?(tx: Tx, plan: Plan, item: StepItem): Promise<Outcome>
  /** How many items may be begun now; asked before every step. Absent: any number. */
  room?(tx: Tx, plan: Plan, operationId: Uuid): Promise<number>
}
