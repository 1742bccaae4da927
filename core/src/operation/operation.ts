import type { Uuid } from '../kernel/ids.ts'

/** `planned` is a dry run's: nothing of it is kept. */
export const operationStates = ['planned', 'running', 'paused', 'aborted', 'finished'] as const
export type OperationState = (typeof operationStates)[number]

/** Work on many things, as a thing of its own that outlives whoever asked for it. */
export interface Operation {
  id: Uuid
  projectId: Uuid
  kind: string
  /** What was asked for, as its kind reads it. */
  plan: Record<string, unknown>
  state: OperationState
  total: number
  done: number
  /** Nothing had to be done to them. */
  unchanged: number
  failed: number
  /** The most items a second; null: as fast as it goes. */
  rate: number | null
  /** As the audit trail writes actors: `key:<uuid>`, `user:<uuid>` or `system`. */
  actor: string
  /** The operation that this one takes back. */
  undoOf: Uuid | null
  undoneBy: Uuid | null
  /** It has ended, did something that can be taken back, and was not taken back yet. */
  canUndo: boolean
  /** The first few items. */
  sample: { id: Uuid | null; name: string }[]
  createdAt: Date
  updatedAt: Date
  finishedAt: Date | null
}

export const itemStates = ['waiting', 'done', 'unchanged', 'failed'] as const
export type ItemState = (typeof itemStates)[number]

/** One thing of an operation and how it went. */
export interface OperationItem {
  position: number
  /** Null: what it is to make is not there yet. */
  itemId: Uuid | null
  name: string
  state: ItemState
  /** Why it failed, or why nothing had to be done. */
  detail: string | null
}

/** The most things one operation works on. */
export const itemsMax = 100_000
/** The most operations of a tenant that may be under way. */
export const openMax = 50
export const sampleMax = 10
