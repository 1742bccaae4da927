import { z } from 'zod'
import type { Uuid } from '../kernel/ids.ts'
import { isUuid } from '../kernel/ids.ts'

/** An item that has come to the same end more often than this is quarantined: redriving many leaves it alone. */
export const failuresMax = 5

/** A letter is `open` until it was handled. */
export const letterStates = ['open', 'redriven', 'discarded'] as const
export type LetterState = (typeof letterStates)[number]

/** A run that failed or expired, and waits for somebody to say what becomes of it. It has the run's id. */
export interface DeadLetter {
  runId: Uuid
  jobId: Uuid | null
  jobName: string | null
  queueName: string
  /** How the run ended. */
  status: 'failed' | 'expired'
  error: string
  httpStatus: number | null
  /** The same for runs of one job (or queue) that failed of one thing. */
  fingerprint: Uuid
  /** How often the item has come to this end, its redrives included. */
  failures: number
  isQuarantined: boolean
  firstFailedAt: Date
  failedAt: Date
  state: LetterState
  handledAt: Date | null
  /** As the audit trail writes actors. */
  handledBy: string | null
  /** The run that it was redriven as. */
  redrivenAs: Uuid | null
}

/** Open letters that came to the same end. */
export interface LetterGroup
  extends Pick<DeadLetter, 'fingerprint' | 'jobId' | 'jobName' | 'queueName' | 'status' | 'error' | 'httpStatus'> {
  count: number
  quarantined: number
  firstFailedAt: Date
  lastFailedAt: Date
  /** The newest of them. */
  lastRunId: Uuid
}

/** Which letters: everything that is given has to be true of a letter. */
export const letterFilterValue = z.strictObject({
  ids: z.array(z.string().refine(isUuid)).min(1).max(1_000).optional(),
  fingerprint: z.string().refine(isUuid, 'must be a fingerprint').optional(),
  jobId: z.string().refine(isUuid).optional(),
  queue: z.string().max(64).optional().meta({ description: 'Name of a queue.' }),
  error: z.string().max(64).optional().meta({ description: 'Machine code of the error.' }),
  isQuarantined: z
    .boolean()
    .optional()
    .meta({ description: 'Only those that are quarantined, or only those that are not.' }),
})
export type LetterFilter = z.output<typeof letterFilterValue>
