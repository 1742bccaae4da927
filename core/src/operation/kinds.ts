import { backfillJob } from './backfill.ts'
import { discardLetters, redriveLetters } from './bulk-dead-letters.ts'
import { editJobs, pauseJobs, resumeJobs } from './bulk-jobs.ts'
import { cancelRuns } from './cancel-runs.ts'
import type { OperationKind } from './kind.ts'
import { repairJobs } from './repair-jobs.ts'

/** Every kind there is. A new one is a file of its own and a line here. */
export const kinds = {
  'jobs.pause': pauseJobs,
  'jobs.resume': resumeJobs,
  'jobs.edit': editJobs,
  'jobs.backfill': backfillJob,
  'jobs.repair': repairJobs,
  'runs.cancel': cancelRuns,
  'dead-letters.redrive': redriveLetters,
  'dead-letters.discard': discardLetters,
} as const

export type KindName = keyof typeof kinds
export const kindNames = Object.keys(kinds) as KindName[]

/** A kind by its name, whatever its plan. Throws for one that this version does not know. */
export function kindOf(name: string): OperationKind<unknown> {
  if (!(name in kinds)) throw new Error(`there is no operation of the kind ${name}`)
  // A plan is only ever handed to the kind whose schema made it.
  return kinds[name as KindName] as unknown as OperationKind<unknown>
}
