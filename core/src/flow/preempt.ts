import type { Uuid } from '../kernel/ids.ts'
import { type ClassStanding, reservedFor, roomOf } from './classes.ts'

/** A run that is being performed, and lets itself be put back. */
export interface Preemptible {
  id: Uuid
  /** When its attempt began, epoch milliseconds. */
  sinceMs: number
}

/** How many critical runs take slots of others: only while there is none for them, and up to what is reserved for them. */
export const preemptMost = (standing: ClassStanding): number =>
  standing.waits.critical && roomOf('critical', standing) === 0
    ? Math.min(standing.held.bulk, reservedFor('critical', standing))
    : 0

/**
 * Which runs are put back so that `waiting` critical ones get their slots: never more than wait. The youngest go first: least
 * work is lost with them.
 */
export const choosePreempted = <Running extends Preemptible>(
  running: readonly Running[],
  standing: ClassStanding,
  waiting: number,
): Running[] =>
  running
    .toSorted((one, other) => other.sinceMs - one.sinceMs || (one.id < other.id ? -1 : 1))
    .slice(0, Math.max(0, Math.min(waiting, preemptMost(standing))))
