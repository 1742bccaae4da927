import type { Uuid } from '../kernel/ids.ts'
import type { ShownKey } from './create-key.ts'
import type { Metadata } from './details.ts'

/** What a run can be, and where it may go from there. Final states lead nowhere: a replay is a new run. */
export const moves = {
  scheduled: ['ready', 'queued', 'cancelled', 'expired', 'skipped'],
  ready: ['queued', 'cancelled', 'expired'],
  // Back to ready: the carrier lost it. It was never claimed, so no attempt is spent.
  queued: ['running', 'ready', 'cancelled', 'expired'],
  // Back to scheduled: a retry, with a later due instant. Back to ready: its executor was lost.
  running: ['succeeded', 'failed', 'scheduled', 'ready', 'cancelled', 'expired'],
  succeeded: [],
  failed: [],
  cancelled: [],
  expired: [],
  skipped: [],
} as const satisfies Record<string, readonly string[]>

export type RunStatus = keyof typeof moves

export const runStatuses = Object.keys(moves) as RunStatus[]

export const isFinal = (status: RunStatus): boolean => moves[status].length === 0

/** Whether the table allows the move. */
export const mayMove = (from: RunStatus, to: RunStatus): boolean => (moves[from] as readonly RunStatus[]).includes(to)

/** How the database writes states: 2 and 3 in `held`, 4 and up in `runs`. scheduled and ready are tables of their own. */
export const stateCodes = {
  queued: 2,
  running: 3,
  succeeded: 4,
  failed: 5,
  cancelled: 6,
  expired: 7,
  skipped: 8,
} as const

const statusOfCode = new Map<number, RunStatus>(
  Object.entries(stateCodes).map(([status, code]) => [code, status as RunStatus]),
)

export function statusOf(code: number): RunStatus {
  const status = statusOfCode.get(code)
  if (status === undefined) throw new Error(`no run state has the code ${code}`)
  return status
}

export const runSources = ['api', 'schedule', 'manual', 'replay', 'backfill', 'callback', 'batch'] as const
export type RunSource = (typeof runSources)[number]

/** 1 is served first, 5 last. */
export const defaultPriority = 3

/** One execution, wherever it stands. Instants have milliseconds. */
export interface Run {
  id: Uuid
  projectId: Uuid
  jobId: Uuid | null
  jobVersion: number | null
  queueId: Uuid
  queueName: string
  status: RunStatus
  source: RunSource
  priority: number
  /** Attempts claimed so far. */
  attempt: number
  /** Null once it has ended. */
  attemptsMax: number | null
  /** Raised by every admission: a report that carries an older one is refused. */
  fence: number
  createdAt: Date
  /** When its next (or its last) attempt is due. */
  dueAt: Date
  /** The instant of its schedule, which never moves. */
  nominalAt: Date | null
  startedAt: Date | null
  finishedAt: Date | null
  durationMs: number | null
  /** Start of the last attempt minus its due instant. */
  latenessMs: number | null
  httpStatus: number | null
  /** Machine code of what went wrong, `null` on success. */
  error: string | null
  replayOf: Uuid | null
  /** Its own, and those of its job's version. */
  tags: readonly string[]
  metadata: Metadata
  /** Under which other creates find it, or found it. */
  createKey: ShownKey | null
  /** The run whose end this one tells. */
  callbackOf: Uuid | null
  /** The run that performs it together with others. */
  batchRunId: Uuid | null
}
