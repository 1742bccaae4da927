import type { Pool } from '@meridian/core/db/client'
import { isAway } from '@meridian/core/db/client'
import { AppError } from '@meridian/core/kernel/errors'
import type { Log } from '@meridian/core/kernel/log'
import { acceptMinding, acceptRuns, type IntakeResult } from '@meridian/core/run/accept'
import type { OverlapRule } from '@meridian/core/run/overlap'
import type { IntakeRow } from '@meridian/core/run/prepare'
import type { KeyRing } from '@meridian/core/secret/key-ring'
import { createGroupCommit } from './group-commit.ts'
import type { Wake } from './wake.ts'

/** A row that was not refused. Of a run that a key led to only the id is known. */
export type Accepted = Exclude<IntakeResult, { outcome: 'refused' }>

/** How runs get in. What it answers is on disk. */
export interface Intake {
  /** One run, in whatever flush leaves next. Throws what the row was refused for. */
  accept(row: IntakeRow): Promise<Accepted>
  /** One run of a job that minds the job's other runs, in a transaction of its own. */
  acceptMinding(row: IntakeRow, rule: OverlapRule): Promise<Accepted>
  /** The runs of one caller, in a transaction of their own: one event, one audit line. Each row is answered by itself. */
  acceptBatch(rows: IntakeRow[], digest: string): Promise<IntakeResult[]>
  /** Rows that are waiting or being written. */
  readonly pending: number
  drained(): Promise<void>
}

interface IntakeOptions {
  pool: Pool
  keyRing: KeyRing
  wake: Wake
  log: Log
}

const rowsMax = 500
/** Payload bytes in one flush: a statement has to stay a size that Postgres takes in its stride. */
const flushBytesMax = 8 * 1024 * 1024
/** At a thousand runs a second, six share what a flush costs. */
const flushGapMs = 6
const pendingMax = 20_000

function toAnswer(result: IntakeResult): Accepted {
  if (result.outcome === 'refused') throw result.error
  return result
}

export function createIntake({ pool, keyRing, wake, log }: IntakeOptions): Intake {
  const group = createGroupCommit<IntakeRow, IntakeResult>({
    flush: async (rows) => {
      const results = await acceptRuns({ pool, keyRing }, rows, false)
      wake.forRuns(rows, results)
      return results
    },
    isUnavailable: isAway,
    rowsMax,
    weigh: (row) => row.request?.length ?? 0,
    weightMax: flushBytesMax,
    gapMs: flushGapMs,
  })
  return {
    async accept(row) {
      if (group.pending >= pendingMax) {
        log.warn({ pending: group.pending }, 'too many runs wait to be written')
        throw new AppError(
          'dependency-unavailable',
          'Too many runs wait to be written. Nothing was changed; try again.',
          {
            retryAfterSeconds: 1,
          },
        )
      }
      return toAnswer(await group.submit(row))
    },
    async acceptMinding(row, rule) {
      const result = await acceptMinding({ pool, keyRing }, row, rule)
      wake.forRuns([row], [result])
      return toAnswer(result)
    },
    async acceptBatch(rows, digest) {
      const results = await acceptRuns({ pool, keyRing }, rows, true, digest)
      wake.forRuns(rows, results)
      return results
    },
    get pending() {
      return group.pending
    },
    drained: () => group.drained(),
  }
}
